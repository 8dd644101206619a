"""The Keras hook: weights, gradients, losses, metrics, inputs and outputs of layers, optimizer variables.

Keras 3 on TensorFlow, PyTorch or JAX. The hook is a callback; loops of the script's own use `wrap_tape`.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

import keras
import numpy as np

from sagemaker_debug_ext.config.groups import Collection as BaseCollection
from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.errors import (
    SMDebugNotImplementedError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
    did_you_mean,
)
from sagemaker_debug_ext.hooks import current
from sagemaker_debug_ext.hooks.base import BaseHook, harmless
from sagemaker_debug_ext.hooks.decisions import Decision, StepPlan
from sagemaker_debug_ext.hooks.keras_collections import Collection
from sagemaker_debug_ext.hooks.keras_names import (
    NamedVariable,
    is_bias,
    layers_of,
    optimizer_values,
    optimizers_of,
    variable_path,
    variables_of,
)
from sagemaker_debug_ext.hooks.keras_steps import Phase, WatchedFunction, Watcher
from sagemaker_debug_ext.hooks.keras_values import as_it_is, backend_name, hold, is_tensor, is_tensorflow, read, view
from sagemaker_debug_ext.hooks.output import CHIEF, Worker
from sagemaker_debug_ext.hooks.statistics import compute_statistics
from sagemaker_debug_ext.hooks.steps import Captured, OpenStep
from sagemaker_debug_ext.store.keys import reduction_tensor_name
from sagemaker_debug_ext.store.messages import Array
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

if int(keras.__version__.partition(".")[0]) < 3:
    raise SMDebugRuntimeError(f"the Keras hook needs Keras 3 (found {keras.__version__}): use TensorFlow 2.16 or later")

LOG = logging.getLogger(__name__)

BIAS_PATTERN: Final = "^(?!gradient).*bias[^/]*$"
"""What biases are called; what optimizers keep for them has a further part."""

_RECORDED: Final = (
    CollectionKeys.GRADIENTS,
    CollectionKeys.LAYERS,
    CollectionKeys.INPUTS,
    CollectionKeys.OUTPUTS,
)
"""Collections whose members exist only while a step runs."""

_NOT_IN_GRAPHS: Final = "gradients, layers, inputs and outputs are not saved: %s; everything else is"


class KerasHook(BaseHook, keras.callbacks.Callback):  # type: ignore[misc]
    """Captures tensors of a Keras model: ``model.fit(..., callbacks=[hook])``.

    Each batch that Keras calls callbacks for is one step, of mode TRAIN in `fit`, EVAL in `evaluate` and in the
    validation of `fit`, PREDICT in `predict`. Saved of a step are:

    * ``<layer>/weights/<variable>:0``: variables, as they are when the step has ended;
    * ``gradients/<variable>Grad``: what the optimizer was given, without the scale of mixed precision;
    * ``<layer>/inputs``, ``<layer>/outputs``, numbered if there are several: tensors of layers;
    * ``inputs``, ``labels``, ``predictions``, numbered likewise: tensors of the whole model;
    * ``loss`` and what else the model logs, and the number ``batch`` has in its epoch;
    * ``<Optimizer>/<variable>:0``: variables of optimizers.

    The last step of an epoch also gets what the model logs for the epoch, whatever the intervals say.

    Args:
        args: As for `BaseHook`.
        kwargs: As for `BaseHook`.
    """

    default_collections: ClassVar[tuple[str, ...]] = (
        CollectionKeys.METRICS,
        CollectionKeys.LOSSES,
        CollectionKeys.SM_METRICS,
    )
    builtin_patterns: ClassVar[Mapping[str, tuple[str, ...]]] = {
        CollectionKeys.DEFAULT: (),
        CollectionKeys.ALL: (),
        CollectionKeys.WEIGHTS: (),
        CollectionKeys.BIASES: (BIAS_PATTERN,),
        CollectionKeys.GRADIENTS: (),
        CollectionKeys.LOSSES: (),
        CollectionKeys.METRICS: (),
        CollectionKeys.SM_METRICS: (),
        CollectionKeys.INPUTS: (),
        CollectionKeys.OUTPUTS: (),
        CollectionKeys.LAYERS: (),
        CollectionKeys.OPTIMIZER_VARIABLES: (),
    }
    collection_class: ClassVar[type[BaseCollection]] = Collection

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        keras.callbacks.Callback.__init__(self)
        self._functions: dict[Phase, WatchedFunction] = {}
        self._model_in_functions: Any = None
        self._registered: list[Any] = []
        self._batch = -1
        self._batches_per_call = 1
        self._can_record = True
        self._is_in_step = False
        self._last_params: Any = None
        self._variables: list[NamedVariable] | None = None
        self._paths: dict[int, str] = {}
        self._wanted: dict[tuple[str, str], bool] = {}
        self._all_due: StepPlan | None = None
        self._recording_plans: dict[tuple[StepPlan, Phase], bool] = {}
        self._has_told: set[str] = set()
        self._tapes: Any = None
        BaseHook.__init__(self, *args, **kwargs)

    @property
    def async_safe(self) -> bool:
        """Whether Keras may call other callbacks on a thread of their own; the hook is told of batches otherwise."""
        return backend_name() != "jax"

    # --- what Keras calls ---------------------------------------------------------------------------------------------

    def set_params(self, params: Any) -> None:
        """Take note of how a run is set up.

        Raises:
            SMDebugValueError: The hook is among the callbacks twice.
        """
        if params is not None and params is self._last_params:
            raise SMDebugValueError("callbacks must hold the hook once (got it twice)")
        self._last_params = params
        super().set_params(params)

    def set_model(self, model: Any) -> None:
        """Take note of the model that is about to run.

        Raises:
            SMDebugTypeError: It is no model of Keras 3.
        """
        _check_model(_without_wrapper(model))
        super().set_model(model)

    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Watch the batches of `fit`."""
        self._attach(Phase.TRAIN)

    def on_test_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Watch the batches of `evaluate`, or of the validation in `fit`."""
        self._attach(Phase.TEST)

    def on_predict_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Watch the batches of `predict`."""
        self._attach(Phase.PREDICT)

    def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Count batches from the beginning."""
        self._batch = -1

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Leave the model as it was."""
        self._release(Phase.TRAIN)

    def on_test_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Leave the model as it was."""
        self._release(Phase.TEST)

    def on_predict_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Leave the model as it was."""
        self._release(Phase.PREDICT)

    @harmless
    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Save what the model logs for the epoch with the step that is open."""
        if self._step is None or not self._accepts():
            return
        self._complete_collections()
        own = dict(_flatten(logs or {}))
        for name, value in own.items():
            # Where the open step is one of validation, its `loss` is that of validation.
            in_evaluation = self._step.position.mode is ModeKeys.EVAL
            self._save_of_epoch(name, own.get(f"val_{name}", value) if in_evaluation else value)
        if own:
            self._save_of_epoch("batch", np.int64(self._batch))

    def on_train_batch_begin(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Begin a step, where the back end gives no other way of knowing."""
        if not self._functions:
            self._before(Phase.TRAIN, batch)

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Save a step, where the back end gives no other way of knowing."""
        if not self._functions:
            self._after(Phase.TRAIN, logs, {})

    def on_test_batch_begin(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Begin a step, where the back end gives no other way of knowing."""
        if not self._functions:
            self._before(Phase.TEST, batch)

    def on_test_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Save a step, where the back end gives no other way of knowing."""
        if not self._functions:
            self._after(Phase.TEST, logs, {})

    def on_predict_batch_begin(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Begin a step, where the back end gives no other way of knowing."""
        if not self._functions:
            self._before(Phase.PREDICT, batch)

    def on_predict_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Save a step, where the back end gives no other way of knowing."""
        if not self._functions:
            self._after(Phase.PREDICT, logs, {})

    # --- what the script says -----------------------------------------------------------------------------------------

    def register_model(self, model: Any) -> None:
        """Capture inputs and outputs of a model's layers in loops of the script's own, where `wrap_tape` is used.

        Raises:
            SMDebugTypeError: It is no model of Keras 3.
        """
        _check_model(model)
        if any(known is model for known in self._registered):
            LOG.warning("model %r is registered already", model.name)
            return
        self._registered.append(model)
        self._forget_names()
        if self._tapes is not None:
            self._tapes.add_model(model)

    @as_it_is
    def wrap_tape(self, tape: Any) -> Any:
        """Capture what a gradient tape of TensorFlow sees, and return the tape.

        Each time the tape is opened a step of mode TRAIN begins, unless another captured tape is open. Works in eager
        code and inside of `tf.function`.

        Raises:
            SMDebugTypeError: It is no `tf.GradientTape`.
        """
        return self._tape_hook("wrap_tape").wrap(tape)

    @as_it_is
    def wrap_optimizer(self, optimizer: Any) -> Any:
        """Capture the variables of an optimizer in loops of the script's own, and return the optimizer.

        Raises:
            SMDebugTypeError: It is no optimizer of Keras 3.
        """
        if not isinstance(optimizer, keras.optimizers.Optimizer):
            raise SMDebugTypeError(f"optimizer must be a keras.optimizers.Optimizer (got {optimizer!r})")
        self._tape_hook("wrap_optimizer").add_optimizer(optimizer)
        return optimizer

    @as_it_is
    def save_scalar(self, name: str, value: Any, sm_metric: bool = False, timestamp: float | None = None) -> None:
        """Save a number as ``scalar/<name>``, also from inside of `tf.function`; see `BaseHook.save_scalar`."""
        if _is_symbolic(value):
            self._tape_hook("save_scalar").call_later(
                lambda number: BaseHook.save_scalar(self, name, number, sm_metric, timestamp), value
            )
        else:
            super().save_scalar(name, value, sm_metric, timestamp)

    @as_it_is
    def save_tensor(self, tensor_name: str, tensor_value: Any, collections_to_write: Any = "default") -> None:
        """Save a tensor of the script's own, also from inside of `tf.function`; see `BaseHook.save_tensor`."""
        if _is_symbolic(tensor_value):
            self._tape_hook("save_tensor").call_later(
                lambda tensor: BaseHook.save_tensor(self, tensor_name, tensor, collections_to_write), tensor_value
            )
        else:
            super().save_tensor(tensor_name, tensor_value, collections_to_write)

    def record_tensor_value(self, tensor_name: str, tensor_value: Any) -> None:
        """Save a tensor of the script's own; `save_tensor` does the same."""
        self.save_tensor(tensor_name, tensor_value)

    def add_to_collection(self, collection_name: str, variable: Any) -> None:
        """Add a variable to a collection."""
        collection = self.get_collection(collection_name)
        if isinstance(collection, Collection):
            collection.add(variable)
        self._forget_names()

    @as_it_is
    def set_gradients(self, gradients: Iterable[Any], variables: Iterable[Any] | None = None) -> None:
        """Save gradients that no captured tape or optimizer shows to the hook, with the open step.

        Args:
            gradients: One for each variable.
            variables: What they are gradients of; those that the registered models train when not given.
        """
        if variables is None:
            variables = [variable for model in self._registered for variable in model.trainable_variables]
        self._tape_hook("set_gradients").offer_gradients(list(gradients), list(variables))

    @as_it_is
    def set_optimizer_variables(self, optimizer_variables: Iterable[Any]) -> None:
        """Save variables with the open step, as members of collection ``optimizer_variables``."""
        self._offer_variables((f"{variable_path(variable)}:0", variable) for variable in optimizer_variables)

    @as_it_is
    def save_tape_logs(self, model_inputs: Any = None, outputs: Any = None) -> None:
        """Save what goes into a model as ``inputs``, and what comes out as ``predictions``, with the open step."""
        self._tape_hook("save_tape_logs").offer_batch(model_inputs, outputs)

    def save_smdebug_logs(self, logs: Mapping[str, Any] | None) -> None:
        """Save numbers with the open step, as those that a model logs."""
        self._offer_logs(logs)

    def should_save_layer(self, layer_name: str) -> bool:
        """Tell whether the open step saves inputs or outputs of a layer."""
        plan = self._current_plan()
        return plan is not None and any(
            self._belongs(f"{layer_name}/{kind}", CollectionKeys.LAYERS) and plan.selects(f"{layer_name}/{kind}")
            for kind in ("inputs", "outputs")
        )

    @contextlib.contextmanager
    def profiler(self, mode: ModeKeys = ModeKeys.TRAIN) -> Iterator[None]:
        """Have the steps begun in a ``with`` block be of that mode."""
        before = self.mode
        self.set_mode(mode)
        yield
        self.set_mode(before)

    # --- steps of Keras -----------------------------------------------------------------------------------------------

    @harmless
    def _attach(self, phase: Phase) -> None:
        if not self._accepts():
            return
        if phase is not Phase.TRAIN:
            self._batch = -1
        self._forget_names()
        model = self.model
        self._batches_per_call = int(getattr(model, "steps_per_execution", 1) or 1)
        self._can_record = not (backend_name() == "torch" and getattr(model, "jit_compile", False) is True)
        if not self._can_record:
            self._warn_about("the steps are compiled by PyTorch")
        if backend_name() == "jax":
            self._warn_about("the back end is JAX, whose steps are out of reach")
            return
        if getattr(model, f"{phase.value}_function", None) is None:
            raise SMDebugTypeError(f"model must have a {phase.value}_function when a run begins (got {model!r})")
        if model is not self._model_in_functions:
            self._functions.clear()
            self._model_in_functions = model
        if phase not in self._functions:
            watcher = Watcher(
                before=self._before,
                after=self._after,
                cancel=self._cancel,
                may_record=self._may_record,
                wants=self._wants,
                path_of=self._path_of,
                guard=self._guarded,
            )
            self._functions[phase] = WatchedFunction(model, phase, watcher)
        self._functions[phase].attach()

    def _release(self, phase: Phase) -> None:
        if phase in self._functions:
            self._functions[phase].detach()

    @harmless
    def _before(self, phase: Phase, batch: int | None = None) -> bool:
        """Begin a step; tell whether it saves anything that has to be recorded while it runs."""
        self._batch = self._batch + self._batches_per_call if batch is None else batch
        self._counters.mode = phase.mode
        self._is_in_step = True
        plan = self._begin_step(hand_over=False)
        return self._can_record and plan is not None and self._has_to_record(plan, phase)

    @harmless
    def _after(self, phase: Phase, outputs: Any, recorded: Mapping[str, Any]) -> None:
        """Save what is due of a step that has ended."""
        try:
            if self._accepts():
                self._hand_over()
            plan = self._current_plan()
            if plan:
                self._save_step(plan, phase, outputs, recorded)
        finally:
            self._is_in_step = False

    def _save_step(self, plan: StepPlan, phase: Phase, outputs: Any, recorded: Mapping[str, Any]) -> None:
        self._save_custom_tensors()
        for name, value in recorded.items():
            self._offer(name, value)
        model = self.model
        if self._saves_variables(plan):
            for variable in self._find_variables(model):
                self._offer_variable(f"{variable.layer}/weights/{variable.path}:0", variable)
            if phase is Phase.TRAIN:
                values = optimizer_values(optimizers_of(model), model.trainable_variables, self._path_of)
                self._offer_variables(values)
        self._offer_logs(outputs if phase is not Phase.PREDICT else None)

    def _offer_logs(self, logs: Any) -> None:
        for name, value in _flatten(logs) if isinstance(logs, Mapping) else ():
            self._offer_as(name, _narrow(value), _collection_of_log(name))
        if self._batch >= 0:
            self._offer_as("batch", np.int64(self._batch), CollectionKeys.METRICS)

    @harmless
    def _cancel(self) -> None:
        self._is_in_step = False
        self._cancel_step()

    @harmless
    def _guarded(self, function: Callable[..., Any], *args: Any) -> Any:
        return function(*args)

    def _save_of_epoch(self, name: str, value: Any) -> None:
        """Save a number of the epoch, unless its collection is not saved or has come to its end."""
        assert self._step is not None
        collection = self._collections.get(_collection_of_log(name))
        config = collection.save_config
        if collection.name not in self._collections.saved or config is None:
            return
        _, mode, mode_step = self._step.position
        end = config.get_save_config(mode).end_step
        if end is None or mode_step < end:
            self._belongs(name, collection.name)
            decision = Decision((collection.name,), value=True, shape=False, reductions=())
            self._save(name, np.asarray(value).reshape(1) if np.ndim(value) == 0 else np.asarray(value), decision)

    @harmless
    def _begin_tape_step(self) -> bool:
        """Begin a step of a loop of the script's own; tell whether it saves anything."""
        self._counters.mode = ModeKeys.TRAIN
        return bool(self._begin_step())

    # --- what belongs where -------------------------------------------------------------------------------------------

    def _belongs(self, name: str, collection_name: str) -> bool:
        """Make a tensor a member of a collection by what it is; always true."""
        collection = self._collections.get(collection_name)
        if isinstance(collection, Collection):
            collection.add_member(name)
        return True

    def _offer_as(self, name: str, value: Any, collection_name: str) -> None:
        self._belongs(name, collection_name)
        self._offer(name, value)

    def _offer_variable(self, name: str, variable: NamedVariable) -> None:
        """Save a variable of a model, if that is decided."""
        plan = self._current_plan()
        if plan is None:
            return
        if variable.variable.trainable and not is_bias(variable.path):
            self._belongs(name, CollectionKeys.WEIGHTS)
        decision = plan.decide(name)
        if decision is not None:
            self._save(name, read(variable.variable), decision)

    def _offer_variables(self, values: Iterable[tuple[str, Any]]) -> None:
        """Save variables and numbers of optimizers, if that is decided."""
        plan = self._current_plan()
        if plan is None:
            return
        for name, variable in values:
            self._belongs(name, CollectionKeys.OPTIMIZER_VARIABLES)
            decision = plan.decide(name)
            if decision is not None:
                self._save(name, variable if isinstance(variable, np.generic) else read(variable), decision)

    def _wants(self, name: str, collection_name: str) -> bool:
        """Tell whether a tensor may be saved at any step."""
        key = (name, collection_name)
        if key not in self._wanted:
            self._belongs(name, collection_name)
            if self._all_due is None:
                self._complete_collections()
                self._all_due = StepPlan(list(self._collections), frozenset(self._collections.saved))
            self._wanted[key] = self._all_due.selects(name)
        return self._wanted[key]

    def _may_record(self, phase: Phase) -> bool:
        if not (self._can_record and self._accepts()) or self._step is None:
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
        """Tell whether anything is selected that exists only while a step runs."""
        names = [("inputs", CollectionKeys.INPUTS), ("predictions", CollectionKeys.OUTPUTS)]
        names += [("labels", CollectionKeys.OUTPUTS)] if phase is not Phase.PREDICT else []
        for layer, _ in layers_of(self.model):
            names += [(f"{layer}/{kind}", CollectionKeys.LAYERS) for kind in ("inputs", "outputs")]
        if phase is Phase.TRAIN:
            names += [
                (f"gradients/{each.path}Grad", CollectionKeys.GRADIENTS) for each in self._find_variables(self.model)
            ]
            names.append(("gradients/Grad", CollectionKeys.GRADIENTS))  # a model may have no variables yet
        return any(selects(f"{name}{number}", collection) for name, collection in names for number in ("", "_0", "_1"))

    def _saves_variables(self, plan: StepPlan) -> bool:
        """Tell whether a plan may save anything but numbers that are logged, and what is recorded."""
        return not set(plan.saved) <= {*self.default_collections, *_RECORDED} or any(
            collection.include_regex
            for collection in self._collections
            if collection.name in plan.saved and collection.name in (*self.default_collections, *_RECORDED)
        )

    def _find_variables(self, model: Any) -> list[NamedVariable]:
        """Return the variables of a model, once it has any."""
        if self._variables is None:
            found = variables_of(model)
            if not getattr(model, "built", False) or not found:
                return found
            self._variables = found
        return self._variables

    def _path_of(self, variable: Any) -> str:
        """Return the name of a variable."""
        if id(variable) not in self._paths:
            for model in {id(each): each for each in (self._model, *self._registered) if each is not None}.values():
                self._paths.update({id(each.variable): each.path for each in variables_of(_without_wrapper(model))})
        return self._paths.get(id(variable)) or variable_path(variable)

    def _forget_names(self) -> None:
        self._variables = None
        self._all_due = None
        self._paths.clear()
        self._wanted.clear()
        self._recording_plans.clear()

    def _warn_about(self, what: str) -> None:
        """Say once why some collections that were asked for stay empty."""
        if what in self._has_told:
            return
        asked = self._collections.saved & set(_RECORDED)
        if asked:
            self._has_told.add(what)
            LOG.warning(_NOT_IN_GRAPHS, what)

    def _tape_hook(self, what: str) -> Any:
        """Return what captures loops of the script's own."""
        if not is_tensorflow():
            raise SMDebugNotImplementedError(
                f"{what} exists with TensorFlow only (the back end of Keras is {backend_name()}): "
                "use model.fit, or the hook of that framework"
            )
        if self._tapes is None:
            from sagemaker_debug_ext.hooks.keras_tapes import HookAccess, TapeCapture  # noqa: PLC0415 - TensorFlow

            access = HookAccess(
                begin=self._begin_tape_step,
                is_saving=self._accepts,
                offer=self._offer,
                save_waiting=self._save_custom_tensors,
                wants=self._wants,
                path_of=self._path_of,
                get_collection=self.get_collection,
                guard=self._guarded,
            )
            self._tapes = TapeCapture(access)
            for model in self._registered:
                self._tapes.add_model(model)
        return self._tapes

    # --- what BaseHook asks -------------------------------------------------------------------------------------------

    def _find_worker(self) -> Worker:
        if is_tensorflow():
            import tensorflow as tf  # noqa: PLC0415 - not there with other back ends

            resolver = tf.distribute.get_strategy().cluster_resolver
            if resolver is not None and resolver.task_type in ("chief", "worker"):
                spec = resolver.cluster_spec().as_dict()
                chiefs = len(spec.get("chief", ()))
                rank = resolver.task_id + (chiefs if resolver.task_type == "worker" else 0)
                return Worker(f"worker_{rank}", chiefs + len(spec.get("worker", ())))
        return Worker(CHIEF, 1)

    def _before_plan(self) -> None:
        models = [each for each in (self._model, *self._registered) if each is not None]
        names = {id(layer): name for model in models for name, layer in layers_of(_without_wrapper(model))}
        for collection in self._collections:
            if isinstance(collection, Collection):
                collection.resolve_layers(names)
        self._all_due = None
        self._wanted.clear()
        self._recording_plans.clear()

    def _is_step_complete(self) -> bool:
        return not self._is_in_step and self._tapes is None

    def _copy_value(self, value: Any) -> Any:
        return hold(value)

    def _view(self, value: Any) -> Array:
        return view(value)

    def _to_array(self, value: Any) -> Array:
        return view(value)

    def _reduce(self, value: Any, reductions: Iterable[Reduction]) -> Iterable[tuple[Reduction, Any]]:
        return super()._reduce(view(value), reductions)

    def _save_reductions(
        self, step: OpenStep, name: str, value: Any, reductions: tuple[Reduction, ...], now: float
    ) -> None:
        for reduction, number in self._reduce(value, reductions):
            # The names of TensorFlow's tensors keep their ":0" (store format, section 2.6).
            step.tensors[reduction_tensor_name(reduction.name, reduction.abs, name)] = Captured(number, now)

    def _save_statistics(self, step: OpenStep, name: str, value: Any, now: float) -> None:
        for statistic, number in compute_statistics(self._view(value), self.statistics).items():
            step.tensors[reduction_tensor_name(statistic, False, name)] = Captured(number, now)

    def _detach(self) -> None:
        for function in self._functions.values():
            function.detach()
        self._functions.clear()
        self._model_in_functions = None
        if self._tapes is not None:
            self._tapes.detach()
        self._registered.clear()
        self._forget_names()


def _check_model(model: Any) -> None:
    if not isinstance(model, keras.Model):
        raise SMDebugTypeError(f"model must be a keras.Model of Keras {keras.__version__} (got {model!r})")


def _without_wrapper(model: Any) -> Any:
    """Return the model inside what distributes it over processes of PyTorch."""
    return getattr(model, "module", model) if type(model).__name__ == "DistributedDataParallel" else model


def _flatten(logs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the entries of logs that may hold further ones, as Keras shows them."""
    for name, value in logs.items():
        if isinstance(value, Mapping):
            yield from _flatten(value)
        else:
            yield name, value


def _narrow(value: Any) -> Any:
    """Return a number as Keras computed it, which is in single precision."""
    return np.float32(value) if isinstance(value, float) else value


def _collection_of_log(name: str) -> str:
    is_loss = name in ("loss", "val_loss") or name.endswith("_loss")
    return CollectionKeys.LOSSES if is_loss else CollectionKeys.METRICS


def _is_symbolic(value: Any) -> bool:
    return is_tensorflow() and is_tensor(value) and not hasattr(value, "numpy")


class SessionHook:
    """What captured sessions of TensorFlow 1, which TensorFlow has given up.

    Raises:
        SMDebugNotImplementedError: Always.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        raise SMDebugNotImplementedError(
            f"{type(self).__name__} does not exist any more, as TensorFlow has no sessions and estimators: "
            "use KerasHook, as a callback of model.fit or with wrap_tape"
        )

    @classmethod
    def create_from_json_file(cls, json_file_path: str | None = None) -> SessionHook:
        """Raise the same error."""
        return cls(json_file_path)


class EstimatorHook(SessionHook):
    """What captured estimators of TensorFlow 1, which TensorFlow has given up.

    Raises:
        SMDebugNotImplementedError: Always.
    """


_HOOK_TYPES: Final = {"keras": KerasHook, "session": SessionHook, "estimator": EstimatorHook}


def get_hook(
    hook_type: str | None = None, json_config_path: str | None = None, create_if_not_exists: bool = False
) -> KerasHook | None:
    """Return the hook of this process.

    Args:
        hook_type: ``keras``, which is also meant when not given.
        json_config_path: The hook configuration file to create it from; None means SageMaker's.
        create_if_not_exists: Create it from that file if there is none.

    Returns:
        None if there is no hook, if the file is missing, or if the environment variable ``USE_SMDEBUG`` says no.

    Raises:
        SMDebugNotImplementedError: The type is ``session`` or ``estimator``.
        SMDebugValueError: There is no such type.
    """
    if hook_type is not None and hook_type not in _HOOK_TYPES:
        hint = did_you_mean(hook_type, _HOOK_TYPES)
        raise SMDebugValueError(f"hook_type must be one of {', '.join(_HOOK_TYPES)} (got {hook_type!r}){hint}")
    if hook_type in ("session", "estimator"):
        _HOOK_TYPES[hook_type]()
    return current.get_hook(KerasHook, json_config_path, create_if_not_exists)


def set_hook(hook: KerasHook) -> None:
    """Make `hook` the hook of this process.

    Raises:
        SMDebugTypeError: It is no Keras hook.
    """
    current.set_hook(hook, KerasHook)


def del_hook() -> None:
    """Forget the hook of this process; it is not closed."""
    current.del_hook()
