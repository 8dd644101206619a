"""Boosted trees, by XGBoost: the jobs of the benchmark that have no layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import xgboost

from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.vocabulary import ModeKeys

ROUNDS, VALIDATION_ROWS = 30, 200
PATTERNS = {
    "losses": ["^(train|validation)-"], "metrics": ["^(train|validation)-"], "labels": ["^labels$"],
    "predictions": ["^predictions$"], "feature_importance": ["^feature_importance/"], "trees": ["^trees/"],
}  # fmt: skip


@attrs.define
class BoostingJob:
    """What a run does; faults change it."""

    x: np.ndarray
    y: np.ndarray
    x_valid: np.ndarray
    y_valid: np.ndarray
    parameters: dict[str, Any]
    rounds: int = ROUNDS


def make(kind: str, seed: int, rows: int = 400) -> BoostingJob:
    """Return the sound job of a kind: binary, classes or regression."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows + VALIDATION_ROWS, 6)).astype(np.float32)
    score = x[:, 0] + x[:, 1] * x[:, 2] + 0.5 * x[:, 3] + 0.5 * x[:, 4] + 0.3 * rng.normal(size=len(x))
    parameters: dict[str, Any] = {"max_depth": 3, "eta": 0.2, "seed": seed, "nthread": 1}
    if kind == "binary":
        y = score > 0
        parameters |= {"objective": "binary:logistic", "eval_metric": "logloss"}
    elif kind == "classes":
        y = np.digitize(score, [-0.8, 0.8])
        parameters |= {"objective": "multi:softprob", "num_class": 3, "eval_metric": "mlogloss"}
    else:
        y = score
        parameters |= {"objective": "reg:squarederror", "eval_metric": "rmse"}
    y = y.astype(np.float32)
    return BoostingJob(x[:rows], y[:rows], x[rows:], y[rows:], parameters)


class _Saving(xgboost.callback.TrainingCallback):
    """Saves what the hook for XGBoost saves, at each round."""

    def __init__(self, folder: str, validation: xgboost.DMatrix) -> None:
        self._trial = SmallTrial(folder, collections=PATTERNS)
        self._validation = validation

    def after_iteration(self, model: xgboost.Booster, epoch: int, evals_log: Any) -> bool:
        tensors = {f"{data}-{name}": log[-1] for data, logs in evals_log.items() for name, log in logs.items()}
        tensors["labels"] = self._validation.get_label()
        tensors["predictions"] = model.predict(self._validation)
        scores = model.get_score(importance_type="weight")
        total = sum(scores.values())
        tensors |= {f"feature_importance/weight/{name}": score / total for name, score in scores.items()}
        lines = model[epoch : epoch + 1].get_dump()[0].splitlines()
        tensors["trees/Node"] = np.array([int(line.strip().split(":")[0]) for line in lines])
        self._trial.write(ModeKeys.GLOBAL, epoch, tensors)
        return False

    def after_training(self, model: xgboost.Booster) -> xgboost.Booster:
        self._trial.end()
        return model


def run(job: BoostingJob, folder: str) -> None:
    """Boost trees, saving everything at each round."""
    train, valid = xgboost.DMatrix(job.x, job.y), xgboost.DMatrix(job.x_valid, job.y_valid)
    xgboost.train(
        job.parameters, train, job.rounds, evals=[(train, "train"), (valid, "validation")], verbose_eval=False,
        callbacks=[_Saving(folder, valid)],
    )  # fmt: skip


def boosting(
    kind: str, seed: int, change: Callable[[BoostingJob], None] | None = None, rows: int = 400
) -> Callable[[str], None]:
    """Return what makes the trial of a job, changed or as it is."""

    def make_trial(folder: str) -> None:
        job = make(kind, seed, rows)
        if change:
            change(job)
        run(job, folder)

    return make_trial
