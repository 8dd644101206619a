"""ReplicaDivergence fires when workers that train one model have different weights."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from support.rule_trials import TRAIN, steps_with


@pytest.mark.parametrize(("factor", "fires"), [(1.0, False), (1.0005, False), (1.01, True), (np.nan, False)])
def test_weights_of_workers_must_agree(tmp_path, run_rule, factor, fires):
    """Weights that differ by more than the threshold fire, NaN does not, and one worker gives no verdict."""
    job = SmallTrial(tmp_path / "job", ("worker_0", "worker_1"))
    for worker, weight in (("worker_0", np.ones(3)), ("worker_1", np.ones(3) * factor)):
        job.write(TRAIN, 0, {"w_weight": weight}, global_step=0, worker=worker)
    job.end()
    issues = run_rule("ReplicaDivergence", create_trial(str(tmp_path / "job")))
    assert bool(issues) == fires
    for issue in issues:
        assert issue.worker == "worker_1"
        assert "weights of worker_1 differ from those of the first worker by 1 %" in issue.message
    assert run_rule("ReplicaDivergence", steps_with("w_weight", [np.ones(3)])) == []


def test_shapes_when_different_between_workers_then_fire(tmp_path, run_rule):
    """Weights of different shapes are infinitely far apart."""
    job = SmallTrial(tmp_path, ("worker_0", "worker_1"))
    job.write(TRAIN, 0, {"w_weight": np.ones(3)}, global_step=0, worker="worker_0")
    job.write(TRAIN, 0, {"w_weight": np.ones(4)}, global_step=0, worker="worker_1")
    job.end()
    (issue,) = run_rule("ReplicaDivergence", create_trial(str(tmp_path)))
    assert (issue.value, issue.tensors) == (np.inf, ("w_weight",))
    assert "worker_1 has weights of another shape" in issue.message
