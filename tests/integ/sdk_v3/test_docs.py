"""The walk-through runs: the parts for SDK v3."""

from __future__ import annotations

from pathlib import Path

from support.aws import ROLE
from support.pages import snippets_for

PAGE = Path(__file__).parents[3] / "docs" / "submitting.md"


def test_snippets_run_in_their_order(session, requests):
    """Those for all surfaces, and those for this one."""
    names = {"role": ROLE, "session": session}
    snippets = list(snippets_for(PAGE, "v3"))
    for snippet in snippets:
        exec(compile(snippet.code, PAGE.name, "exec"), names)
    assert len(snippets) == 4
    assert requests[0]["DebugHookConfig"]["S3OutputPath"] == "s3://my-bucket/debug"
    surface = names["trainer"]
    name = requests[0]["TrainingJobName"]
    assert surface.latest_job_debugger_artifacts_path() == f"s3://my-bucket/debug/{name}/debug-output"
    assert [rule.name for rule in surface.latest_job_rules()] == ["VanishingGradient", "LossNotDecreasing"]
