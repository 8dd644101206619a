"""The walk-through runs: the parts for SDK v2."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest
from support.aws import ROLE
from support.pages import snippets_for

PAGE = Path(__file__).parents[3] / "docs" / "submitting.md"


@pytest.mark.skipif(
    int(version("sagemaker").split(".")[1]) < 200, reason="the release does not know the page's framework"
)
def test_snippets_run_in_their_order(session, requests, script):
    """Those for all surfaces, and those for this one."""
    names = {"role": ROLE, "session": session}
    snippets = list(snippets_for(PAGE, "v2"))
    for snippet in snippets:
        exec(compile(snippet.code, PAGE.name, "exec"), names)
    assert len(snippets) == 4
    assert requests[0]["DebugHookConfig"]["S3OutputPath"] == "s3://my-bucket/debug"
    surface = names["estimator"]
    name = requests[0]["TrainingJobName"]
    assert surface.latest_job_debugger_artifacts_path() == f"s3://my-bucket/debug/{name}/debug-output"
    assert [rule.name for rule in surface.latest_job_rules()] == ["VanishingGradient", "LossNotDecreasing"]
