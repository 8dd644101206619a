"""The walk-through runs: the parts for SDK v2."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from support.aws import ROLE
from support.guides import run_guide


@pytest.mark.skipif(
    int(version("sagemaker").split(".")[1]) < 200, reason="the release does not know the page's framework"
)
def test_snippets_when_run_in_their_order_then_submit_what_the_page_says(session, requests, script):
    """The snippets for SDK v2 and those for all ways to submit run one after the other."""
    names = run_guide("docs/submitting.md", 4, surface="v2", names={"role": ROLE, "session": session})
    assert requests[0]["DebugHookConfig"]["S3OutputPath"] == "s3://my-bucket/debug"
    surface = names["estimator"]
    name = requests[0]["TrainingJobName"]
    assert surface.latest_job_debugger_artifacts_path() == f"s3://my-bucket/debug/{name}/debug-output"
    assert [rule.name for rule in surface.latest_job_rules()] == ["VanishingGradient", "LossNotDecreasing"]
