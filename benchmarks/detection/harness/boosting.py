"""Jobs of boosted trees, trained by XGBoost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import xgboost

import sagemaker_debug_ext.xgboost as smd

ROUNDS, VALIDATION_ROWS = 30, 200
COLLECTIONS = ["losses", "metrics", "labels", "predictions", "feature_importance", "trees"]


@attrs.define
class BoostingJob:
    """The settings of a run. Faults change them."""

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


def run(job: BoostingJob, folder: str) -> None:
    """Train boosted trees, and save everything but SHAP values at each round."""
    train, valid = xgboost.DMatrix(job.x, job.y), xgboost.DMatrix(job.x_valid, job.y_valid)
    hook = smd.Hook(
        out_dir=folder,
        save_config=smd.SaveConfig(save_interval=1),
        include_collections=COLLECTIONS,
        validation_data=valid,
    )
    xgboost.train(
        job.parameters, train, job.rounds, evals=[(train, "train"), (valid, "validation")], verbose_eval=False,
        callbacks=[hook],
    )  # fmt: skip
    hook.close()


def boosting(
    kind: str, seed: int, change: Callable[[BoostingJob], None] | None = None, rows: int = 400
) -> Callable[[str], None]:
    """Return a function that writes the trial of a job after a change."""

    def make_trial(folder: str) -> None:
        job = make(kind, seed, rows)
        if change:
            change(job)
        run(job, folder)

    return make_trial
