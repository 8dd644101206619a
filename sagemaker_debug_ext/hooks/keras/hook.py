"""The Keras hook: weights, gradients, losses, metrics, inputs and outputs of layers, optimizer variables.

It supports Keras 3 on TensorFlow, PyTorch and JAX. The hook is a callback; custom loops use `wrap_tape`.
"""

from __future__ import annotations

import functools
import logging
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import attrs
import keras
import numpy as np

from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugValueError
from sagemaker_debug_ext.hooks.capture.save_plan import SaveDecision, StepPlan
from sagemaker_debug_ext.hooks.fail_safe import fail_safe, never_into_script
from sagemaker_debug_ext.hooks.keras.backend import backend_name, flatten_tensors
from sagemaker_debug_ext.hooks.keras.capture import check_model, collection_of_log, flatten, without_wrapper
from sagemaker_debug_ext.hooks.keras.custom_loops import CustomLoopHook
from sagemaker_debug_ext.hooks.keras.names import layers_of, optimizer_values, optimizers_of
from sagemaker_debug_ext.hooks.keras.recording import INPUTS, PREDICTIONS
from sagemaker_debug_ext.hooks.keras.wrapped_steps import Phase, StepListener, WrappedFunction
from sagemaker_debug_ext.hooks.program.keras import (
    UNKNOWN_FORM,
    BatchForm,
    LoopCall,
    dtypes_of,
    keras_program,
)
from sagemaker_debug_ext.store.format.program import LossRecord, ProgramRecord
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

if int(keras.__version__.partition(".")[0]) < 3:
    raise SMDebugRuntimeError(f"the Keras hook needs Keras 3 (found {keras.__version__}): use TensorFlow 2.16 or later")

LOG = logging.getLogger(__name__)

_RECORDED: Final = (
    CollectionKeys.GRADIENTS,
    CollectionKeys.LAYERS,
    CollectionKeys.INPUTS,
    CollectionKeys.OUTPUTS,
)
"""Collections whose members exist only while a step runs."""

_NOT_IN_GRAPHS: Final = "gradients, layers, inputs and outputs are not saved: %s; everything else is"


class KerasHook(CustomLoopHook, keras.callbacks.Callback):  # type: ignore[misc]
    """Captures tensors of a Keras model: ``model.fit(..., callbacks=[hook])``.

    Each batch for which Keras calls callbacks is one step. Its mode is TRAIN in `fit`, EVAL in `evaluate` and in the
    validation of `fit`, and PREDICT in `predict`. The tensors of a step are:

    * ``<layer>/weights/<variable>:0``: variables at the end of the step;
    * ``gradients/<variable>Grad``: gradients passed to the optimizer, without the loss scale of mixed precision;
    * ``<layer>/inputs``, ``<layer>/outputs``, numbered if there are several: tensors of layers;
    * ``inputs``, ``labels``, ``predictions``, numbered likewise: tensors of the whole model;
    * ``loss`` and other logs of the model, and ``batch``, the number of the batch in its epoch;
    * ``<Optimizer>/<variable>:0``: variables of optimizers.

    The logs of an epoch are saved with its last step, regardless of the save interval.

    Args:
        args: As for `BaseHook`.
        kwargs: As for `BaseHook`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        keras.callbacks.Callback.__init__(self)
        # A model references its function while it runs; the functions of the last model are kept for its next run.
        self._functions: weakref.WeakValueDictionary[tuple[int, Phase], WrappedFunction] = weakref.WeakValueDictionary()
        self._kept_functions: list[WrappedFunction] = []
        self._batches: dict[Phase, int] = {}
        self._is_in_step = False
        self._has_begun = False
        self._last_params: Any = None
        self._recording_plans: dict[tuple[StepPlan, Phase], bool] = {}
        self._has_told: set[str] = set()
        self._is_undescribed = False
        self._described: tuple[Any, ...] | None = None
        self._since_step = 0
        self._is_fitted = False
        self._described_loops: weakref.WeakKeyDictionary[Any, LoopCall] = weakref.WeakKeyDictionary()
        self._loop_calls: weakref.WeakKeyDictionary[Any, LoopCall] = weakref.WeakKeyDictionary()
        self._own_losses: weakref.WeakKeyDictionary[Any, LossRecord] = weakref.WeakKeyDictionary()
        self._trained_by_batch: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._forms: weakref.WeakKeyDictionary[Any, BatchForm] = weakref.WeakKeyDictionary()
        CustomLoopHook.__init__(self, *args, **kwargs)

    @property
    def async_safe(self) -> bool:
        """Whether Keras may call callbacks asynchronously; the hook does not need them to see batches."""
        return backend_name() != "jax"

    # --- what Keras calls ---------------------------------------------------------------------------------------------

    def set_params(self, params: Any) -> None:
        """Store the parameters of a run.

        Raises:
            SMDebugValueError: The callbacks contain the hook twice.
        """
        if params is not None and params is self._last_params:
            raise SMDebugValueError("callbacks must hold the hook once (got it twice)")
        self._last_params = params
        super().set_params(params)

    def set_model(self, model: Any) -> None:
        """Store the model that is about to run.

        Raises:
            SMDebugTypeError: `model` is not a model of Keras 3.
        """
        check_model(without_wrapper(model))
        super().set_model(model)

    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Attach to the training function of `fit`."""
        self._attach(Phase.TRAIN)

    def on_test_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Attach to the test function of `evaluate`, or of the validation in `fit`."""
        self._attach(Phase.TEST)

    def on_predict_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Attach to the predict function of `predict`."""
        self._attach(Phase.PREDICT)

    def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Reset the batch number."""
        self._batch = self._batches[Phase.TRAIN] = -1

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Restore the model."""
        self._release(Phase.TRAIN)

    def on_test_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Restore the model."""
        self._release(Phase.TEST)

    def on_predict_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Restore the model."""
        self._release(Phase.PREDICT)

    @fail_safe
    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Save what the model logs for the epoch with the step that is open."""
        if self._steps.open is None or not self._lifecycle.is_active():
            return
        self._steps.save_plan()
        own = dict(flatten(logs or {}))
        for name, value in own.items():
            # Where the open step is one of validation, its `loss` is that of validation.
            in_evaluation = self._steps.open.position.mode is ModeKeys.EVAL
            self._save_of_epoch(name, own.get(f"val_{name}", value) if in_evaluation else value)
        if own:
            self._save_of_epoch("batch", np.int64(self._batch))

    def on_train_batch_begin(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Start a step, if the back end offers no other way to detect it."""
        if not self._functions:
            self._before(Phase.TRAIN, batch)

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Save a step, if the back end offers no other way to detect it; stop training if a rule asks for it."""
        if not self._functions:
            self._after(Phase.TRAIN, logs, {})
        if self.should_stop:
            self.model.stop_training = True

    def on_test_batch_begin(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Start a step, if the back end offers no other way to detect it."""
        if not self._functions:
            self._before(Phase.TEST, batch)

    def on_test_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Save a step, if the back end offers no other way to detect it."""
        if not self._functions:
            self._after(Phase.TEST, logs, {})

    def on_predict_batch_begin(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Start a step, if the back end offers no other way to detect it."""
        if not self._functions:
            self._before(Phase.PREDICT, batch)

    def on_predict_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Save a step, if the back end offers no other way to detect it."""
        if not self._functions:
            self._after(Phase.PREDICT, logs, {})

    # --- steps of Keras -----------------------------------------------------------------------------------------------

    def join_batch(self, model: Any, phase: Phase) -> None:
        """Attach to the function of a model that runs a single batch without callbacks, if it has not been yet.

        Keras resets its running means before each of these batches, as before the first one of an epoch.
        """
        self._batches[phase] = -1
        if phase is Phase.TRAIN:
            self._trained_by_batch.setdefault(model, model.name)
        function = self._functions.get((id(model), phase))
        if self.model is not model or function is None or not function.is_attached:
            self.set_model(model)
            self._attach(phase)

    def _first_plan(self) -> StepPlan | None:
        """Return the plan of the first step, once training, evaluation or prediction has begun."""
        return self._steps.first_plan() if self._has_begun and not self._lifecycle.is_off else None

    @fail_safe
    def _attach(self, phase: Phase) -> None:
        if not self._lifecycle.accepts(f"on_{phase.value}_begin"):
            return
        if self._steps.last_begun < 0:
            self._steps.enter_mode(phase.mode)
        self._has_begun = True
        model = self.model
        if getattr(model, f"{phase.value}_function", None) is None:  # a loop of the script itself calls its callbacks
            return
        if phase is not Phase.TRAIN:
            self._batch = self._batches[phase] = -1
        self._forget_names()
        if phase is Phase.TRAIN:
            self._is_fitted = self._is_undescribed = True
        if not self._can_record():
            self._warn_about("the steps are compiled by PyTorch")
        if backend_name() == "jax":
            self._warn_about("the back end is JAX, whose steps are out of reach")
            if self._is_undescribed:
                self._describe_program(model, self._steps.last_begun + 1)
            return
        function = self._functions.get((id(model), phase))
        if function is None:
            function = WrappedFunction(model, phase, self._make_watcher(model))
            self._functions[id(model), phase] = function
        self._kept_functions = [kept for kept in self._kept_functions if kept.model is model] + [function]
        function.attach()

    def _make_watcher(self, model: Any) -> StepListener:
        def before(phase: Phase) -> Any:
            self._turn_to(model)
            return self._before(phase)

        return StepListener(
            before=before,
            after=self._after,
            cancel=self._cancel,
            may_record=self._may_record,
            wants=self._wants,
            path_of=self._path_of,
            guard=self._guarded,
            note_batch=functools.partial(self._note_batch, model),
        )

    def _describe_program(self, model: Any, step: int) -> None:
        """Describe a model that trains, after its first step has built it and shown the form of its batches.

        Args:
            model: The model.
            step: The global step at which it begins to train.
        """
        self._is_undescribed = False
        with never_into_script(_not_described):
            plain = without_wrapper(model)
            names = {id(layer): name for name, layer in layers_of(plain)}
            batch = self._forms.get(model, UNKNOWN_FORM)
            turns = tuple(sorted(self._trained_by_batch.values()))
            record = keras_program(plain, names, batch=batch, own_loss=self._own_losses.get(model))
            function = self._functions.get((id(model), Phase.TRAIN))
            not_compiled = tuple(self._path_of(variable) for variable in function.not_compiled()) if function else ()
            record = attrs.evolve(record, turns=turns if len(turns) > 1 else (), not_compiled=not_compiled)
            self._dispatcher.describe_program(attrs.evolve(record, since_step=self._since(record, step)))

    def _since(self, record: ProgramRecord, step: int) -> int:
        """Return the step since which a record holds: the first of a model that follows another one."""
        described = record.model, record.layers, [(loss.type, loss.arguments) for loss in record.losses]
        if described != self._described:
            self._since_step = 0 if self._described is None or record.turns else step
            self._described = described
        return self._since_step

    @fail_safe
    def note_loop(self, model: Any, call: LoopCall) -> None:
        """Note how a custom loop calls a model, which may train it, or only look at it."""
        if not self._is_fitted:
            known = self._loop_calls.get(model)
            if known is not None:
                call = attrs.evolve(
                    call, loss=call.loss or known.loss, validates_in_training=known.validates_in_training
                )
            self._loop_calls[model] = call

    @fail_safe
    def note_validation(self, model: Any) -> None:
        """Note that a custom loop, which trains a model, tells it to train also where it only computes the loss."""
        known = self._described_loops.get(model)
        if known is not None and not known.validates_in_training and not self._is_fitted:
            self._loop_calls[model] = attrs.evolve(known, validates_in_training=True)
            self._describe_loop(model, self._loop_calls[model])

    @fail_safe
    def note_own_loss(self, model: Any, loss: LossRecord) -> None:
        """Note what goes wrong in a loss that the script computes itself of the answers of a model."""
        self._own_losses[model] = loss

    def _note_sources(self, sources: Iterable[Any]) -> None:
        """Record a model whose variables a custom loop differentiates by, and how the loop calls it."""
        wanted = {id(source) for source in sources}
        for model, call in [] if self._is_fitted else list(self._loop_calls.items()):
            if self._described_loops.get(model) == call:
                continue
            variables = model.trainable_variables
            if any(id(variable) in wanted or id(getattr(variable, "value", None)) in wanted for variable in variables):
                self._describe_loop(model, call)

    def _describe_loop(self, model: Any, call: LoopCall) -> None:
        """Describe a model that a custom loop trains."""
        self._described_loops[model] = call
        with never_into_script(_not_described):
            names = {id(layer): name for name, layer in layers_of(model)}
            record = keras_program(model, names, loop=call, own_loss=self._own_losses.get(model))
            self._dispatcher.describe_program(record)

    def _note_batch(self, model: Any, phase: Phase, inputs: Any, labels: Any, weights: Any) -> None:
        """Note the form of a training batch; the end of the step describes them, because no graph is built then."""
        if phase is not Phase.TRAIN:
            return
        with never_into_script(_not_described):
            of_inputs, of_labels = (dtypes_of(flatten_tensors(values)) for values in (inputs, labels))
            form = BatchForm(of_inputs, of_labels, is_weighted=weights is not None)
            if self._forms.get(model) != form:
                self._forms[model] = form
                self._is_undescribed = True

    def _turn_to(self, model: Any) -> None:
        """Continue with a model after a callback has run another model."""
        if self.model is not model:
            self._model = model
            self._forget_names()

    def _release(self, phase: Phase) -> None:
        function = self._functions.get((id(self.model), phase))
        if function is not None:
            function.detach()
        interrupted = next((function for function in list(self._functions.values()) if function.is_attached), None)
        if interrupted is not None:
            self._turn_to(interrupted.model)
            self._kept_functions.append(interrupted)

    def _can_record(self) -> bool:
        return not (backend_name() == "torch" and getattr(self.model, "jit_compile", False) is True)

    @fail_safe
    def _before(self, phase: Phase, batch: int | None = None) -> bool:
        """Start a step, and return whether it saves tensors that have to be recorded while it runs."""
        if batch is None:
            batches_per_call = int(getattr(self.model, "steps_per_execution", 1) or 1)
            batch = self._batches.get(phase, -1) + batches_per_call
        self._batch = self._batches[phase] = batch
        self._steps.enter_mode(phase.mode)
        self._is_in_step = True
        plan = self._begin_step(submit=False)
        return self._can_record() and plan is not None and self._has_to_record(plan, phase)

    @fail_safe
    def _after(self, phase: Phase, outputs: Any, recorded: Mapping[str, Any]) -> None:
        """Save the due tensors of a finished step."""
        if self._is_undescribed and phase is Phase.TRAIN:
            self._describe_program(self.model, self._steps.last_begun)
        try:
            if self._lifecycle.is_active():
                self._submit_step()
            plan = self._current_plan()
            if plan:
                self._save_step(plan, phase, outputs, recorded)
        finally:
            self._is_in_step = False

    def _save_step(self, plan: StepPlan, phase: Phase, outputs: Any, recorded: Mapping[str, Any]) -> None:
        self._save_custom_tensors()
        for name, value in recorded.items():
            self._capture(name, value)
        model = self.model
        if self._saves_variables(plan):
            for variable in self._find_variables(model):
                self._offer_variable(f"{variable.layer}/weights/{variable.path}:0", variable)
            if phase is Phase.TRAIN:
                values = optimizer_values(optimizers_of(model), model.trainable_variables, self._path_of)
                self._offer_variables(values)
        self._offer_logs(outputs if phase is not Phase.PREDICT else None)

    @fail_safe
    def _cancel(self) -> None:
        self._is_in_step = False
        self._steps.cancel()

    def _save_of_epoch(self, name: str, value: Any) -> None:
        """Save a number of the epoch, unless its collection is not saved or has come to its end."""
        assert self._steps.open is not None
        collection = self._collections.get(collection_of_log(name))
        config = collection.save_config
        if collection.name not in self._collections.saved or config is None:
            return
        _, mode, mode_step = self._steps.open.position
        end = config.get_save_config(mode).end_step
        if end is None or mode_step < end:
            self._belongs(name, collection.name)
            decision = SaveDecision((collection.name,), value=True, shape=False, reductions=())
            self._save(name, np.asarray(value).reshape(1) if np.ndim(value) == 0 else np.asarray(value), decision)

    def _may_record(self, phase: Phase) -> bool:
        if not (self._can_record() and self._lifecycle.is_active()) or self._steps.open is None:
            return False
        return self._asks_for_recorded(phase, self._wants)

    def _has_to_record(self, plan: StepPlan, phase: Phase) -> bool:
        key = (plan, phase)
        if key not in self._recording_plans:
            self._recording_plans[key] = self._asks_for_recorded(
                phase, lambda name, collection: self._belongs(name, collection) and plan.selects(name)
            )
        return self._recording_plans[key]

    def _asks_for_recorded(self, phase: Phase, selects: Callable[[str, str], bool]) -> bool:
        """Return whether a tensor is selected that exists only while a step runs."""
        names = [INPUTS, PREDICTIONS]
        names += [("labels", CollectionKeys.OUTPUTS)] if phase is not Phase.PREDICT else []
        for layer, _ in layers_of(self.model):
            names += [(f"{layer}/{kind}", CollectionKeys.LAYERS) for kind in ("inputs", "outputs")]
        if phase is Phase.TRAIN:
            names += [
                (f"gradients/{item.path}Grad", CollectionKeys.GRADIENTS) for item in self._find_variables(self.model)
            ]
            names.append(("gradients/Grad", CollectionKeys.GRADIENTS))  # a model may have no variables yet
        return any(selects(f"{name}{number}", collection) for name, collection in names for number in ("", "_0", "_1"))

    def _saves_variables(self, plan: StepPlan) -> bool:
        """Return whether a plan may save tensors other than logs and recorded ones."""
        return not set(plan.saved) <= {*self.default_collections, *_RECORDED} or any(
            collection.include_regex
            for collection in self._collections
            if collection.name in plan.saved and collection.name in (*self.default_collections, *_RECORDED)
        )

    def _warn_about(self, what: str) -> None:
        """Warn once why some configured collections stay empty."""
        if what in self._has_told:
            return
        asked = self._collections.saved & set(_RECORDED)
        if asked:
            self._has_told.add(what)
            LOG.warning(_NOT_IN_GRAPHS, what)

    # --- what BaseHook asks -------------------------------------------------------------------------------------------

    def _before_plan(self) -> None:
        super()._before_plan()
        self._recording_plans.clear()

    def _forget_names(self) -> None:
        super()._forget_names()
        self._recording_plans.clear()

    def _has_model(self) -> bool:
        return self._steps.last_begun >= 0 or self.model is not None

    def _is_between_trainings(self) -> bool:
        return self._is_step_complete() and not any(function.is_attached for function in self._functions.values())

    def _is_step_complete(self) -> bool:
        return not self._is_in_step and self._tapes is None

    def _detach(self) -> None:
        for function in list(self._functions.values()):
            function.detach()
        self._functions.clear()
        self._kept_functions.clear()
        super()._detach()


def _not_described(error: Exception) -> None:
    LOG.warning("the program is not described: %r", error)
