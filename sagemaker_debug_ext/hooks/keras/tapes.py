"""Custom loops with gradient tapes and optimizers of TensorFlow, in eager code and inside `tf.function`.

In a graph, the hook adds two operations: one that determines, when the tape is opened, whether the step saves tensors,
and one that passes the tensors to the hook, which runs only in that case. Graphs with ``jit_compile=True`` do not
support such operations and are not captured.
"""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import attrs
import tensorflow as tf

from sagemaker_debug_ext.errors import SMDebugTypeError, brief
from sagemaker_debug_ext.hooks.keras.backend import VARIABLE, do_not_convert, is_variable, read
from sagemaker_debug_ext.hooks.keras.names import is_bias, layers_of, optimizer_values, variable_path
from sagemaker_debug_ext.hooks.keras.recording import (
    INPUTS,
    PREDICTIONS,
    CallNames,
    Recording,
    Wants,
    is_apart,
    layer_tensor_names,
    tap_call,
)
from sagemaker_debug_ext.hooks.process.sigterm import wraps_training
from sagemaker_debug_ext.vocabulary import CollectionKeys

LOG = logging.getLogger(__name__)

wraps_training(__name__)

PATTERNS: Final = {
    CollectionKeys.WEIGHTS: "^weights/.*/((?!bias).)*$",
    CollectionKeys.LOSSES: ".*loss.*",
    CollectionKeys.GRADIENTS: "^gradient",
}
"""Patterns that collections get once a tape is captured."""


class HookAccess(NamedTuple):
    """The functions of a hook for custom loops.

    Args:
        begin: Starts a step, and returns whether it saves tensors.
        is_saving: Returns whether the hook still saves tensors.
        offer: Saves a tensor with the open step, if it is due.
        save_waiting: Saves the custom tensors that are due.
        wants: Returns whether a tensor may ever be saved.
        path_of: Returns the name of a variable.
        get_collection: Returns a collection.
        guard: Calls a function and suppresses its errors.
        note_sources: Notes what a loop differentiates by.
    """

    begin: Callable[[], Any]
    is_saving: Callable[[], bool]
    offer: Callable[[str, Any], None]
    save_waiting: Callable[[], None]
    wants: Wants
    path_of: Callable[[Any], str]
    get_collection: Callable[[str], Any]
    guard: Callable[..., Any]
    note_sources: Callable[[Iterable[Any]], None]


@attrs.define(eq=False)
class _TapedStep:
    """A step between the opening of its tape and the next one.

    Args:
        graph: The graph that is being built; None in eager code.
        is_due: Whether the step saves tensors; in a graph, a boolean tensor.
        recording: The recording of its layers.
        num_open: Number of its open tapes.
        last: The last ordered operation in the graph.
    """

    graph: Any
    is_due: Any
    recording: Recording
    num_open: int = 1
    last: list[Any] = attrs.field(factory=list)


class TapeCapture:
    """Captures tapes and optimizers for a hook.

    Args:
        hook: The hook.
    """

    def __init__(self, hook: HookAccess) -> None:
        self._hook = hook
        self._models: list[Any] = []
        self._optimizers: list[Any] = []
        self._undo: list[tuple[Any, str]] = []
        self._steps: dict[int | None, _TapedStep] = {}
        self._is_watching_layers = False
        self._has_told_of_compiled = False
        self._has_told_of_rounding = False

    @property
    def guard(self) -> Callable[..., Any]:
        """Function that calls a function and suppresses its errors."""
        return self._hook.guard

    @property
    def is_open(self) -> bool:
        """Whether a tape is open."""
        step = self.current_step
        return step is not None and step.num_open > 0

    @property
    def current_step(self) -> _TapedStep | None:
        """The step that was begun last in the graph that is being built, or in eager code."""
        graph = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
        step = self._steps.get(None if graph is None else id(graph))
        return step if step is not None and step.graph is graph else None

    def has_changed(self, variables: Iterable[Any]) -> bool:
        """Return whether the graph of the step that was begun last has changed any of some variables of Keras."""
        step = self.current_step
        if step is None or step.graph is None:
            return False
        handles = {id(variable.value.handle) for variable in variables}
        inside = {id(inner) for outer, inner in step.graph.captures if id(outer) in handles}
        changes = (each for each in step.graph.get_operations() if each.type.startswith("Assign"))
        return any(id(each.inputs[0]) in inside for each in changes)

    # --- calls of the hook --------------------------------------------------------------------------------------------

    def wrap(self, tape: Any) -> Any:
        """Capture a tape.

        Raises:
            SMDebugTypeError: `tape` is not a `tf.GradientTape`.
        """
        if not isinstance(tape, tf.GradientTape):
            raise SMDebugTypeError(f"tape must be a tf.GradientTape (got {brief(tape)})")
        if not isinstance(tape, _Captured):
            kind: Any = type(tape)
            tape.__class__ = _captured_class(kind)
        tape.capture = self
        for name, pattern in PATTERNS.items():
            collection = self._hook.get_collection(name)
            if pattern not in collection.include_regex:
                collection.include(pattern)
        return tape

    def add_model(self, model: Any) -> None:
        """Capture the layers of a model."""
        self._models.append(model)
        self._is_watching_layers = False

    def add_optimizer(self, optimizer: Any) -> None:
        """Capture an optimizer whenever it is applied."""
        if any(known is optimizer for known in self._optimizers):
            LOG.warning("the optimizer %s is already captured", type(optimizer).__name__)
            return
        self._optimizers.append(optimizer)
        original = optimizer.apply

        @functools.wraps(original)
        @do_not_convert
        def apply(grads: Any, trainable_variables: Any = None) -> Any:
            result = original(grads, trainable_variables)
            self._hook.guard(self._on_apply, optimizer)
            return result

        self._put(optimizer, "apply", apply)

    def call_later(self, function: Callable[[Any], Any], value: Any) -> None:
        """Call a function with a value of a graph whenever the graph runs."""
        if self._is_compiled():
            return

        def call(tensor: Any) -> None:
            self._hook.guard(function, tensor)

        self._add_to_graph(self.current_step, lambda: tf.py_function(call, [tf.stop_gradient(value)], []))

    def offer_gradients(self, gradients: Iterable[Any], variables: Iterable[Any]) -> None:
        """Save gradients with the open step."""
        step = self.current_step
        if step is not None:
            self._hook.guard(self._submit_step, step, self._name_gradients(gradients, variables))

    def offer_batch(self, inputs: Any, outputs: Any) -> None:
        """Save the inputs and outputs of a model with the open step."""
        step = self.current_step
        if step is not None:
            self._hook.guard(self._hand_over_batch, step, inputs, outputs)

    def detach(self) -> None:
        """Restore models and optimizers; operations in existing graphs become no-ops."""
        for owner, name in self._undo:
            vars(owner).pop(name, None)
        self._undo.clear()
        self._models.clear()
        self._optimizers.clear()
        self._steps.clear()

    # --- calls of tapes -----------------------------------------------------------------------------------------------

    def on_open(self, tape: Any) -> None:
        """Start a step, unless one is open in another tape."""
        if is_apart() or _is_other_replica() or not self._hook.is_saving():
            return
        graph = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
        key = None if graph is None else id(graph)
        step = self._steps.get(key)
        if step is not None and step.graph is graph and step.num_open:
            step.num_open += 1
            tape.step = step
            return
        if graph is not None and self._is_compiled():
            return
        self._watch_layers()
        if graph is None:
            is_due: Any = self._begin()
        else:
            is_due = self._begin_in_graph()
        step = tape.step = self._steps[key] = _TapedStep(graph, is_due, Recording(self._hook.wants))
        step.last = [] if graph is None else [is_due]
        step.recording.__enter__()

    def on_close(self, tape: Any) -> None:
        """Save the recorded tensors of layers when the last tape of the step is closed."""
        step = tape.step
        if step is None:
            return
        step.num_open -= 1
        if not step.num_open:
            step.recording.__exit__()
            recorded = step.recording.tensors(gather=False)
            if recorded and step.graph is not None and not self._has_told_of_rounding:
                self._has_told_of_rounding = True
                LOG.warning(
                    "tensors of layers in a tf.function come from the graph that trains, and saving them may change "
                    "its rounding; leave out the layers if training must be bit-identical to training without a hook"
                )
            self._submit_step(step, recorded)

    def on_gradient(self, tape: Any, target: Any, sources: Any, gradients: Any) -> None:
        """Save a loss, the variables it depends on, and their gradients."""
        step = tape.step
        if step is None:
            return
        losses = tf.nest.flatten(target)
        names = ["loss"] if len(losses) == 1 else [f"loss_{index}" for index in range(len(losses))]
        found = {name: _dense(loss) for name, loss in zip(names, losses, strict=True)}
        flat_sources = tf.nest.flatten(sources)
        self._hook.note_sources(flat_sources)
        found |= self._name_gradients(tf.nest.flatten(gradients), flat_sources)
        known = {id(source): source for source in flat_sources if is_variable(source) and not _is_whole(source)}
        known |= {id(variable): variable for model in self._models for variable in model.trainable_variables}
        for variable in known.values():
            name = f"weights/{self._hook.path_of(variable)}:0"
            if self._hook.wants(name, _collection_of(variable)):
                found[name] = read(variable)
        self._submit_step(step, found)

    def _on_apply(self, optimizer: Any) -> None:
        step = self.current_step
        if step is None or _is_other_replica():
            return
        hook = self._hook
        trained = [variable for model in self._models for variable in model.trainable_variables]
        trained = trained or optimizer._trainable_variables  # noqa: SLF001 - there is no public name
        values = optimizer_values([optimizer], trained, hook.path_of)
        wanted = [(name, value) for name, value in values if hook.wants(name, CollectionKeys.OPTIMIZER_VARIABLES)]
        self._submit_step(step, {name: read(value) if is_variable(value) else value for name, value in wanted})

    # --- inside -------------------------------------------------------------------------------------------------------

    def _begin(self) -> bool:
        return bool(self._hook.begin())

    def _begin_in_graph(self) -> Any:
        """Start a step whenever the graph runs, on the first replica of the model."""

        def begin() -> Any:
            is_due = tf.numpy_function(self._begin, [], tf.bool, stateful=True)
            is_due.set_shape(())
            return is_due

        replica = _replica()
        return tf.cond(tf.equal(replica, 0), begin, lambda: False) if tf.is_tensor(replica) else begin()

    def _name_gradients(self, gradients: Iterable[Any], variables: Iterable[Any]) -> dict[str, Any]:
        path_of = self._hook.path_of
        return {
            f"gradients/{path_of(variable)}Grad": _dense(gradient)
            for gradient, variable in zip(gradients, variables, strict=False)
            if gradient is not None and is_variable(variable)
        }

    def _hand_over_batch(self, step: _TapedStep, inputs: Any, outputs: Any) -> None:
        batch = Recording(self._hook.wants)
        batch.note(*INPUTS, inputs)
        batch.note(*PREDICTIONS, outputs)
        self._submit_step(step, batch.tensors(gather=False))

    def _submit_step(self, step: _TapedStep, tensors: Mapping[str, Any]) -> None:
        """Save tensors of the step; tensors of a graph whenever the graph runs."""
        hook = self._hook
        if step.graph is None:
            if step.is_due:
                hook.save_waiting()
                for name, value in tensors.items():
                    hook.offer(name, value)
            return
        wanted = {name: value for name, value in tensors.items() if hook.wants(name, CollectionKeys.ALL)}
        if not wanted:
            return

        def save(*values: Any) -> None:
            if hook.is_saving():
                hook.guard(hook.save_waiting)
                for name, value in zip(wanted, values, strict=True):
                    hook.guard(hook.offer, name, value)

        values = [tf.stop_gradient(value) for value in wanted.values()]
        self._add_to_graph(step, lambda: tf.cond(step.is_due, lambda: _run(save, values), tf.no_op))

    def _add_to_graph(self, step: _TapedStep | None, make: Callable[[], Any]) -> None:
        """Add an operation that runs after the earlier ones of the step."""
        if step is None:
            make()
            return
        with tf.control_dependencies(step.last):
            made = make()
        step.last = [made] if made is not None else step.last

    def _watch_layers(self) -> None:
        """Wrap the layers that may be saved; called again for models that are registered later."""
        if self._is_watching_layers:
            return
        self._is_watching_layers = True
        guard = self._hook.guard
        for model in self._models:
            for name, layer in layers_of(model):
                if any(self._hook.wants(known, CollectionKeys.LAYERS) for known in layer_tensor_names(name)):
                    self._put(layer, "call", tap_call(CallNames.of_layer(name), layer.call, guard))
            if "call" not in vars(model):
                self._put(model, "call", tap_call(CallNames(INPUTS, PREDICTIONS), model.call, guard))

    def _put(self, owner: Any, name: str, value: Any) -> None:
        if name not in vars(owner):
            vars(owner)[name] = value
            self._undo.append((owner, name))

    def _is_compiled(self) -> bool:
        """Return whether the graph that is being built will be compiled, so that nothing can be captured."""
        is_compiled = any(_is_compiled_function(value) for value in _callers())
        if is_compiled and not self._has_told_of_compiled:
            self._has_told_of_compiled = True
            LOG.warning("tensors in a tf.function with jit_compile=True are not saved; remove jit_compile to save them")
        return is_compiled


class _Captured(tf.GradientTape):  # type: ignore[misc]
    """A captured tape; the class of existing tapes is changed to this one."""

    capture: TapeCapture
    step: _TapedStep | None = None

    @do_not_convert
    def __enter__(self) -> Any:
        self.capture.guard(self.capture.on_open, self)
        return super().__enter__()

    @do_not_convert
    def __exit__(self, *error: object) -> Any:
        result = super().__exit__(*error)
        self.capture.guard(self.capture.on_close, self)
        return result

    @do_not_convert
    def gradient(self, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the gradients, and save them."""
        gradients = super().gradient(target, sources, *args, **kwargs)
        self.capture.guard(self.capture.on_gradient, self, target, sources, gradients)
        return gradients


@functools.cache
def _captured_class(kind: Any) -> type[Any]:
    """Return the captured subclass of a tape class."""
    return type(kind.__name__, (_Captured, kind), {}) if kind is not tf.GradientTape else _Captured


def _run(save: Callable[..., None], values: list[Any]) -> Any:
    with tf.control_dependencies([tf.py_function(save, values, [])]):
        return tf.no_op()


def _dense(value: Any) -> Any:
    return tf.convert_to_tensor(value)


def _replica() -> Any:
    """Return the number of this replica of the model, in a graph as a tensor; 0 if there is only one.

    None in the cross-replica context.
    """
    context = tf.distribute.get_replica_context()
    if context is None:
        return None
    return context.replica_id_in_sync_group if context.num_replicas_in_sync > 1 else 0


def _collection_of(variable: Any) -> str:
    """Return the collection of a variable of a loop; the patterns of collections know those of layers."""
    if isinstance(variable, VARIABLE):
        return CollectionKeys.ALL
    return CollectionKeys.BIASES if is_bias(variable_path(variable)) else CollectionKeys.WEIGHTS


def _is_whole(variable: Any) -> bool:
    """Return whether a variable holds integers, as the seed state of a dropout does; it is no weight."""
    return bool(tf.as_dtype(variable.dtype).is_integer)


def _is_other_replica() -> bool:
    """Return whether this is not the first replica of the model, which is the captured one."""
    replica = _replica()
    return replica is None or (not tf.is_tensor(replica) and replica != 0)


def _callers() -> Iterator[Any]:
    """Yield the `self` objects of the methods on the call stack."""
    frame = sys._getframe(1)  # noqa: SLF001 - there is no public way to see what a graph is made for
    while frame is not None:
        yield frame.f_locals.get("self")
        frame = frame.f_back  # type: ignore[assignment]


def _is_compiled_function(value: Any) -> bool:
    return isinstance(value, tf.types.experimental.PolymorphicFunction) and bool(getattr(value, "_jit_compile", False))
