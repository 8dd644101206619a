"""Recording of intermediate tensors of a step of a Keras model: gradients, inputs and outputs of layers.

A `Recording` collects tensors without adding computations. In a graph, they are collected when the graph is built, and
become additional outputs of it; otherwise they are the values themselves.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from sagemaker_debug_ext.hooks.keras.backend import flatten_tensors, is_numeric, is_tensorflow
from sagemaker_debug_ext.hooks.keras.names import layers_of
from sagemaker_debug_ext.hooks.process.sigterm import wraps_training
from sagemaker_debug_ext.vocabulary import CollectionKeys

wraps_training(__name__)

Wants = Callable[[str, str], bool]
"""Returns whether a tensor with that name, a member of that collection, may ever be saved."""

_MISSING: Final = object()


class CallNames(NamedTuple):
    """How the tensors of a call are named.

    Args:
        inputs: Name and collection of its inputs; None if they are not recorded.
        outputs: Name and collection of its outputs.
    """

    inputs: tuple[str, str] | None
    outputs: tuple[str, str]

    @classmethod
    def of_layer(cls, name: str) -> CallNames:
        """Return the names for a layer."""
        return cls((f"{name}/inputs", CollectionKeys.LAYERS), (f"{name}/outputs", CollectionKeys.LAYERS))


INPUTS: Final = ("inputs", CollectionKeys.INPUTS)
PREDICTIONS: Final = ("predictions", CollectionKeys.OUTPUTS)


class _Local(threading.local):
    """The recording of each thread; replicas of a model may run on separate threads."""

    recording: Recording | None = None
    is_apart: bool = False


_LOCAL: Final = _Local()


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """Call a model within the context beside the training, of which the calls are no part."""
    before, _LOCAL.is_apart = _LOCAL.is_apart, True
    try:
        yield
    finally:
        _LOCAL.is_apart = before


def is_apart() -> bool:
    """Return whether this thread calls a model beside the training."""
    return _LOCAL.is_apart


def current_recording() -> Recording | None:
    """Return the recording of this thread, or None."""
    return _LOCAL.recording


class Recording:
    """The tensors of one step, by name.

    Args:
        wants: Function that selects the tensors to record.
    """

    def __init__(self, wants: Wants) -> None:
        self._wants = wants
        self._home = _place()
        self._seen: dict[tuple[str, str], list[Any]] = {}
        self._gradients: dict[str, tuple[Any, Any]] = {}
        self._outer: Recording | None = None

    def __enter__(self) -> Recording:
        self._outer, _LOCAL.recording = _LOCAL.recording, self
        return self

    def __exit__(self, *_: object) -> None:
        _LOCAL.recording, self._outer = self._outer, None

    def note(self, name: str, collection: str, values: Any) -> None:
        """Record all tensors in `values`; additional ones with the same name are numbered."""
        self._seen.setdefault((name, collection), []).extend(
            value for value in flatten_tensors(values) if is_numeric(value) and self._is_at_home(value)
        )

    def note_call(self, names: CallNames, arguments: Iterable[Any], named: Mapping[str, Any], outputs: Any) -> None:
        """Record the inputs of a call, except masks, and its outputs.

        Keras builds a model by a trial run, which may get tensors of the step but gives none.
        """
        results = list(flatten_tensors(outputs))
        if results and not any(map(self._is_at_home, results)):
            return
        if names.inputs is not None:
            self.note(
                *names.inputs, [*arguments, *(value for name, value in named.items() if not name.endswith("mask"))]
            )
        self.note(*names.outputs, results)

    def note_gradient(self, path: str, gradient: Any, scale: Any = None) -> None:
        """Record the gradient of a variable.

        Args:
            path: Name of the variable.
            gradient: Its gradient.
            scale: Loss scale by which the gradient has been multiplied, if any.
        """
        if gradient is not None:
            self._gradients[f"gradients/{path}Grad"] = (gradient, scale)

    def tensors(self, gather: bool = True) -> dict[str, Any]:
        """Return the recorded tensors that are wanted; called once, at the end of the step.

        Args:
            gather: Whether to combine the tensors of a model's replicas; otherwise the caller does.
        """
        batches = {}
        for (prefix, collection), values in self._seen.items():
            for index, value in enumerate(values):
                name = prefix if len(values) == 1 else f"{prefix}_{index}"
                if self._wants(name, collection):
                    batches[name] = value
        gradients = {}
        for name, (gradient, scale) in self._gradients.items():
            if self._wants(name, CollectionKeys.GRADIENTS):
                dense = _to_dense(gradient)
                if self._is_at_home(dense):
                    gradients[name] = dense if scale is None else dense / _cast(scale, dense)
        return _join_replicas(batches, gradients) if gather else {**batches, **gradients}

    def _is_at_home(self, value: Any) -> bool:
        """Return whether a tensor belongs to the step itself, not to a loop, a branch or a trial run inside it."""
        if not is_tensorflow():
            return str(getattr(value, "device", "")) != "meta"
        return getattr(value, "graph", None) is self._home


def tap_call(names: CallNames, original: Callable[..., Any], guard: Callable[..., Any]) -> Callable[..., Any]:
    """Return a wrapper of the `call` of a layer or a model that records its tensors.

    Args:
        names: How they are named.
        original: The `call`.
        guard: Function that calls a function and suppresses its errors.
    """

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        outputs = original(*args, **kwargs)
        recording = current_recording()
        if recording is not None:
            guard(recording.note_call, names, args, kwargs, outputs)
        return outputs

    return call


def layer_tensor_names(layer_name: str) -> list[str]:
    """Return the names that tensors of a layer may have; it may get and give several."""
    return [f"{layer_name}/{kind}{number}" for kind in ("inputs", "outputs") for number in ("", "_0", "_1")]


@contextlib.contextmanager
def tapped_layers(model: Any, wants: Wants, guard: Callable[..., Any]) -> Iterator[None]:
    """Record what the layers of a model get and give within the context, if it may be saved.

    Args:
        model: The model.
        wants: Function that selects the tensors to record.
        guard: Function that calls a function and suppresses its errors.
    """
    with contextlib.ExitStack() as stack:
        for name, layer in layers_of(model):
            if any(wants(tensor_name, CollectionKeys.LAYERS) for tensor_name in layer_tensor_names(name)):
                stack.enter_context(replaced(layer, "call", tap_call(CallNames.of_layer(name), layer.call, guard)))
        yield


def tap_optimizer(
    optimizer: Any, path_of: Callable[[Any], str], original: Callable[..., Any], guard: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a wrapper of an optimizer's `apply` that records the gradients."""

    def note(gradients: Any, variables: Any, scale: Any) -> None:
        recording = current_recording()
        if recording is not None:
            for gradient, variable in zip(gradients, variables, strict=False):
                recording.note_gradient(path_of(variable), gradient, scale)

    @functools.wraps(original)
    def apply(grads: Any, trainable_variables: Any = None) -> Any:
        recording = current_recording()
        if recording is None:
            return original(grads, trainable_variables)
        gradients = list(grads)
        variables = None if trainable_variables is None else list(trainable_variables)
        scale = guard(loss_scale, optimizer)
        with _paused():
            result = original(gradients, variables)
        guard(note, gradients, optimizer._trainable_variables if variables is None else variables, scale)  # noqa: SLF001
        return result

    return apply


def loss_scale(optimizer: Any) -> Any:
    """Return the loss scale of an optimizer, or None."""
    if hasattr(optimizer, "inner_optimizer"):
        if not optimizer.built:
            return optimizer.initial_scale
        scale = optimizer.dynamic_scale.value
        return scale.read_value() if is_tensorflow() else scale.detach().clone()
    return getattr(optimizer, "loss_scale_factor", None)


@contextlib.contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Replace a method of one object within the context, bypassing the `__setattr__` of its class."""
    members = vars(owner)
    before = members.get(name, _MISSING)
    members[name] = value
    try:
        yield
    finally:
        if before is _MISSING:
            members.pop(name, None)
        else:
            members[name] = before


@contextlib.contextmanager
def _paused() -> Iterator[None]:
    """Pause the recording within the context, so that an optimizer inside another one is not recorded twice."""
    recording, _LOCAL.recording = _LOCAL.recording, None
    try:
        yield
    finally:
        _LOCAL.recording = recording


def _place() -> Any:
    """Return the graph that is being built, or None."""
    if not is_tensorflow():
        return None
    import tensorflow as tf  # noqa: PLC0415 - not there with other back ends

    return None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()


def _to_dense(gradient: Any) -> Any:
    if not is_tensorflow():
        return gradient
    import tensorflow as tf  # noqa: PLC0415 - not there with other back ends

    return tf.convert_to_tensor(gradient)


def _cast(scale: Any, like: Any) -> Any:
    if not is_tensorflow():
        return scale
    import tensorflow as tf  # noqa: PLC0415 - not there with other back ends

    return tf.cast(scale, like.dtype)


def _join_replicas(batches: dict[str, Any], gradients: dict[str, Any]) -> dict[str, Any]:
    """Concatenate the parts of a batch on the replicas of a model, and sum their gradients."""
    if not is_tensorflow():
        return {**batches, **gradients}
    import tensorflow as tf  # noqa: PLC0415 - not there with other back ends

    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return {**batches, **gradients}
    # Keras averages all results of a step over the replicas, which fails for strings and booleans.
    batches = {
        name: value
        for name, value in batches.items()
        if value.shape.rank and value.dtype.name not in ("bool", "string")
    }

    def join(strategy: Any, batches: dict[str, Any], gradients: dict[str, Any]) -> dict[str, Any]:
        parts = strategy.experimental_local_results
        joined = {name: tf.concat(parts(value), axis=0) for name, value in batches.items()}
        return joined | {name: tf.add_n(parts(value)) for name, value in gradients.items()}

    found: dict[str, Any] = context.merge_call(join, args=(batches, gradients))
    return found
