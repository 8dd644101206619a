"""The commands: what they print, as text and as JSON, and their exit status."""

import json
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from sagemaker_debug_ext.catalog import list_rule_specs
from sagemaker_debug_ext.cli.main import main
from sagemaker_debug_ext.store.format.keys import event_key, reduction_tensor_name
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.vocabulary import ModeKeys
from support.scripts import run_captured


@pytest.fixture
def trial(tmp_path):
    """A small ended trial: a loss, a weight, a gradient that vanishes at step 1, a text, and a lone reduction."""
    folder = tmp_path / "trial"
    writer = SmallTrial(folder)
    for number, scale in enumerate([1.0, 1e-9]):
        tensors = {
            "loss": np.float32(2 - number),
            "fc.weight": np.array([[1, 2], [3, np.nan]], np.float32),
            "gradient/fc.weight": np.full((2, 2), scale),
            "note": "text",
            reduction_tensor_name("mean", False, "hidden"): np.array(0.5),
        }
        writer.write(ModeKeys.TRAIN, number, tensors)
    writer.write(ModeKeys.EVAL, 0, {"loss": np.float32(3)})
    writer.end()
    return str(folder)


def run_json(capsys, *arguments):
    status = main([*arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_consolidate_writes_one_index(trial, capsys):
    """What it did is said, and the trial is as it was."""
    before = run_json(capsys, "ls", trial)
    assert main(["consolidate", trial]) == 0
    assert capsys.readouterr().out == f"{trial}: consolidated 3 index files\n"
    assert run_json(capsys, "consolidate", trial) == (0, {"path": trial, "index_files": 3})
    assert run_json(capsys, "ls", trial) == before


def test_consolidate_when_a_summary_is_asked_for_then_its_size_is_said(trial, capsys):
    """The object is in the trial."""
    status, done = run_json(capsys, "consolidate", trial, "--summary")
    assert (status, done["summary_bytes"]) == (0, Path(trial, "consolidated", "summary").stat().st_size)
    assert main(["consolidate", trial, "--summary"]) == 0
    assert "consolidated 3 index files, and wrote a summary of " in capsys.readouterr().out


class TestLs:
    def test_lists_steps_collections_and_tensors(self, trial, capsys):
        """A person sees where tensors are and what they look like."""
        assert main(["ls", trial]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == f"{trial} (ended), workers: worker_0"
        assert lines[1] == "steps: GLOBAL 3, TRAIN 2, EVAL 1"
        assert lines[2] == "collections: gradients (1), losses (1), weights (1)"
        table = {line.split()[0]: line.split()[1:] for line in lines[5:]}
        assert table["loss"] == ["3", "0", "2", "(1,)", "losses"]
        assert table["fc.weight"] == ["2", "0", "1", "(2,", "2)", "weights"]
        assert table["hidden"] == ["2", "0", "1"]

    def test_gives_the_same_as_json(self, trial, capsys):
        """A program gets values, not layout."""
        status, found = run_json(capsys, "ls", trial, "--regex", "weight$", "--regex", "loss")
        assert status == 0
        assert found["steps"] == {"GLOBAL": [0, 1, 2], "TRAIN": [0, 1], "EVAL": [0]}
        assert [item["name"] for item in found["tensors"]] == ["fc.weight", "gradient/fc.weight", "loss"]
        assert found["tensors"][0] == {
            "name": "fc.weight", "steps": 2, "first": 0, "last": 1, "shape": [2, 2], "collections": ["weights"],
        }  # fmt: skip

    def test_mode_and_collection_narrow_the_list(self, trial, capsys):
        """Steps are counted in the mode that was asked for."""
        _, found = run_json(capsys, "ls", trial, "--mode", "eval")
        assert [(item["name"], item["first"]) for item in found["tensors"]] == [("loss", 0)]
        _, found = run_json(capsys, "ls", trial, "--collection", "gradients")
        assert [item["name"] for item in found["tensors"]] == ["gradient/fc.weight"]

    def test_says_so_where_there_is_nothing(self, trial, capsys):
        """Rather than the head of a table."""
        assert main(["ls", trial, "--mode", "predict"]) == 0
        output = capsys.readouterr()
        assert "TENSOR" not in output.out
        assert output.err == "no tensor was saved, or none matches the options\n"


class TestShow:
    def test_value_at_a_step(self, trial, capsys):
        """The value is shown with where it comes from and a few numbers."""
        assert main(["show", trial, "fc.weight", "--step", "1"]) == 0
        text = capsys.readouterr().out
        for part in ("mode:      TRAIN", "mode_step: 1", "worker:    worker_0", "float32", "[[ 1.  2.]"):
            assert part in text

    def test_value_as_json_has_names_for_what_json_lacks(self, trial, capsys):
        """NaN does not make the output unreadable."""
        status, found = run_json(capsys, "show", trial, "fc.weight", "--step", "1", "--mode", "TRAIN")
        assert status == 0
        assert found["value"] == [[1, 2], [3, "NaN"]]
        assert (found["step"], found["mode_step"], found["dtype"], found["shape"]) == (1, 1, "float32", [2, 2])

    def test_course_over_the_steps(self, trial, capsys):
        """Without a step each step has a line."""
        assert main(["show", trial, "loss"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[:4] for line in lines[2:]] == [
            ["0", "TRAIN", "0", "worker_0"], ["1", "TRAIN", "1", "worker_0"], ["2", "EVAL", "0", "worker_0"],
        ]  # fmt: skip

    def test_course_of_single_numbers_shows_them_and_nothing_made_from_them(self, trial, capsys):
        """A loss has a value a step; the last steps can be asked for."""
        _, found = run_json(capsys, "show", trial, "loss", "--last", "2")
        assert [(row["step"], row["value"]) for row in found["steps"]] == [(1, 1.0), (2, 3.0)]
        assert "mean" not in found["steps"][0]

    @pytest.fixture
    def long_trial(self, tmp_path):
        """A trial of a loss at 100 steps."""
        writer = SmallTrial(tmp_path / "long")
        for number in range(100):
            writer.write(ModeKeys.TRAIN, 3 * number, {"loss": np.float32(number)}, global_step=3 * number)
        writer.end()
        return str(tmp_path / "long")

    def test_course_of_many_steps_shows_the_first_and_the_last(self, long_trial, capsys):
        """How many lie between them is said where they would stand."""
        assert main(["show", long_trial, "loss"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[17] == "… 70 steps left out: --all shows them"
        assert [int(line.split()[0]) for line in lines[2:17]] == list(range(0, 45, 3))
        assert [int(line.split()[0]) for line in lines[18:]] == list(range(255, 300, 3))

    @pytest.mark.parametrize(("options", "count"), [(["--all"], 100), (["--last", "60"], 60)])
    def test_course_of_many_steps_shows_all_that_is_asked_for(self, long_trial, capsys, options, count):
        """Nothing is left out of what was named."""
        assert main(["show", long_trial, "loss", *options]) == 0
        lines = capsys.readouterr().out.splitlines()[2:]
        assert [int(line.split()[0]) for line in lines] == list(range(0, 300, 3))[-count:]

    def test_course_of_many_steps_is_whole_as_json(self, long_trial, capsys):
        """A program is spared nothing."""
        _, found = run_json(capsys, "show", long_trial, "loss")
        assert [row["value"] for row in found["steps"]] == list(range(100))

    def test_course_in_a_mode_without_it_says_so(self, trial, capsys):
        """Nothing to show is said, rather than left blank; as JSON it is an empty list."""
        assert main(["show", trial, "loss", "--mode", "predict"]) == 0
        assert capsys.readouterr().out == "loss was not saved at any step of mode PREDICT\n"
        _, found = run_json(capsys, "show", trial, "loss", "--mode", "predict")
        assert found["steps"] == []

    def test_course_of_reductions_and_texts_shows_what_was_saved(self, trial, capsys):
        """A tensor of which one number was saved shows that one; a text has none."""
        _, found = run_json(capsys, "show", trial, "hidden")
        assert (found["steps"][0]["mean"], found["steps"][0]["max"]) == (0.5, None)
        _, found = run_json(capsys, "show", trial, "note")
        assert found["steps"][0]["value"] == "text"


class TestRules:
    def test_list_names_every_rule_and_where_it_runs(self, capsys):
        """People see which rules run on this machine."""
        assert main(["rules", "list"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 1 + len(list_rule_specs())
        line = next(line for line in lines if line.startswith("VanishingGradient "))
        assert line.split()[:3] == ["VanishingGradient", "debugger", "here"]
        assert "Gradients have become so small" in line
        assert line.endswith("  threshold=1e-07")

    def test_list_as_json_describes_parameters(self, capsys):
        """A program learns types, defaults and meanings."""
        _, found = run_json(capsys, "rules", "list", "--kind", "debugger")
        assert len(found) == len(list_rule_specs("debugger"))
        (parameter,) = next(rule for rule in found if rule["name"] == "VanishingGradient")["parameters"]
        assert (parameter["name"], parameter["type"], parameter["default"]) == ("threshold", "float", 1e-07)

    def test_run_when_an_issue_is_found_exits_with_1(self, trial, capsys):
        """The line names the step and the tensor."""
        assert main(["rules", "run", trial, "VanishingGradient"]) == 1
        output = capsys.readouterr()
        assert output.out.startswith("step 1 (TRAIN 1): ")
        assert "gradient/fc.weight" in output.out
        assert "IssuesFound" in output.err

    def test_run_when_nothing_is_found_exits_with_0(self, trial, capsys):
        """A parameter given as text changes the verdict."""
        status, found = run_json(capsys, "rules", "run", trial, "VanishingGradient", "-p", "threshold=1e-12")
        assert status == 0
        (found,) = found["rules"]
        assert (found["status"], found["issues"]) == ("NoIssuesFound", [])

    def test_run_as_json_lists_the_issues(self, trial, capsys):
        """Issues come as values."""
        status, found = run_json(capsys, "rules", "run", trial, "VanishingGradient")
        assert status == 1
        (found,) = found["rules"]
        (issue,) = found["issues"]
        assert (issue["step"], issue["tensors"], issue["value"]) == (1, ["gradient/fc.weight"], pytest.approx(1e-9))

    def test_run_when_the_rule_breaks_exits_with_2(self, trial, capsys, tmp_path):
        """A rule that cannot do its work is an error, not a clean bill."""
        (tmp_path / "trial" / event_key(1, "worker_0")).write_bytes(b"damaged")
        status, found = run_json(capsys, "rules", "run", trial, "VanishingGradient")
        (found,) = found["rules"]
        assert (status, found["status"]) == (2, "Error")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "{tmp}/nosuch.py"], "script must be an existing Python file"),
        (["run", "{tmp}"], "script must be an existing Python file"),
        (["run"], "the following arguments are required: SCRIPT\n"),
        (["run", "--output", "{trial}", __file__], "--output must be a new or empty folder"),
        (["run", "--every", "5", __file__], "--every needs --output"),
        (["ls", "{tmp}/nowhere"], "no trial at"),
        (["ls", "{trial}", "--regex", "("], "'('"),
        (["ls", "{trial}", "--collection", "gradient"], "did you mean 'gradients'"),
        (["demo", "--epochs", "0"], "at least 1"),
        (["demo", "--epochs", "many"], "at least 1 (got 'many')"),
        (["show", "{trial}", "loss", "--last", "0"], "at least 1"),
        (["rules", "run", "{trial}", "VanishingGradient", "--start", "2", "--end", "2"], "end must be above start"),
        (["show", "{trial}", "fc.wieght"], "'fc.wieght'"),
        (["show", "{trial}", "weight"], "2 whose names contain it: fc.weight, gradient/fc.weight"),
        (["ls", "s3://"], "must look like s3://bucket/prefix (got 's3://')"),
        (["rules", "run", "VanishingGradient", "{trial}"], "comes before the rules: rules run TRIAL VanishingGradient"),
        (
            ["rules", "run", "{trial}", "VanishingGradient", "--output", "{trial}/training_job_end.ts"],
            "--output must be",
        ),
        (["rules", "run", "{trial}", "DeadRelu", "-p", "DaedRelu.x=1"], "did you mean 'DeadRelu'"),
        (["rules", "run", "{trial}", "DeadRelu", "Overfit", "-p", "patience=1"], "-p RULE.NAME=VALUE is for one"),
        (["show", "{trial}", "loss", "--step", "9"], "step 9"),
        (["show", "{trial}", "loss", "--step", "0", "--worker", "worker_7"], "worker_7"),
        (["show", "{trial}", "hidden", "--step", "0"], "reduction"),
        (["show", "{trial}", "loss", "--mode", "trian"], "train, eval, predict, global"),
        (["rules", "run", "{trial}", "VanishngGradient"], "did you mean 'VanishingGradient'"),
        (["rules", "run", "{trial}", "VanishingGradient", "-p", "treshold=1"], "did you mean 'threshold'"),
        (["rules", "run", "{trial}", "VanishingGradient", "-p", "threshold"], "NAME=VALUE"),
        (["rules", "run", "{trial}", "VanishingGradient", "-p", "threshold=-1"], "threshold"),
        (["nonsense"], "invalid choice"),
        (["reprot"], "; did you mean 'report'?"),
        (["rules", "rum"], "; did you mean 'run'?"),
        ([], "List steps, collections and tensors"),
        (["rules"], "List the rules, what they find, and their parameters"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_use_exits_with_2_and_says_why(arguments, expected, trial, tmp_path, capsys):
    """One clear line on standard error, nothing on standard output."""
    assert main([item.format(trial=trial, tmp=tmp_path) for item in arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert expected in output.err


def test_run_when_configuration_is_no_json_then_says_so_before_the_script_runs(tmp_path, monkeypatch):
    """One line names the file; the script does not run uncaptured."""
    (tmp_path / "hook.json").write_text("{bad")
    (tmp_path / "train.py").write_text("print('ran')")
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    done = run_captured(tmp_path / "train.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"sagemaker-debug: \S+hook\.json: must hold JSON \(.+\)\n", done.stderr)


def test_run_when_configuration_is_a_folder_then_says_so_before_the_script_runs(tmp_path, monkeypatch):
    """One line names the path, without a traceback."""
    (tmp_path / "train.py").write_text("print('ran')")
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path))
    done = run_captured(tmp_path / "train.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(rf"sagemaker-debug: {tmp_path}: must be a file that can be read \(.+\)\n", done.stderr)


def test_run_when_configuration_is_misspelt_then_warns_only_once_a_hook_is_made(tmp_path, monkeypatch):
    """A script that trains nothing is told that alone."""
    (tmp_path / "hook.json").write_text('{"HookParams": {}}')
    (tmp_path / "train.py").write_text("print('ran')")
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    done = run_captured(tmp_path / "train.py")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert "no training step was captured" in done.stderr
    assert "HookParams" not in done.stderr


def test_rules_when_asked_for_help_then_says_what_rules_are_for(capsys):
    """The group of commands has more to say than their names."""
    assert main(["rules", "--help"]) == 0
    assert "rules run TRIAL --recommended" in " ".join(capsys.readouterr().out.split())


def test_help_and_version_exit_with_0(capsys):
    """Asking how to use it is right use."""
    assert main(["--help"]) == 0
    assert "exit status" in capsys.readouterr().out
    assert main(["--version"]) == 0


def test_the_package_runs_as_a_module(monkeypatch, capsys):
    """For environments whose scripts are not on the path."""
    monkeypatch.setattr(sys, "argv", ["sagemaker_debug_ext", "--version"])
    with pytest.raises(SystemExit) as stop:
        runpy.run_module("sagemaker_debug_ext", run_name="__main__")
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("sagemaker-debug ")


def test_command_when_aws_cannot_be_called_then_says_why_in_one_line(monkeypatch, tmp_path, capsys):
    """A machine without a region is told so, not shown a traceback."""
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    assert main(["self-managed", "show", "job"]) == 2
    assert capsys.readouterr().err == "sagemaker-debug: AWS: You must specify a region.\n"
