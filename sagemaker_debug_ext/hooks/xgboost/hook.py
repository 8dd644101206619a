"""The XGBoost hook: metrics, predictions, feature importances, contributions to predictions, and trees."""

from __future__ import annotations

import logging
import re
import time
import weakref
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

import attrs
import xgboost as xgb
from xgboost import collective
from xgboost.callback import TrainingCallback

from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError, brief
from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.base import BaseHook
from sagemaker_debug_ext.hooks.capture.save_plan import RAW, StepPlan
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured, StepBuffer
from sagemaker_debug_ext.hooks.fail_safe import fail_safe, script_call
from sagemaker_debug_ext.hooks.output.trial_output import Worker
from sagemaker_debug_ext.hooks.xgboost.collections import (
    BASE_VALUE,
    BUILTIN_PATTERNS,
    IMPORTANCES,
    contributors,
    select_kinds,
)
from sagemaker_debug_ext.hooks.xgboost.matrices import as_matrix
from sagemaker_debug_ext.hooks.xgboost.models import OF_ONE_MODEL, ModelKind, number, parameter_value
from sagemaker_debug_ext.hooks.xgboost.trees import describe_refreshed_round, describe_round, tree_table
from sagemaker_debug_ext.store.format.program import ProgramRecord
from sagemaker_debug_ext.vocabulary import CollectionKeys

LOG = logging.getLogger(__name__)

OLDEST_VERSION: Final = (2, 1)

_NEEDS: Final[Mapping[str, str]] = {
    CollectionKeys.PREDICTIONS: "validation_data",
    CollectionKeys.LABELS: "validation_data",
    CollectionKeys.AVERAGE_SHAP: "train_data",
    CollectionKeys.FULL_SHAP: "train_data",
}
"""Collection → the attribute of the hook that it requires."""

_SHAP: Final = (CollectionKeys.AVERAGE_SHAP, CollectionKeys.FULL_SHAP)


@attrs.define(eq=False)
class _Training:
    """The training in progress.

    Args:
        model: The model that is trained.
        kind: Properties of the model.
        first_round: Number of rounds of the model before the training.
        epoch: The latest round, counted from 0 in this training.
        is_open: Whether that round has not been captured yet.
        evals_log: The metrics of all rounds.
    """

    model: weakref.ref[Any]
    kind: ModelKind
    first_round: int
    epoch: int = -1
    is_open: bool = False
    evals_log: Mapping[str, Mapping[str, list[Any]]] = attrs.field(factory=dict)

    def has_finished_round(self, model: Any) -> bool:
        """Return whether the latest round was completed."""
        counts = [len(values) for metrics in self.evals_log.values() for values in metrics.values()]
        done = min(counts) if counts else model.num_boosted_rounds() - self.first_round
        return done > self.epoch


if TYPE_CHECKING:
    from xgboost.callback import TrainingCallback as _Callback
else:
    _Callback = object  # the hook is registered below, so that a class can name TrainingCallback before it

_CALLS: Final = ("before_training", "before_iteration", "after_iteration", "after_training")
"""The methods that XGBoost calls."""


class Hook(BaseHook, _Callback):  # type: ignore[misc, unused-ignore]
    """Captures tensors of an XGBoost job: ``xgboost.train(..., callbacks=[hook])``.

    Each boosting round is one step, with the number of the round within the model. The tensors of a step are:

    * ``<data>-<metric>``: metrics; with `xgboost.cv` the mean, and ``<data>-<metric>-std``;
    * ``hyperparameters/<name>``: hyperparameters from the script;
    * ``predictions`` and ``labels`` of the validation data;
    * ``feature_importance/<kind>/<feature>``: normalized importances of the used features;
    * ``average_shap/<feature>``: signed mean contribution of a feature to the predictions for the training data;
    * ``full_shap/<feature>``: contributions of all features to each prediction, one row per row of the data, with a
      column for each feature and a last one for the base value; every feature's tensor holds the same values;
    * ``trees/<column>``: all trees of the round, one row per node.

    Only saved collections have overhead, and only in saved rounds.

    Args:
        args: As for `BaseHook`; a `reduction_config` has no effect.
        hyperparameters: Name → value, for collection ``hyperparameters``.
        train_data: Data for which contributions are computed: an `xgboost.DMatrix`, or a file and its format (``csv``
            with the label in the first column, or ``libsvm``).
        validation_data: Data for predictions and labels, in the form of `train_data`.
        kwargs: As for `BaseHook`.

    Raises:
        SMDebugTypeError: An argument has the wrong type.
        SMDebugValueError: An argument is invalid, or a file holds values that are not numbers.
    """

    default_collections: ClassVar[tuple[str, ...]] = (CollectionKeys.METRICS,)
    builtin_patterns: ClassVar[Mapping[str, tuple[str, ...]]] = BUILTIN_PATTERNS
    default_save_interval: ClassVar[int] = 10
    expected_collections: ClassVar[tuple[str, ...]] = (CollectionKeys.METRICS,)
    model_hint: ClassVar[str] = "pass it among the callbacks of xgboost.train() or of an estimator"
    loss_hint: ClassVar[str] = "pass evals to xgboost.train(), or eval_set to fit()"

    def __init__(
        self,
        *args: Any,
        hyperparameters: Mapping[str, Any] | None = None,
        train_data: Any = None,
        validation_data: Any = None,
        **kwargs: Any,
    ) -> None:
        self._training: _Training | None = None
        self._has_trained_model = False
        self._written: StepBuffer | None = None
        self._wanted: dict[StepPlan, frozenset[str]] = {}
        self._features: list[str] = []
        self.hyperparameters = hyperparameters
        self.train_data = train_data
        self.validation_data = validation_data
        super().__init__(*args, **kwargs)
        if self.reduction_config is not None:
            self.reduction_config = None
            LOG.warning("reduction_config has no effect: the XGBoost hook saves values only")

    @classmethod
    def hook_from_config(cls, json_config_path: str | None = None) -> Hook:
        """Return the result of `create_from_json_file`; an older name of that method."""
        return cls.create_from_json_file(json_config_path)

    # --- what the script says -----------------------------------------------------------------------------------------

    @property
    def hyperparameters(self) -> Mapping[str, Any] | None:
        """Name → value, for collection ``hyperparameters``."""
        return self._hyperparameters

    @hyperparameters.setter
    def hyperparameters(self, values: Mapping[str, Any] | None) -> None:
        if values is not None and not isinstance(values, Mapping):
            raise SMDebugTypeError(f"hyperparameters must be a dictionary (got {brief(values)})")
        self._hyperparameters = values

    @property
    def train_data(self) -> Any:
        """The matrix for which contributions are computed."""
        return self._train_data

    @train_data.setter
    def train_data(self, data: Any) -> None:
        self._train_data = as_matrix(data, "train_data")

    @property
    def validation_data(self) -> Any:
        """The matrix for predictions and labels."""
        return self._validation_data

    @validation_data.setter
    def validation_data(self, data: Any) -> None:
        self._validation_data = as_matrix(data, "validation_data")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Hooks of smdebug were no callbacks, so scripts derive from both, XGBoost's class with its empty methods first.
        for name in _CALLS:
            if getattr(cls, name) is getattr(TrainingCallback, name):
                setattr(cls, name, getattr(Hook, name))

    def __copy__(self) -> Hook:
        """Return the hook itself, because there is one hook per trial."""
        return self

    def __deepcopy__(self, _: Any) -> Hook:
        """Return the hook itself, because scikit-learn copies the parameters of estimators."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a no-op callback, because an estimator may be stored or sent to another process."""
        return TrainingCallback, ()

    # --- what XGBoost calls -------------------------------------------------------------------------------------------

    def before_training(self, model: Any) -> Any:
        """Check that all configured collections can be saved.

        Raises:
            SMDebugTypeError: `model` is not an XGBoost model.
            SMDebugValueError: Data that a collection needs are missing, or do not fit the model.
        """
        if not self._is_made:
            LOG.error("nothing is captured: the hook could not be created, and the script has dropped the error")
            return model
        if not isinstance(model, xgb.Booster) and not hasattr(model, "cvfolds"):
            raise SMDebugTypeError(f"model must be an xgboost.Booster (got {brief(model)})")
        if self._training is not None and self._training.model() is model:
            LOG.warning("the hook is among the callbacks twice; it captures once")
        elif self._lifecycle.use():
            kind = self._look_at(model)
            self._training = None if kind is None else self._prepare(model, kind)
            self._has_trained_model = True
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:  # noqa: ARG002
        """Start a step; training always continues."""
        if self._training is not None and self._training.epoch != epoch:
            self._begin_round(self._training, epoch, evals_log)
        return False

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:  # noqa: ARG002
        """Capture the finished round; return whether a rule of a self-managed job has asked to stop training."""
        if self._training is not None and self._training.is_open:
            self._capture_round(self._training, model)
        return self._is_made and self.should_stop

    def after_training(self, model: Any) -> Any:
        """Write the last round, so that it is complete when training returns."""
        training, self._training = self._training, None
        if training is not None:
            if training.is_open:  # another callback has stopped training before this one was called
                self._capture_last_round(training, model)
            self._write_last_round()
        return model

    # --- inside -------------------------------------------------------------------------------------------------------

    @property
    def _is_made(self) -> bool:
        """Whether the constructor has succeeded; a subclass may go on after an error in it."""
        return "_lifecycle" in vars(self)

    def _cancel_round(self) -> None:
        """Reuse the number of an unfinished round for the next one, unless the script has saved values with it."""
        step = self._steps.open
        if step is not None and not step:
            self._written = None
            self._steps.cancel()

    @fail_safe
    def _look_at(self, model: Any) -> ModelKind:
        """Return the kind of a model, from XGBoost's description, whose form may change in later versions."""
        if self._training is not None and self._training.is_open:  # an exception has ended the previous training
            self._cancel_round()
        return ModelKind.of(model)

    @script_call
    def _prepare(self, model: Any, kind: ModelKind) -> _Training:
        self._features = kind.features
        self._wanted.clear()
        for collection in _SHAP:
            if BASE_VALUE in self._features:
                self.get_collection(collection).add_tensor_name(f"{collection}/{BASE_VALUE}")
        self._check_data(kind)
        settings = {str(name): value for name, value in (self.hyperparameters or {}).items() if value is not None}
        self._dispatcher.describe_program(
            ProgramRecord(framework="XGBoost", framework_version=xgb.__version__, parameters=settings)
        )
        first = kind.num_rounds
        counters = self._steps.counters
        if first and (self._steps.last_begun < 0 or first > counters.last_global_step + 1):
            counters.resume_after(first - 1, {})
        return _Training(weakref.ref(model), kind, first)

    def _check_data(self, kind: ModelKind) -> None:
        """Raise for collections that would fail during training, and warn about those that stay empty."""
        saved = [collection.name for collection in self._collections if collection.name in self._collections.saved]
        wanted = self._select(saved)
        if CollectionKeys.HYPERPARAMETERS in self._collections.saved and not self.hyperparameters:
            self._collections.note_told(CollectionKeys.HYPERPARAMETERS)
            LOG.warning("collection 'hyperparameters' stays empty: the hook was given none")
        if not wanted:
            return
        lacking = sorted(wanted & kind.lacking)
        if lacking and kind.is_ensemble and not self._collections.saves_every:
            self._refuse(f"collections must be of one model, and xgboost.cv trains several (got {', '.join(lacking)})")
        elif lacking:
            LOG.warning("%s stay empty: %s", ", ".join(lacking), kind.reason)
        for name in sorted(wanted - kind.lacking):
            needed = _NEEDS.get(name)
            if needed is not None:
                self._check_matrix(getattr(self, needed), needed, name, kind)

    def _check_matrix(self, matrix: Any, needed: str, collection: str, kind: ModelKind) -> None:
        if matrix is None:
            if self._collections.saves_every:
                LOG.warning("collection %r stays empty: the hook has no %s", collection, needed)
            else:
                self._refuse(f"{needed} must be given where collection {collection!r} is saved (got None)")
            return
        problem = kind.find_mismatch(matrix)
        if problem is None and collection == CollectionKeys.LABELS and not matrix.get_label().size:
            problem = "it has no labels"
        if problem is not None:
            self._refuse(f"{needed} must go with the model and with collection {collection!r}: {problem}")

    def _select(self, collections: Iterable[str]) -> frozenset[str]:
        members = [self._collections.get(name) for name in collections]
        return select_kinds(members, self._features, self.hyperparameters or ())

    def _refuse(self, problem: str) -> None:
        raise SMDebugValueError(problem)

    @fail_safe
    def _begin_round(self, training: _Training, epoch: int, evals_log: Any) -> None:
        training.epoch, training.evals_log, training.is_open = epoch, evals_log, True
        self._save_custom_tensors()  # tensors that callbacks saved after the previous round was captured
        self._begin_step()

    @fail_safe
    def _capture_last_round(self, training: _Training, model: Any) -> None:
        if training.has_finished_round(model):
            # Early stopping may already have truncated the model to its best round.
            self._capture_round(
                training, model, is_whole=model.num_boosted_rounds() > training.first_round + training.epoch
            )
        else:
            self._cancel_round()

    @fail_safe
    def _capture_round(self, training: _Training, model: Any, is_whole: bool = True) -> None:
        training.is_open = False
        plan = self._current_plan()
        if not plan:
            return
        self._save_custom_tensors()
        self._offer_metrics(training.evals_log)
        if plan not in self._wanted:
            self._wanted[plan] = self._select(plan.saved) - training.kind.lacking
        wanted = self._wanted[plan] - (frozenset() if is_whole else OF_ONE_MODEL)
        if CollectionKeys.HYPERPARAMETERS in wanted:
            self._offer_hyperparameters()
        if CollectionKeys.PREDICTIONS in wanted and self.validation_data is not None:
            self._capture("predictions", model.predict(self.validation_data))
        if CollectionKeys.LABELS in wanted and self.validation_data is not None:
            self._capture("labels", _labels(self.validation_data))
        if CollectionKeys.FEATURE_IMPORTANCE in wanted:
            self._offer_importance(model)
        if not wanted.isdisjoint(_SHAP) and self.train_data is not None:
            self._offer_contributions(model)
        if CollectionKeys.TREES in wanted:
            self._offer_trees(training, model)

    def _capture(self, name: str, value: Any) -> None:
        plan = self._current_plan()
        decision = plan.decide(name) if plan else None
        if decision is not None:
            # The values are created for the hook, so no copy is needed; views would keep their base array alive.
            own = value if value.base is None else value.copy()
            self._save(name, own, decision, Captured(own, time.time()))

    def _offer_metrics(self, evals_log: Mapping[str, Mapping[str, list[Any]]]) -> None:
        collection = self._collections.get(CollectionKeys.METRICS)
        for data, metrics in evals_log.items():
            for metric, values in metrics.items():
                name, value = f"{data}-{metric}", values[-1]
                if isinstance(value, tuple):
                    value, deviation = value
                    self._capture(f"{name}-std", number(deviation))
                if not collection.matches(name):
                    collection.add_tensor_name(name)
                self._capture(name, number(value))

    def _offer_hyperparameters(self) -> None:
        for name, value in (self.hyperparameters or {}).items():
            if value is not None:
                self._capture(f"hyperparameters/{name}", parameter_value(value))

    def _offer_importance(self, model: Any) -> None:
        for kind in IMPORTANCES:
            scores = model.get_score(importance_type=kind)
            total = sum(scores.values())
            for feature, score in scores.items() if total else ():
                self._capture(f"feature_importance/{kind}/{feature}", number(score / total))

    def _offer_contributions(self, model: Any) -> None:
        contributions = model.predict(self.train_data, pred_contribs=True)
        averages = contributions.mean(axis=tuple(range(contributions.ndim - 1)))
        for column, feature in enumerate(contributors(self._features)):
            self._capture(f"full_shap/{feature}", contributions)
            self._capture(f"average_shap/{feature}", averages[column : column + 1])

    def _offer_trees(self, training: _Training, model: Any) -> None:
        describe = describe_refreshed_round if training.kind.is_refreshed else describe_round
        trees = describe(model, training.first_round + training.epoch)
        first = training.kind.num_trees + training.epoch * len(trees)
        for column, values in tree_table(trees, first).items():
            self._capture(f"trees/{column}", values)

    # --- what BaseHook asks -------------------------------------------------------------------------------------------

    def _find_worker(self) -> Worker:
        return Worker(f"worker_{collective.get_rank()}", collective.get_world_size())

    def _before_plan(self) -> None:
        self._wanted.clear()
        for collection in self._collections:
            if collection.reduction_config not in (None, RAW):
                collection.reduction_config = None
                LOG.warning("reductions of collection %r have no effect: only values are saved", collection.name)

    def _has_model(self) -> bool:
        return self._has_trained_model

    def _is_step_complete(self) -> bool:
        return self._training is None or not self._training.is_open

    def _continues_counting(self) -> bool:
        # A model that is trained further has its own count, by which rounds lost with an earlier run come again.
        return self._training is None or not self._training.first_round

    @fail_safe
    def _write_last_round(self) -> None:
        """Write the open step now; it is written again if something is added to it later."""
        with self._lock:
            steps = self._steps
            if steps.open is None or self._dispatcher.flight_recorder is not None or not self._lifecycle.is_active():
                return
            self._recorder.flush_scalars(steps.open, steps.counters.mode, is_final=True)
            self._save_custom_tensors()
            steps.split()
            self._written = steps.ended
            self._submit_step()
        self._dispatcher.flush()

    def _before_end(self, step: StepBuffer) -> None:
        written, self._written = self._written, None
        if step and written is not None:
            step.tensors = {**written.tensors, **step.tensors}
            step.summaries = {**written.summaries, **step.summaries}
            step.summary_values = {**written.summary_values, **step.summary_values}

    def _detach(self) -> None:
        self._training = None


TrainingCallback.register(Hook)


def _labels(matrix: Any) -> Any:
    """Return the labels of a matrix, one per row."""
    labels = matrix.get_label()
    return labels if labels.size == matrix.num_row() else labels.reshape(matrix.num_row(), -1)


get_hook, set_hook = registry.accessors(Hook, create_if_not_exists=True)


def check_version(version: str) -> None:
    """Raise if the hook does not support the version of XGBoost.

    Raises:
        SMDebugRuntimeError: The version is too old.
    """
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < OLDEST_VERSION:
        oldest = ".".join(map(str, OLDEST_VERSION))
        raise SMDebugRuntimeError(f"the XGBoost hook needs version {oldest} of xgboost or a newer one (got {version})")


check_version(xgb.__version__)
