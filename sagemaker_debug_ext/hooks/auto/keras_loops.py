"""What a loop with a gradient tape tells of the program: how it calls the model, and which loss it computes.

Only arguments and results of Python calls are looked at, while a tape of the script is open, or while `fit` runs a step
of the script's own. The graph that trains stays as it is, so that training rounds as ever; what a model gives within
a traced function is computed beside it.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import weakref
from collections.abc import Callable, Iterator, Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

import attrs
import keras
import numpy as np

from sagemaker_debug_ext.hooks.fail_safe import never_into_script
from sagemaker_debug_ext.hooks.keras.hook import KerasHook
from sagemaker_debug_ext.hooks.keras.recording import Recording, is_apart
from sagemaker_debug_ext.hooks.program.keras import LoopCall, LoopLoss
from sagemaker_debug_ext.store.format.program import LossRecord

if TYPE_CHECKING:
    from sagemaker_debug_ext.hooks.auto.keras_arguments import TracedArguments

LOG = logging.getLogger(__name__)

LOSS_FUNCTIONS: Final = (
    "sigmoid_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits",
    "sparse_softmax_cross_entropy_with_logits",
)
"""Losses of ``tf.nn``, which are called with ``logits``."""
DIFFERENCES: Final = ("subtract", "squared_difference")
"""Functions of ``tf.math`` by which scripts compare predictions with targets, beside the operator."""
FORMS: Final = frozenset(
    {"Cast", "ExpandDims", "Identity", "Reshape", "Squeeze", "StopGradient", "StridedSlice", "Transpose"}
)
"""Operations of graphs that give the numbers of a tensor another form."""

MOST_TENSORS: Final = 50
"""Number of tensors of a graph among which outputs are looked for."""


@attrs.define(eq=False)
class _LastCall:
    """The last call of a model.

    Args:
        model: The model.
        trains: Whether it was told to train; None if unknown.
        outputs: What it returned, without its structure; None for what cannot be told from others.
        is_apart: Whether neither a tape of the script was open nor `fit` ran, as in a validation.
    """

    model: weakref.ref[Any]
    trains: bool | None
    outputs: tuple[weakref.ref[Any] | None, ...]
    is_apart: bool

    def number_of(self, value: Any) -> int | None:
        """Return which output a tensor is; None if it is none of them."""
        found = (number for number, output in enumerate(self.outputs) if output is not None and output() is value)
        return next(found, None)

    def number_in_another_form(self, value: Any, *, is_eager: bool) -> int | None:
        """Return which output has the numbers of a tensor, such as one that was flattened; None if none has.

        Args:
            value: The tensor.
            is_eager: Whether its numbers are known, and not the operations that made it.
        """
        if is_eager:
            known = [None if reference is None else reference() for reference in self.outputs]
            numbers = np.ravel(value)
            same = (output is not None and np.array_equal(numbers, np.ravel(output)) for output in known)
            return next((number for number, is_same in enumerate(same) if is_same), None)
        while self.number_of(value) is None and _operation(value) in FORMS:
            value = value.op.inputs[0]
        return self.number_of(value)

    def picks_for_all(self, number: Any, targets: Any) -> bool:
        """Return whether a tensor of a graph sums a product of an output with data over samples and columns.

        Such a product is meant to pick one answer of each sample, as that of the action taken, and the targets, with
        which it is compared, are one for each sample.
        """
        if _operation(number) != "Sum" or _lengths(number) != () or self._may_make(targets):
            return False
        product = number.op.inputs[0]
        factors = product.op.inputs if _operation(product) == "Mul" else ()
        lengths = _lengths(product)
        is_table = len(lengths) == 2 and all((length or 0) > 1 for length in lengths)
        are_of_samples = _lengths(targets) == lengths[:1]
        return is_table and are_of_samples and sum(self.number_of(factor) is not None for factor in factors) == 1

    def _may_make(self, value: Any) -> bool:
        """Return whether an output may be among the tensors of a graph that another is computed of."""
        waiting, seen = [value], {id(value)}
        for tensor in waiting:  # grows meanwhile
            if self.number_of(tensor) is not None or len(waiting) > MOST_TENSORS:
                return True
            before = [other for other in getattr(getattr(tensor, "op", None), "inputs", ()) if id(other) not in seen]
            seen.update(map(id, before))
            waiting += before
        return False


class LoopWatcher:
    """Notes calls of models and losses in the loops of a script.

    The inputs and outputs of the last outermost model that a tape has seen are saved, with those of its layers; once a
    loss has compared its outputs with labels, these are saved as well, and the step keeps this batch.

    Args:
        find_hook: Returns the hook if a tape of the script is open.
        find_any: Returns the hook if a tape of the script is open or `fit` runs.
        find_apart: Returns the hook if neither is the case, and the script has opened a tape or run `fit` before.
        is_eager: Returns whether operations run at once, so that nothing is added to a graph.
        arguments: Tells the values of what a function that is traced calls a model and a loss with.
    """

    def __init__(
        self,
        find_hook: Callable[[], KerasHook | None],
        find_any: Callable[[], KerasHook | None],
        find_apart: Callable[[], KerasHook | None],
        is_eager: Callable[[], bool],
        arguments: TracedArguments,
    ) -> None:
        self._find_hook = find_hook
        self._find_any = find_any
        self._find_apart = find_apart
        self._is_eager = is_eager
        self._arguments = arguments
        self._labelled: weakref.ref[Any] | None = None
        self._last: _LastCall | None = None
        self._num_losses = 0
        self._num_models = 0

    def wrap_model(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of the call of a model that notes whether the outermost model is told to train."""

        @functools.wraps(call)
        def called(model: Any, *args: Any, **kwargs: Any) -> Any:
            if is_apart():
                return call(model, *args, **kwargs)
            has_changed = self._has_changed(model)
            with self._recorded(model) as recording, self._within_model():
                outputs = call(model, *args, **kwargs)
            is_outside = self._find_apart() is not None
            if self._num_models or not (is_outside or self._find_any() is not None):
                return outputs
            with never_into_script(_not_noted):
                told = kwargs.get("training", args[1] if len(args) > 1 else None)
                each = tuple(map(_reference, keras.tree.flatten(outputs)))
                self._last = _LastCall(weakref.ref(model), _trains(model, told), each, is_outside)
                hook = self._find_hook()
                if hook is not None:
                    if args and not self._has_labels(hook):
                        self._save_call(hook, args[0], outputs, recording)
                        if not (self._is_eager() or has_changed or args[1:]):
                            self._note_replay(hook, model, args[0], kwargs)
                    hook.note_loop(model, LoopCall(self._last.trains, None))
            return outputs

        return called

    def wrap_loss(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of the call of a loss of Keras."""

        @functools.wraps(call)
        def called(loss: Any, y_true: Any, y_pred: Any, *args: Any, **kwargs: Any) -> Any:
            self._note_loss(y_true, y_pred, LoopLoss.of_keras, loss)
            self._num_losses += 1
            try:
                return call(loss, y_true, y_pred, *args, **kwargs)
            finally:
                self._num_losses -= 1

        return called

    def wrap_function(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of a loss of ``tf.nn`` of some name; losses of Keras call these, too."""

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            if not self._num_losses:
                labels, logits = (
                    kwargs.get(parameter, args[place] if len(args) > place else None)
                    for place, parameter in enumerate(("labels", "logits"))
                )
                self._note_loss(labels, logits, LoopLoss, name)
            return function(*args, **kwargs)

        return called

    def wrap_difference(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of a difference that notes targets and answers of shapes (N,) and (N, 1), which spread.

        Differences within the call of a model are none of these.
        """

        @functools.wraps(function)
        def called(left: Any, right: Any, *args: Any, **kwargs: Any) -> Any:
            difference = function(left, right, *args, **kwargs)
            if self._last is not None and not self._num_models:
                with never_into_script(_not_noted):
                    self._note_difference(self._last, left, right, difference)
            return difference

        return called

    def _note_difference(self, last: _LastCall, left: Any, right: Any, difference: Any) -> None:
        """Note the targets with which the last answers are compared, and whether one of the two spreads the other."""
        if not self._is_eager() and (last.picks_for_all(left, right) or last.picks_for_all(right, left)):
            hook, model = self._find_any(), last.model()
            if hook is not None and model is not None:
                hook.note_own_loss(model, LossRecord(name="loss", type="", pooled_shape=_known_shape(difference)))
            return
        is_spread = _is_spread(left, right) or _is_spread(right, left)
        first, second = (self._number_of(last, value, is_spread=is_spread) for value in (left, right))
        if (first is None) == (second is None):  # nothing of the model's, or differences between its answers
            return
        number, answers, targets = (first, left, right) if first is not None else (second, right, left)
        hook, open_hook, model = self._find_any(), self._find_hook(), last.model()
        are_labels = not self._is_eager() and _lengths(targets)[:1] == _lengths(answers)[:1] != ()
        if number is not None and open_hook is not None and are_labels:
            self._save_labels(open_hook, targets, number)
        if hook is not None and model is not None and is_spread and not self._is_meant(left, right):
            hook.note_own_loss(model, LossRecord(name="loss", type="", spread_shape=_known_shape(difference)))

    def _number_of(self, last: _LastCall, value: Any, *, is_spread: bool) -> int | None:
        number = last.number_of(value)
        if number is None and is_spread:  # which is rare, so that numbers may be compared
            return last.number_in_another_form(value, is_eager=self._is_eager())
        return number

    def _is_meant(self, *values: Any) -> bool:
        """Return whether the script has just made a column, for all differences of two samples; graphs tell it."""
        return not self._is_eager() and any(_is_column(value) and _has_new_axis(value) for value in values)

    @contextlib.contextmanager
    def _within_model(self) -> Iterator[None]:
        """Call a model within the context; the models that it calls are parts of it."""
        self._num_models += 1
        try:
            yield
        finally:
            self._num_models -= 1

    def _recorded(self, model: Any) -> contextlib.AbstractContextManager[Recording | None]:
        """Return a context in which the layers of the outermost model are recorded, if that adds nothing to a graph."""
        hook = self._find_hook() if not self._num_models and self._is_eager() else None
        return contextlib.nullcontext() if hook is None else hook.recorded_call(model)

    def _has_changed(self, model: Any) -> bool:
        """Return whether the graph that is being made has changed a variable of a model before it calls that."""
        hook = None if self._num_models or self._is_eager() else self._find_hook()
        with never_into_script(_not_noted):
            return hook is not None and hook.has_changed_in_loop(model)
        return True

    def _save_call(self, hook: KerasHook, inputs: Any, outputs: Any, recording: Recording | None) -> None:
        if self._is_eager():
            hook.save_tape_logs(inputs, outputs)
            if recording is not None:
                hook.save_loop_batch(recording.tensors(gather=False))
        else:
            self._arguments.note("inputs", inputs)

    def _note_replay(self, hook: KerasHook, model: Any, inputs: Any, named: Mapping[str, Any]) -> None:
        """Note how to compute what a model gives in a graph, if its inputs are known and it is called plainly."""
        if self._arguments.note("inputs", inputs) and _is_plain(named):
            replay = hook.replay_of_call(model, named, inputs.dtype)
            self._arguments.note_computation(functools.partial(_computed, hook, weakref.ref(model), replay))

    def _save_labels(self, hook: KerasHook, labels: Any, number: int) -> None:
        """Save the labels of an output, under the number that this has if there are several."""
        if self._has_labels(hook):
            return
        name = "labels" if self._last is None or len(self._last.outputs) == 1 else f"labels_{number}"
        if self._is_eager():
            hook.save_loop_batch({name: labels})
        elif not self._arguments.note(name, labels):
            return
        self._labelled = weakref.ref(hook.taped_step)

    def _has_labels(self, hook: KerasHook) -> bool:
        """Return whether the labels of the open step have been seen."""
        return self._labelled is not None and self._labelled() is hook.taped_step

    def _note_loss(self, labels: Any, predictions: Any, make: Callable[[Any], LoopLoss], of: Any) -> None:
        last = self._last
        number = None if last is None else last.number_of(predictions)
        if last is None or number is None:
            return
        hook, apart, model = self._find_hook(), self._find_apart() if last.is_apart else None, last.model()
        if hook is not None and model is not None:
            with never_into_script(_not_noted):
                self._save_labels(hook, labels, number)
            hook.note_loop(model, LoopCall(last.trains, attrs.evolve(make(of), number=number)))
        elif apart is not None and model is not None and last.trains:
            apart.note_validation(model)


def _computed(
    hook: KerasHook, model: weakref.ref[Any], replay: Callable[[Any], Mapping[str, Any]], inputs: Callable[[], Any]
) -> Callable[[], Mapping[str, Any] | None]:
    """Compute what a model gives at a step that saves it; return what gives it if the function was that one step."""
    known = model()
    if known is None or not hook.saves_call(known):
        return dict
    step = hook.last_loop_step + (not hook.has_open_tape)
    computed = replay(inputs())
    return lambda: computed if hook.last_loop_step == step else None


def _is_plain(named: Mapping[str, Any]) -> bool:
    """Return whether the named arguments of a model's call are the same whenever its graph runs."""
    return named.keys() <= {"training"} and isinstance(named.get("training"), (bool, NoneType))


def _trains(model: Any, told: Any) -> bool | None:
    """Return whether a model is told to train, by an argument or by the default of its method; None if unknown."""
    if told is None:
        parameter = inspect.signature(type(model).call).parameters.get("training")
        default = parameter.default if parameter is not None else None
        return default if isinstance(default, bool) else False
    return bool(told) if isinstance(told, (bool, int)) else None


def _is_column(value: Any) -> bool:
    """Return whether a tensor has the shape (N, 1), of an N other than 1."""
    shape = _lengths(value)
    return len(shape) == 2 and shape[0] != 1 and shape[1] == 1


def _is_vector(value: Any) -> bool:
    """Return whether a value has the shape (N,), of an N other than 1."""
    shape = _lengths(value)
    return len(shape) == 1 and shape[0] != 1


def _operation(value: Any) -> str:
    """Return the type of the operation of a graph that gives a tensor; empty if there is none."""
    return str(getattr(getattr(value, "op", None), "type", ""))


def _has_new_axis(value: Any) -> bool:
    """Return whether a tensor of a graph is one of fewer axes to which ``[:, None]`` or the like has just added one."""
    name = _operation(value)
    return name == "ExpandDims" or (name == "StridedSlice" and bool(value.op.get_attr("new_axis_mask")))


def _is_spread(column: Any, vector: Any) -> bool:
    """Return whether values have the shapes (N, 1) and (N,), of the same N as far as it is known."""
    return _is_column(column) and _is_vector(vector) and _lengths(column)[0] == _lengths(vector)[0]


def _lengths(value: Any) -> tuple[int | None, ...]:
    """Return the lengths of the axes of a value; empty if it is no tensor, or their number is unknown."""
    shape = getattr(value, "shape", ())
    return () if getattr(shape, "rank", 0) is None else tuple(shape)


def _known_shape(value: Any) -> tuple[int, ...]:
    """Return the shape of a tensor, with -1 for lengths that a graph does not know."""
    return tuple(-1 if length is None else length for length in _lengths(value))


def _reference(outputs: Any) -> weakref.ref[Any] | None:
    """Return a weak reference to a tensor; None for anything that has none, such as a list of tensors."""
    try:
        return weakref.ref(outputs)
    except TypeError:
        return None


def _not_noted(error: Exception) -> None:
    LOG.warning("a call in the script's loop is not noted: %r", error)


def install(watcher: LoopWatcher, tf: Any) -> None:
    """Watch calls of models and losses, and differences.

    Args:
        watcher: Notes them.
        tf: The module ``tensorflow``.
    """
    keras.Model.__call__ = watcher.wrap_model(keras.Model.__call__)
    keras.losses.Loss.__call__ = watcher.wrap_loss(keras.losses.Loss.__call__)
    for name in LOSS_FUNCTIONS:
        setattr(tf.nn, name, watcher.wrap_function(name, getattr(tf.nn, name)))
    for name in DIFFERENCES:
        setattr(tf.math, name, watcher.wrap_difference(getattr(tf.math, name)))
    tf.subtract = tf.math.subtract
    tf.Tensor.__sub__ = watcher.wrap_difference(tf.Tensor.__sub__)
    tf.Tensor.__rsub__ = watcher.wrap_difference(tf.Tensor.__rsub__)
