"""Names, collections and saving of tensors, shared by all ways of capture in Keras."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

import keras
import numpy as np

from sagemaker_debug_ext.config.collection import Collection as BaseCollection
from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.errors import SMDebugTypeError, brief
from sagemaker_debug_ext.hooks.base import BaseHook
from sagemaker_debug_ext.hooks.capture.save_plan import StepPlan
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured, StepBuffer
from sagemaker_debug_ext.hooks.fail_safe import fail_safe
from sagemaker_debug_ext.hooks.keras.backend import is_tensorflow, read, snapshot, view
from sagemaker_debug_ext.hooks.keras.collections import Collection
from sagemaker_debug_ext.hooks.keras.names import NamedVariable, PathNumbers, is_bias, layers_of, variables_of
from sagemaker_debug_ext.hooks.output.trial_output import CHIEF, Worker
from sagemaker_debug_ext.hooks.statistics.summaries import compute_statistics
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.store.format.messages import Array, to_array
from sagemaker_debug_ext.vocabulary import CollectionKeys

BIAS_PATTERN: Final = "^(?!gradient).*bias[^/]*$"
"""Pattern of the names of biases; names of their optimizer variables have an additional part."""


class TensorHook(BaseHook):
    """Names the tensors of Keras models, puts them into collections, and saves them.

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
    model_hint: ClassVar[str] = "pass it among the callbacks of fit(), or wrap the tape of a loop with hook.wrap_tape()"
    loss_hint: ClassVar[str] = "compile the model with a loss, or save it with hook.save_tensor() or hook.save_scalar()"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._model: Any = None
        self._registered: list[Any] = []
        self._batch = -1
        self._variables: list[NamedVariable] | None = None
        self._paths: dict[int, str] = {}
        self._path_numbers = PathNumbers()
        self._wanted: dict[tuple[str, str], bool] = {}
        self._all_due: StepPlan | None = None
        super().__init__(*args, **kwargs)

    @fail_safe
    def _guarded(self, function: Callable[..., Any], *args: Any) -> Any:
        return function(*args)

    # --- what belongs where -------------------------------------------------------------------------------------------

    def _belongs(self, name: str, collection_name: str) -> bool:
        """Add a tensor to a collection by its kind; always returns True."""
        collection = self._collections.get(collection_name)
        if isinstance(collection, Collection) and collection.add_member(name):
            self._steps.reconsider(name)
        return True

    def _offer_as(self, name: str, value: Any, collection_name: str) -> None:
        self._belongs(name, collection_name)
        self._capture(name, value)

    def _offer_variable(self, name: str, variable: NamedVariable) -> None:
        """Save a variable of a model, if it is due."""
        plan = self._current_plan()
        if plan is None:
            return
        if variable.variable.trainable and not is_bias(variable.path):
            self._belongs(name, CollectionKeys.WEIGHTS)
        decision = plan.decide(name)
        if decision is not None:
            self._save(name, read(variable.variable), decision)

    def _offer_variables(self, values: Iterable[tuple[str, Any]]) -> None:
        """Save variables and numbers of optimizers that are due."""
        plan = self._current_plan()
        if plan is None:
            return
        for name, variable in values:
            self._belongs(name, CollectionKeys.OPTIMIZER_VARIABLES)
            decision = plan.decide(name)
            if decision is not None:
                self._save(name, variable if isinstance(variable, np.generic) else read(variable), decision)

    def _offer_logs(self, logs: Any) -> None:
        for name, value in flatten(logs) if isinstance(logs, Mapping) else ():
            self._offer_as(name, _narrow(value), collection_of_log(name))
        if self._batch >= 0:
            self._offer_as("batch", np.int64(self._batch), CollectionKeys.METRICS)

    def _wants(self, name: str, collection_name: str) -> bool:
        """Return whether a tensor may be saved at any step."""
        key = (name, collection_name)
        if key not in self._wanted:
            self._belongs(name, collection_name)
            if self._all_due is None:
                self._steps.save_plan()
                self._all_due = StepPlan(list(self._collections), frozenset(self._collections.saved))
            self._wanted[key] = self._all_due.selects(name)
        return self._wanted[key]

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
            for model in {id(model): model for model in (self._model, *self._registered) if model is not None}.values():
                self._paths.update({id(item.variable): item.path for item in variables_of(without_wrapper(model))})
        return self._paths.get(id(variable)) or self._path_numbers.path_of(variable)

    def _forget_names(self) -> None:
        self._variables = None
        self._all_due = None
        self._paths.clear()
        self._wanted.clear()

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
        models = [model for model in (self._model, *self._registered) if model is not None]
        names = {id(layer): name for model in models for name, layer in layers_of(without_wrapper(model))}
        for collection in self._collections:
            if isinstance(collection, Collection):
                collection.resolve_layers(names)
        self._all_due = None
        self._wanted.clear()

    def _copy_value(self, value: Any) -> Any:
        return snapshot(value)

    def _view(self, value: Any) -> Array:
        return view(value)

    def _to_array(self, value: Any) -> Array:
        return view(value)

    def _reduce(self, value: Any, reductions: Iterable[Reduction]) -> Iterable[tuple[Reduction, Any]]:
        return super()._reduce(view(value), reductions)

    def _save_reductions(
        self, step: StepBuffer, name: str, value: Any, reductions: tuple[Reduction, ...], now: float
    ) -> None:
        for reduction, number in self._reduce(value, reductions):
            # TensorFlow's tensor names keep their ":0" (store format, section 2.6).
            step.tensors[reduction_tensor_name(reduction.name, reduction.abs, name)] = Captured(number, now)

    def _save_statistics(self, step: StepBuffer, name: str, value: Any, now: float) -> None:
        for statistic, number in compute_statistics(self._view(value), self.statistics).items():
            step.tensors[reduction_tensor_name(statistic, False, name)] = Captured(number, now)


def check_model(model: Any) -> None:
    """Raise if `model` is not a model of Keras 3."""
    if not isinstance(model, keras.Model):
        raise SMDebugTypeError(f"model must be a keras.Model of Keras {keras.__version__} (got {brief(model)})")


def without_wrapper(model: Any) -> Any:
    """Return the model inside PyTorch's wrapper for distributed training."""
    return getattr(model, "module", model) if type(model).__name__ == "DistributedDataParallel" else model


def flatten(logs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the entries of nested logs with the names that Keras shows."""
    for name, value in logs.items():
        if isinstance(value, Mapping):
            yield from flatten(value)
        else:
            yield name, value


def _narrow(value: Any) -> Any:
    """Return a logged value as an array; numbers are in single precision, in which Keras computes them."""
    if isinstance(value, float):
        return np.float32(value)
    return value if hasattr(value, "shape") else to_array(value)


def collection_of_log(name: str) -> str:
    """Return the collection of a logged value."""
    is_loss = name in ("loss", "val_loss") or name.endswith("_loss")
    return CollectionKeys.LOSSES if is_loss else CollectionKeys.METRICS
