"""Boosted trees and replicas, sound and with faults."""

from __future__ import annotations

import numpy as np

from harness.boosting import BoostingJob
from harness.parts import with_xgboost
from suites.everyday_faults.plan import boosted, replicas

# --- boosted trees ---------------------------------------------------------------------------------------------------


def _shuffled(job: BoostingJob) -> None:
    job.y = np.random.default_rng(0).permutation(job.y)


def _one_in_forty(job: BoostingJob) -> None:
    keep = (job.y == 0) | (np.random.default_rng(0).random(len(job.y)) < 0.025)
    job.x, job.y = job.x[keep], job.y[keep]


def _other_unit(job: BoostingJob) -> None:
    job.x_valid = job.x_valid * 10


def _label_with_noise(job: BoostingJob) -> None:
    rng = np.random.default_rng(0)
    job.x[:, 5], job.x_valid[:, 5] = (y + 0.1 * rng.normal(size=len(y)) for y in (job.y, job.y_valid))


def _constant(job: BoostingJob) -> None:
    job.x[:], job.x_valid[:] = 0, 0


def _counts(job: BoostingJob) -> None:
    rng = np.random.default_rng(0)
    job.y, job.y_valid = rng.poisson(np.exp(0.5 + 0.4 * job.y)), rng.poisson(np.exp(0.5 + 0.4 * job.y_valid))
    job.parameters |= {"objective": "count:poisson", "eval_metric": "poisson-nloglik"}


UNBOUND = with_xgboost(**{"max_depth": 10, "eta": 0.5, "lambda": 0, "min_child_weight": 0})

boosted("labels", "classes", "labels in another order than inputs", _shuffled)
boosted("learning rate too low", "regression", "eta of 0.0005", with_xgboost(eta=5e-4))
boosted("learning rate too high", "regression", "eta of 3", with_xgboost(eta=3))
boosted("overfitting", "classes", "60 rows and nothing that binds", UNBOUND, rows=60)
boosted("class imbalance", "binary", "one in 40", _one_in_forty)
boosted("evaluation data", "binary", "validation data in another unit", _other_unit)
boosted("leaking feature", "classes", "the label with noise among the features", _label_with_noise)
boosted("regularisation", "binary", "80 rows at least to a leaf", with_xgboost(min_child_weight=80))
boosted("inputs", "regression", "all features 0", _constant)

boosted("", "binary", "evaluated by the area under the curve", with_xgboost(eval_metric="auc"), rows=700)
boosted("", "binary", "slowly, with many rounds", lambda job: (
    job.parameters.update(eta=0.07, max_depth=4), setattr(job, "rounds", 60)
), rows=700)  # fmt: skip
boosted("", "classes", "of depth 2, with sampled columns", with_xgboost(max_depth=2, colsample_bytree=0.7), rows=700)
boosted("", "classes", "exact, with alpha", with_xgboost(tree_method="exact", alpha=0.3), rows=700)
boosted("", "regression", "pseudo-Huber", with_xgboost(
    objective="reg:pseudohubererror", eval_metric="mae", eta=0.25
), rows=700)  # fmt: skip
boosted("", "regression", "of several trees a round", with_xgboost(num_parallel_tree=3, subsample=0.7), rows=700)
boosted("", "regression", "counts", _counts, rows=700)

# --- replicas --------------------------------------------------------------------------------------------------------


replicas("replicas", "not synchronised", "cnn", sync="none")
replicas("replicas", "begun apart", "gru", sync="by hand", same_start=False)
replicas("replicas", "one ten times as fast", "mlp_norm", sync="by hand", rates=(5e-3, 5e-2))
replicas("sampling", "both see the same data", "rnn", same_data=True)
replicas("", "as they should be", "gru")
replicas("", "averaged by hand", "cnn", sync="by hand")
