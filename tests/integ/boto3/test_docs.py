"""The walk-through runs: the parts for boto3."""

from __future__ import annotations

import re
from pathlib import Path

from sagemaker_debug_ext.testing.aws import ROLE

PAGE = Path(__file__).parents[3] / "docs" / "submitting.md"
SNIPPET = re.compile(r"<!-- runs in: (\w+) -->\n```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


def test_snippets_run_in_their_order_and_print_what_the_page_shows(aws, capsys):
    """Those for all surfaces, and those for this one."""
    names = {"role": ROLE, "client": aws.client("sagemaker")}
    ran = 0
    for surface, code, shown in SNIPPET.findall(PAGE.read_text()):
        if surface in ("all", "boto3"):
            exec(compile(code, "submitting.md", "exec"), names)
            ran += 1
            printed = capsys.readouterr().out
            assert not shown or printed == shown
    assert ran == 6
    assert names["job"].artifact_paths.debugger == "s3://my-bucket/debug/digits-1/debug-output"
    assert len(names["job"].settings["rules"]) == 2
