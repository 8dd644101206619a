"""Shards on a real Ray cluster, on this machine, with two workers."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.scaling import ProcessPool, RayCluster, RuleChoice, evaluate_on
from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

ray = pytest.importorskip("ray")

pytestmark = pytest.mark.xdist_group("ray")  # one process starts clusters, one after the other


@pytest.fixture(scope="module", autouse=True)
def _cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_ray_gives_the_issues_of_the_process_pool(tmp_path):
    """For rules with a memory and without, and for those that remember each tensor by itself."""
    rng = np.random.default_rng(0)
    steps = {
        (ModeKeys.TRAIN, step): {
            "gradient/w": rng.normal(size=3) * (step % 3),
            "loss": rng.random(),
            "a_input": rng.normal(size=(2, 3, 2, 2)) + 1,
            "b_input": rng.normal(size=(2, 3, 2, 2)) - 2,
        }
        for step in range(40)
    }
    write_trial(tmp_path / "trial", steps)
    rules = {
        "a": RuleChoice(rule="VanishingGradient"),
        "b": RuleChoice(rule="LossNotDecreasing", parameters={"num_steps": "5"}),
        "c": RuleChoice(rule="CheckInputImages", parameters={"regex": "input", "threshold_samples": 20}),
    }
    path = str(tmp_path / "trial")
    found = evaluate_on(RayCluster(), rules, path, num_shards=4)
    expected = evaluate_on(ProcessPool(2), rules, path, num_shards=3)
    assert {issue.rule for issue in found.issues} == {"a", "b", "c"}
    assert found.issues == expected.issues
    assert [status.num_steps for status in found.statuses] == [status.num_steps for status in expected.statuses]
