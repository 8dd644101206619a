"""``sagemaker-debug report``, and the other commands that end with a report."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import pytest

from sagemaker_debug_ext.cli.main import main
from sagemaker_debug_ext.looking import read_report, story_schema
from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.vocabulary import ModeKeys


@pytest.fixture
def trial(tmp_path):
    nan = np.float32("nan")
    steps = {
        (ModeKeys.TRAIN, step): {"gradient/w": np.full(3, nan if step > 3 else 1.0), "loss": np.float32(1 / (step + 1))}
        for step in range(6)
    }
    write_trial(tmp_path / "trial", steps)
    return str(tmp_path / "trial")


def test_report_when_a_rule_finds_something_then_a_page_and_status_1(trial, tmp_path, capsys):
    """The headline is printed, the file is named, and the exit status can gate a pipeline."""
    page = tmp_path / "page.html"
    assert main(["report", trial, "-o", str(page)]) == 1
    output = capsys.readouterr()
    assert output.out.startswith("Not finite in the gradient of w: from step 4 on")
    assert output.err.splitlines()[-1].startswith(f"report: {page} (")
    assert read_report(page)["headline"]["text"] == output.out.strip()


def test_report_when_no_rules_are_run_then_status_0(trial, tmp_path, capsys):
    """What was saved is shown without a verdict."""
    assert main(["report", "--no-rules", trial, "-o", str(tmp_path / "page.html")]) == 0
    assert "nothing was evaluated" in capsys.readouterr().out


def test_report_when_a_name_holds_control_characters_then_the_terminal_does_not_see_them(tmp_path, capsys):
    """A name cannot colour or clear the terminal of whoever looks at the trial."""
    steps = {(ModeKeys.TRAIN, 0): {"\x1b[2Jgradient": np.full(2, np.nan)}}
    write_trial(tmp_path / "trial", steps)
    assert main(["report", str(tmp_path / "trial"), "-o", str(tmp_path / "page.html")]) == 1
    output = capsys.readouterr().out
    assert "\x1b" not in output
    assert "\\u001b[2Jgradient" in output


def test_report_when_printed_then_the_page_alone(trial, capsys):
    """Standard output is the page, as a program that serves it needs it."""
    assert main(["report", trial, "-o", "-"]) == 1
    output = capsys.readouterr().out
    assert output.startswith("<!doctype html>")
    assert output.endswith("</html>\n")


def test_report_when_json_then_the_story_by_its_schema(trial, capsys):
    """The story of two trials is one object that the schema of the package describes."""
    assert main(["report", trial, trial, "--json", "--rule", "ExplodingTensor", "-p", "only_nan=true"]) == 1
    story = json.loads(capsys.readouterr().out)
    jsonschema.validate(story, story_schema())
    assert [rule["name"] for rule in story["rules"]] == ["ExplodingTensor"] * 2
    assert story["partings"][0]["step"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--no-rules", "--rule", "AllZero"], "--no-rules excludes --rule"),
        (["--max-mb", "0"], "max_mb must be at least 0.3 (got 0.0)"),
        (["--rule", "NoSuchRule"], "NoSuchRule"),
        (["no-such-trial"], "no-such-trial"),
        (["-o", "no-such-folder/page.html"], "a file in an existing folder (got 'no-such-folder/page.html')"),
    ],
)
def test_report_when_wrongly_used_then_one_sentence_and_status_2(trial, tmp_path, capsys, arguments, message):
    """No page is written."""
    page = tmp_path / "page.html"
    assert main(["report", trial, "-o", str(page), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert not page.exists()


def test_rules_run_when_issues_are_found_then_a_report_is_named(trial, tmp_path, capsys):
    """The page has the evidence of the issues that were just printed, without evaluating again."""
    assert main(["rules", "run", trial, "ExplodingTensor"]) == 1
    assert f"sagemaker-debug report {trial} writes a page" in capsys.readouterr().err
    page = tmp_path / "page.html"
    assert main(["rules", "run", trial, "ExplodingTensor", "--report", str(page)]) == 1
    assert f"report: {page}" in capsys.readouterr().err
    assert [rule["name"] for rule in read_report(page)["rules"]] == ["ExplodingTensor"]
