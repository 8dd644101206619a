"""The walk-through runs: the parts for SDK v3."""

from __future__ import annotations

import re
from pathlib import Path

from sagemaker_debug_ext.testing.aws import ROLE

PAGE = Path(__file__).parents[3] / "docs" / "submitting.md"
SNIPPET = re.compile(r"<!-- runs in: (\w+) -->\n```python\n(.*?)```", re.DOTALL)


def test_snippets_run_in_their_order(session, requests):
    """Those for all surfaces, and those for this one."""
    names = {"role": ROLE, "session": session}
    ran = 0
    for surface, code in SNIPPET.findall(PAGE.read_text()):
        if surface in ("all", "v3"):
            exec(compile(code, "submitting.md", "exec"), names)
            ran += 1
    assert ran == 4
    assert requests[0]["DebugHookConfig"]["S3OutputPath"] == "s3://my-bucket/debug"
    surface = names["trainer"]
    name = requests[0]["TrainingJobName"]
    assert surface.latest_job_debugger_artifacts_path() == f"s3://my-bucket/debug/{name}/debug-output"
    assert [rule.name for rule in surface.latest_job_rules()] == ["VanishingGradient", "LossNotDecreasing"]
