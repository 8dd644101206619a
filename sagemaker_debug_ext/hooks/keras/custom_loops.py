"""Calls of scripts to the Keras hook, mainly in custom training loops: tapes, optimizers and gradients."""

from __future__ import annotations

import contextlib
import functools
import logging
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import keras

from sagemaker_debug_ext.errors import SMDebugNotImplementedError, SMDebugTypeError, brief
from sagemaker_debug_ext.hooks.base import BaseHook
from sagemaker_debug_ext.hooks.capture.save_plan import StepPlan
from sagemaker_debug_ext.hooks.fail_safe import (
    fail_safe,
    never_into_script,
    script_call,
    script_query,
    skip_value,
)
from sagemaker_debug_ext.hooks.keras.backend import backend_name, do_not_convert, is_tensor, is_tensorflow
from sagemaker_debug_ext.hooks.keras.capture import TensorHook, check_model
from sagemaker_debug_ext.hooks.keras.collections import Collection
from sagemaker_debug_ext.hooks.keras.names import layers_of
from sagemaker_debug_ext.hooks.keras.recording import PREDICTIONS, Recording, layer_tensor_names, tapped_layers
from sagemaker_debug_ext.store.format.messages import to_array
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

LOG = logging.getLogger(__name__)

_OF_BATCHES: Final = {
    "inputs": CollectionKeys.INPUTS,
    "labels": CollectionKeys.OUTPUTS,
    "predictions": CollectionKeys.OUTPUTS,
}
"""Collections of the tensors of whole batches."""


class CustomLoopHook(TensorHook):
    """Captures custom training loops.

    Args:
        args: As for `BaseHook`.
        kwargs: As for `BaseHook`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._tapes: Any = None
        self._saves_calls: weakref.WeakKeyDictionary[Any, dict[StepPlan, bool]] = weakref.WeakKeyDictionary()
        super().__init__(*args, **kwargs)

    @property
    def has_open_tape(self) -> bool:
        """Whether a captured tape is open."""
        return self._tapes is not None and self._tapes.is_open

    @property
    def taped_step(self) -> object | None:
        """The step of the captured tape that is open, or that was the last one; None outside its graph."""
        return self._tapes.current_step if self._tapes is not None else None

    @script_call
    def register_model(self, model: Any) -> None:
        """Capture inputs and outputs of a model and of its layers in custom loops with `wrap_tape`.

        Raises:
            SMDebugTypeError: `model` is not a model of Keras 3.
        """
        check_model(model)
        if any(known is model for known in self._registered):
            LOG.warning("model %r is already registered", model.name)
            return
        self._registered.append(model)
        self._forget_names()
        if self._tapes is not None:
            self._tapes.add_model(model)

    @do_not_convert
    @script_query(lambda _, tape: tape)
    def wrap_tape(self, tape: Any) -> Any:
        """Capture the tensors that a TensorFlow gradient tape records, and return the tape.

        A step of mode TRAIN starts whenever the tape is opened, unless another captured tape is open. This works in
        eager code and inside `tf.function`.

        Raises:
            SMDebugTypeError: `tape` is not a `tf.GradientTape`.
        """
        return self._tape_hook("wrap_tape").wrap(tape)

    @do_not_convert
    @script_query(lambda _, optimizer: optimizer)
    def wrap_optimizer(self, optimizer: Any) -> Any:
        """Capture the variables of an optimizer in custom loops, and return the optimizer.

        Raises:
            SMDebugTypeError: `optimizer` is not an optimizer of Keras 3.
        """
        if not isinstance(optimizer, keras.optimizers.Optimizer):
            raise SMDebugTypeError(f"optimizer must be a keras.optimizers.Optimizer (got {brief(optimizer)})")
        self._tape_hook("wrap_optimizer").add_optimizer(optimizer)
        return optimizer

    @do_not_convert
    @script_call
    def save_scalar(self, name: str, value: Any, sm_metric: bool = False, timestamp: float | None = None) -> None:
        """Save a number as ``scalar/<name>``, also inside `tf.function`; see `BaseHook.save_scalar`."""
        if _is_symbolic(value):
            self._tape_hook("save_scalar").call_later(
                lambda number: BaseHook.save_scalar(self, name, number, sm_metric, timestamp), value
            )
        else:
            super().save_scalar(name, value, sm_metric, timestamp)

    @do_not_convert
    @script_call
    def save_tensor(self, tensor_name: str, tensor_value: Any, collections_to_write: Any = "default") -> None:
        """Save a custom tensor, also inside `tf.function`; see `BaseHook.save_tensor`.

        A value given after the gradients of a custom loop belongs to the open step, if that saves the collection.
        """
        if _is_symbolic(tensor_value):
            self._tape_hook("save_tensor").call_later(
                lambda tensor: self.save_tensor(tensor_name, tensor, collections_to_write), tensor_value
            )
        else:
            super().save_tensor(tensor_name, tensor_value, collections_to_write)
            if self._steps.open is not None:
                self._save_custom_tensors()

    @do_not_convert
    @script_call
    def record_tensor_value(self, tensor_name: str, tensor_value: Any) -> None:
        """Save a value with the open step, as a member of collection ``metrics``, also inside `tf.function`.

        The value is saved if the open step saves the collection, so a loop may give a metric after the gradients.
        Before the first step, the value waits for it. A value that cannot be saved is skipped with a warning.

        Args:
            tensor_name: Name of the tensor.
            tensor_value: An array, tensor, number, text, or list of numbers or texts.

        Raises:
            SMDebugTypeError: `tensor_name` is not a text.
        """
        if not isinstance(tensor_name, str):
            raise SMDebugTypeError(f"tensor_name must be a text (got {brief(tensor_name)})")
        if _is_symbolic(tensor_value):
            self._tape_hook("record_tensor_value").call_later(
                lambda tensor: self.record_tensor_value(tensor_name, tensor), tensor_value
            )
        elif self._steps.open is None:
            super().save_tensor(tensor_name, tensor_value, CollectionKeys.METRICS)
        elif self._lifecycle.accepts("record_tensor_value"):
            with skip_value(tensor_name, functools.partial(LOG.warning, "tensor %r is not saved: %s")):
                value = tensor_value if is_tensor(tensor_value) else to_array(tensor_value)
                self._offer_as(tensor_name, value, CollectionKeys.METRICS)

    @script_call
    def add_to_collection(self, collection_name: str, variable: Any) -> None:
        """Add a variable to a collection."""
        collection = self.get_collection(collection_name)
        if isinstance(collection, Collection):
            collection.add(variable)
        self._forget_names()

    @do_not_convert
    @script_call
    def set_gradients(self, gradients: Iterable[Any], variables: Iterable[Any] | None = None) -> None:
        """Save gradients that the hook cannot capture from tapes or optimizers, with the open step.

        Args:
            gradients: One gradient per variable.
            variables: The variables of the gradients; by default the trainable ones of the registered models.
        """
        if variables is None:
            variables = [variable for model in self._registered for variable in model.trainable_variables]
        self._tape_hook("set_gradients").offer_gradients(list(gradients), list(variables))

    @do_not_convert
    @script_call
    def set_optimizer_variables(self, optimizer_variables: Iterable[Any]) -> None:
        """Save variables with the open step, as members of collection ``optimizer_variables``."""
        self._offer_variables((f"{self._path_of(variable)}:0", variable) for variable in optimizer_variables)

    @do_not_convert
    @script_call
    def save_tape_logs(self, model_inputs: Any = None, outputs: Any = None) -> None:
        """Save the inputs of a model as ``inputs`` and its outputs as ``predictions``, with the open step."""
        self._tape_hook("save_tape_logs").offer_batch(model_inputs, outputs)

    @fail_safe
    def save_loop_batch(self, batch: Mapping[str, Any]) -> None:
        """Save what a custom loop has in eager code, with the step that is open.

        Args:
            batch: "inputs", "labels", "predictions" or the name of a tensor of a layer → the value, as tensor or array.
        """
        if self._steps.open is None or not self._lifecycle.is_active():
            return
        for name, value in batch.items():
            with skip_value(name, functools.partial(LOG.warning, "tensor %r is not saved: %s")):
                collection = CollectionKeys.LAYERS if "/" in name else _OF_BATCHES[name.partition("_")[0]]
                self._offer_as(name, value if is_tensor(value) else to_array(value), collection)

    @property
    def last_loop_step(self) -> int:
        """The last step begun; -1 before the first."""
        return self._steps.last_begun

    def saves_call(self, model: Any) -> bool:
        """Return whether the step that is open in a loop, or else the next one, saves what a call of a model gives."""
        if not self._lifecycle.is_active():
            return False
        plan = self._current_plan() if self.has_open_tape else self._steps.next_plan(ModeKeys.TRAIN)
        if plan is None:
            return False
        of_model = self._saves_calls.setdefault(model, {})
        if plan not in of_model:
            names = [name for layer, _ in layers_of(model) for name in layer_tensor_names(layer)]
            known = [PREDICTIONS, *((name, CollectionKeys.LAYERS) for name in names)]
            of_model[plan] = any(self._belongs(*each) and plan.selects(each[0]) for each in known)
        return of_model[plan]

    def has_changed_in_loop(self, model: Any) -> bool:
        """Return whether the graph of the open step has changed a variable of a model by now."""
        return bool(self._tapes.has_changed(model.variables))

    @contextlib.contextmanager
    def recorded_call(self, model: Any) -> Iterator[Recording | None]:
        """Record the layers of a model that is called within the context, in eager code; None if no step saves them."""
        with contextlib.ExitStack() as stack:
            recording = None
            with never_into_script(_not_recorded):
                if self.saves_call(model):
                    stack.enter_context(tapped_layers(model, self._wants, self._guarded))
                    recording = stack.enter_context(Recording(self._wants))
            yield recording

    def replay_of_call(self, model: Any, named: Mapping[str, Any], dtype: Any) -> Callable[[Any], Mapping[str, Any]]:
        """Return a function that computes what a call of a model gives beside the graph that makes it.

        Args:
            model: The model.
            named: Named arguments of the call.
            dtype: Type of its inputs.
        """
        from sagemaker_debug_ext.hooks.keras.loop_replay import LoopReplay  # noqa: PLC0415 - imports TensorFlow

        return LoopReplay(model, named, dtype, self._wants, self._guarded)

    @script_call
    def save_smdebug_logs(self, logs: Mapping[str, Any] | None) -> None:
        """Save numbers with the open step, like the logs of a model."""
        self._guarded(self._offer_logs, logs)

    @script_query(lambda *_: False)
    def should_save_layer(self, layer_name: str) -> bool:
        """Return whether the open step saves inputs or outputs of a layer."""
        plan = self._current_plan()
        return plan is not None and any(
            self._belongs(f"{layer_name}/{kind}", CollectionKeys.LAYERS) and plan.selects(f"{layer_name}/{kind}")
            for kind in ("inputs", "outputs")
        )

    @contextlib.contextmanager
    def profiler(self, mode: ModeKeys = ModeKeys.TRAIN) -> Iterator[None]:
        """Set the mode of steps that start within the context."""
        before = self.mode
        self.set_mode(mode)
        try:
            yield
        finally:
            self.set_mode(before)

    @fail_safe
    def _begin_tape_step(self) -> bool:
        """Begin a step of a custom loop, and return whether it saves tensors."""
        self._steps.enter_mode(ModeKeys.TRAIN)
        return bool(self._begin_step())

    def _tape_hook(self, what: str) -> Any:
        """Return the capture of custom loops, or raise if the back end does not support `what`."""
        if not is_tensorflow():
            raise SMDebugNotImplementedError(
                f"{what} exists with TensorFlow only (the back end of Keras is {backend_name()}): "
                "use model.fit, or the hook of that framework"
            )
        if self._tapes is None:
            from sagemaker_debug_ext.hooks.keras.tapes import HookAccess, TapeCapture  # noqa: PLC0415 - TensorFlow

            access = HookAccess(
                begin=self._begin_tape_step,
                is_saving=self._lifecycle.is_active,
                offer=self._capture,
                save_waiting=self._save_custom_tensors,
                wants=self._wants,
                path_of=self._path_of,
                get_collection=self.get_collection,
                guard=self._guarded,
                note_sources=self._note_sources,
            )
            self._tapes = TapeCapture(access)
            for model in self._registered:
                self._tapes.add_model(model)
        return self._tapes

    def _note_sources(self, sources: Iterable[Any]) -> None:
        """Note what a loop differentiates by."""

    def _before_plan(self) -> None:
        super()._before_plan()
        self._saves_calls.clear()

    def _forget_names(self) -> None:
        super()._forget_names()
        self._saves_calls.clear()

    def _detach(self) -> None:
        if self._tapes is not None:
            self._tapes.detach()
        self._registered.clear()
        self._forget_names()


def _not_recorded(error: Exception) -> None:
    LOG.warning("layers of a model in a loop are not saved: %r", error)


def _is_symbolic(value: Any) -> bool:
    return is_tensorflow() and is_tensor(value) and not hasattr(value, "numpy")
