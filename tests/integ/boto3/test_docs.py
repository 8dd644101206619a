"""The walk-through runs: the parts for boto3."""

from __future__ import annotations

from pathlib import Path

from support.aws import ROLE
from support.pages import snippets_for

PAGE = Path(__file__).parents[3] / "docs" / "submitting.md"


def test_snippets_run_in_their_order_and_print_what_the_page_shows(aws, capsys):
    """Those for all surfaces, and those for this one."""
    names = {"role": ROLE, "client": aws.client("sagemaker")}
    snippets = list(snippets_for(PAGE, "boto3"))
    for snippet in snippets:
        exec(compile(snippet.code, PAGE.name, "exec"), names)
        printed = capsys.readouterr().out
        assert not snippet.printed or printed == snippet.printed
    assert len(snippets) == 6
    assert names["job"].artifact_paths.debugger == "s3://my-bucket/debug/digits-1/debug-output"
    assert len(names["job"].settings["rules"]) == 2
