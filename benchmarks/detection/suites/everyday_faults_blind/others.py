"""Boosted trees and replicas, sound and with faults."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harness.boosting import BoostingJob
from harness.parts import setting, with_xgboost
from suites.everyday_faults_blind.plan import boosted, replicas

# --- boosted trees ---------------------------------------------------------------------------------------------------

Values = Callable[[np.ndarray], np.ndarray]


def _both(name: str, values: Values) -> Callable[[BoostingJob], None]:
    """Change features (x) or targets (y) of training and validation."""

    def change(job: BoostingJob) -> None:
        for attribute in (name, f"{name}_valid"):
            setattr(job, attribute, values(getattr(job, attribute)).astype(np.float32))

    return change


def _one(name: str, values: Values) -> Callable[[BoostingJob], None]:
    return lambda job: setattr(job, name, values(getattr(job, name)).astype(np.float32))


def _kept(chosen: Callable[[BoostingJob], np.ndarray]) -> Callable[[BoostingJob], None]:
    def change(job: BoostingJob) -> None:
        rows = chosen(job)
        job.x, job.y = job.x[rows], job.y[rows]

    return change


def _with_gaps(x):
    return np.where(np.random.default_rng(1).random(x.shape) < 0.1, np.nan, x)


def _a_tenth_turned(y):
    return np.where(np.random.default_rng(2).random(len(y)) < 0.1, 1 - y, y)


def _mixed(y):
    return np.random.default_rng(3).permutation(y)


def _hardly_any(job: BoostingJob) -> np.ndarray:
    return (job.y == 0) | (np.random.default_rng(4).random(len(job.y)) < 0.02)


def _told(job: BoostingJob) -> None:
    """Overwrite a feature by the target."""
    job.x[:, 2], job.x_valid[:, 2] = 2 * job.y - 1, 2 * job.y_valid - 1


def _unbound(job: BoostingJob) -> None:
    job.parameters |= {"max_depth": 12, "eta": 0.6, "lambda": 0, "min_child_weight": 0}
    job.rounds = 50


boosted("", "binary", "as it should be")
boosted("", "classes", "as it should be")
boosted("", "regression", "as it should be")
boosted("", "binary", "with gaps", _both("x", _with_gaps))
boosted("", "binary", "a tenth of the labels wrong", _one("y", _a_tenth_turned), with_xgboost(max_depth=2, eta=0.15))
boosted("", "binary", "grown leaf by leaf", with_xgboost(grow_policy="lossguide", max_leaves=8, max_depth=0))
boosted("", "binary", "rare ones weighted", _kept(
    lambda job: (job.y == 0) | (np.arange(len(job.y)) % 5 == 0)
), with_xgboost(scale_pos_weight=4, max_depth=2), rows=1600)  # fmt: skip
boosted(
    "",
    "classes",
    "slowly, sampled",
    with_xgboost(eta=0.1, subsample=0.7, colsample_bytree=0.8),
    setting(rounds=60),
)
boosted("", "classes", "evaluated by errors", with_xgboost(eval_metric="merror", max_depth=4), rows=1600)
boosted("", "regression", "absolute errors", with_xgboost(objective="reg:absoluteerror", eval_metric="mae", eta=0.3))
boosted("", "regression", "logarithms of a positive target", _both("y", lambda y: np.exp(y / 2)), with_xgboost(
    objective="reg:squaredlogerror", eval_metric="rmsle"
))  # fmt: skip
boosted("", "regression", "by gamma", _both("y", lambda y: np.exp(y / 2)), with_xgboost(
    objective="reg:gamma", eval_metric="gamma-nloglik"
))  # fmt: skip
boosted("", "regression", "dropped trees", with_xgboost(booster="dart", rate_drop=0.1))
boosted("", "regression", "far from zero", _both("y", lambda y: 300 + 20 * y))

boosted("labels", "binary", "labels mixed up", _one("y", _mixed))
boosted("learning rate too low", "classes", "eta of 0.001", with_xgboost(eta=1e-3))
boosted("learning rate too high", "regression", "eta of 2.5", with_xgboost(eta=2.5))
boosted("overfitting", "binary", "100 rows, deep trees", _unbound, rows=100)
boosted("class imbalance", "binary", "one in fifty", _kept(_hardly_any))
boosted(
    "evaluation data", "regression", "columns in another order for validation", _one("x_valid", lambda x: x[:, ::-1])
)
boosted("leaking feature", "binary", "the target among the features", _told)
boosted("regularisation", "regression", "lambda of 5,000", with_xgboost(**{"lambda": 5000}))

# --- replicas --------------------------------------------------------------------------------------------------------


replicas("", "as they should be", "lstm")
replicas("", "averaged by hand", "mlp_deep", sync="by hand")
replicas("replicas", "gradients not averaged", "lstm", sync="none")
replicas("replicas", "all but the last layer averaged", "mlp_tanh", sync="body")
