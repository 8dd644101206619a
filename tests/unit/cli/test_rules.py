"""``sagemaker-debug rules run`` over several rules, files of rules and folders for results."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest

from sagemaker_debug_ext.cli._findings import verdict
from sagemaker_debug_ext.cli.main import main
from sagemaker_debug_ext.rules.evaluation.status import RuleStatus
from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN = ModeKeys.TRAIN
SOURCE = """
from smdebug.rules.rule import Rule

class Above(Rule):
    def __init__(self, base_trial, limit="1"):
        super().__init__(base_trial)
        self.limit = float(limit)

    def invoke_at_step(self, step):
        return any(
            self.base_trial.tensor(name).value(step).max() > self.limit
            for name in self.base_trial.tensor_names(step=step, regex="w")
        )
"""


@pytest.fixture
def trial(tmp_path):
    steps = {(TRAIN, step): {"gradient/w": np.zeros(3), "w_weight": np.full(3, float(step))} for step in range(3)}
    write_trial(tmp_path / "trial", steps)
    return str(tmp_path / "trial")


def test_several_rules_run_in_one_pass_and_their_names_are_in_the_lines(trial, capsys):
    """Parameters go to the rule that they name, or to all."""
    parameters = ["-p", "AllZero.threshold=50", "-p", "tensor_regex=gradient"]
    assert main(["rules", "run", trial, "AllZero", "UnchangedTensor", *parameters, "--first"]) == 1
    output = capsys.readouterr()
    assert [line.split(": ")[:2] for line in output.out.splitlines()] == [
        ["step 0 (TRAIN 0)", "AllZero"], ["step 2 (TRAIN 2)", "UnchangedTensor"]
    ]  # fmt: skip
    assert output.err.splitlines()[0] == "AllZero: looks at 1 tensor (gradient/w)"


@pytest.mark.parametrize(
    "arguments",
    [["--first", "VanishingGradient", "DeadRelu"], ["VanishingGradient", "--first", "DeadRelu", "--start", "1"]],
)
def test_names_of_rules_may_come_after_options(trial, capsys, arguments):
    """Options and names go in any order."""
    assert main(["rules", "run", trial, *arguments, "--json"]) == 1
    vanishing, dead = json.loads(capsys.readouterr().out)["rules"]
    assert [(rule["name"], len(rule["issues"])) for rule in (vanishing, dead)] == [
        ("VanishingGradient", 1), ("DeadRelu", 0)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["rules", "run", "trial", "--frist", "DeadRelu"], "rules run"),
        (["rules", "list", "DeadRelu"], "rules list"),
        (["ls", "trial", "more"], "ls"),
    ],
)
def test_unknown_arguments_show_the_usage_of_their_command(capsys, arguments, command):
    """Not that of the whole program."""
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"usage: sagemaker-debug {command} ")
    assert f"sagemaker-debug {command}: error: unrecognized arguments: " in error


def test_a_rule_that_will_say_nothing_is_announced(trial, capsys):
    """Before the first step, with what to do about it; nothing found is not the same as nothing looked at."""
    assert main(["rules", "run", trial, "DeadRelu"]) == 0
    error = capsys.readouterr().err
    assert "DeadRelu: gives no verdict as things stand: no tensor has a name with '.*relu_output'" in error
    assert "NoIssuesFound, 0 steps evaluated, 3 without what the rule needs" in error
    assert error.splitlines()[-1] == "No verdict: nothing was evaluated in 3 steps"


def test_rules_that_were_not_named_and_find_no_tensors_are_told_in_one_line(trial, capsys):
    """At the end; one that was named says what it looks for."""
    assert main(["rules", "run", trial, "DeadRelu", "--recommended"]) == 0
    *lines, last, verdict = capsys.readouterr().err.splitlines()
    counted, names = last.split(" rules did not find the tensors to evaluate: ")
    silent = names.removesuffix("; one that is run by name says what it lacks").split(", ")
    assert len(silent) == int(counted) > 5
    assert "InputScale" in silent
    assert not {"DeadRelu", "ExplodingTensor"} & set(silent)
    assert not {line.split(":")[0] for line in lines} & set(silent)
    assert lines[0].startswith("DeadRelu: gives no verdict as things stand: ")
    assert "DeadRelu: NoIssuesFound, 0 steps evaluated, 3 without what the rule needs" in lines
    assert verdict.startswith("No issues found by ")


def _status(name, status, num_steps, details=""):
    return RuleStatus(
        name=name, rule=name, status=status, num_steps=num_steps, num_skipped=9 - num_steps, details=details
    )


@pytest.mark.parametrize(
    ("statuses", "line"),
    [
        (
            [
                _status("A", "IssuesFound", 9),
                _status("B", "NoIssuesFound", 9),
                _status("C", "NoIssuesFound", 1, "too little to evaluate: evaluated 1 of at least 4 steps"),
                _status("D", "NoIssuesFound", 0, "nothing to evaluate: none of 9 steps had what the rule needs"),
                _status("E", "Error", 3, "ValueError: no"),
            ],
            (
                "Issues found by 1 rule of 2 in 9 steps; 1 rule had too few steps to evaluate; "
                "1 rule had nothing to evaluate; 1 rule failed"
            ),
        ),
        (
            [_status("C", "NoIssuesFound", 1, "too little to evaluate: evaluated 1 of at least 4 steps")],
            "No verdict in 9 steps; 1 rule had too few steps to evaluate",
        ),
    ],
    ids=["one of each", "too few steps"],
)
def test_counts_of_the_verdict_add_up(statuses, line):
    """Every rule is counted once: it evaluated, had too little, had nothing, or failed."""
    assert verdict(statuses) == line


def test_chosen_rules_are_told_of_in_three_lines_when_all_is_well(trial, capsys):
    """What they look at, which find nothing to look at, and that nothing was found by so many rules and steps."""
    assert main(["rules", "run", trial, "--recommended"]) == 0
    first, silent, verdict = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"\d+ rules look at 2 tensors \(gradients, weights\); --verbose tells more", first)
    assert "did not find the tensors to evaluate" in silent
    assert re.fullmatch(r"No issues found by \d+ rules in 3 steps; \d+ rules had nothing to evaluate", verdict)


def test_chosen_rules_are_told_of_one_by_one_when_asked_for(trial, capsys):
    """As if they had been named."""
    assert main(["rules", "run", trial, "--recommended", "--verbose"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert "ExplodingTensor: looks at 2 tensors (gradient/w, w_weight)" in lines
    assert "ExplodingTensor: NoIssuesFound, 3 steps evaluated, 0 without what the rule needs" in lines
    assert not any("--verbose" in line for line in lines)


def test_chosen_rules_show_their_first_issues(tmp_path, capsys):
    """A rule that fires again and again does not bury what the others found; how many there are is told, not hidden."""
    steps = {(TRAIN, step): {"loss": np.float32(np.nan)} for step in range(10)}
    write_trial(tmp_path / "nan", steps)
    run = ["rules", "run", str(tmp_path / "nan")]
    assert main([*run, "--recommended"]) == 1
    output = capsys.readouterr()
    assert [line.split(" ")[1] for line in output.out.splitlines() if "ExplodingTensor: " in line] == ["0", "1", "2"]
    shown = (
        "ExplodingTensor: IssuesFound, 10 issues from step 0 on (the first 3 are shown), 10 steps evaluated, 0 without"
    )
    assert shown in output.err
    assert re.search(r"^Issues found by \d+ rules? of \d+ in 10 steps", output.err.splitlines()[-2])
    for options in (["--recommended", "--verbose"], ["--recommended", "ExplodingTensor"]):
        assert main([*run, *options]) == 1
        output = capsys.readouterr()
        assert sum("ExplodingTensor: " in line for line in output.out.splitlines()) == 10
        assert "are shown" not in next(
            line for line in output.err.splitlines() if line.startswith("ExplodingTensor: I")
        )


def test_verdict_when_rules_fail_then_counts_them(trial, tmp_path, capsys):
    """A rule that fails has found no issue, and has not found that there is none."""
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    assert main(["rules", "run", trial, "Above", "--source", str(path), "--smdebug", "-p", "limit=x"]) == 2
    capsys.readouterr()
    path.write_text(SOURCE.replace("return any(", "raise ValueError('mine')\n        return any("))
    assert main(["rules", "run", trial, "Above", "--source", str(path), "--smdebug"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "No verdict: nothing was evaluated in 0 steps; 1 rule failed"


def test_json_has_rules_that_find_no_tensors(trial, capsys):
    """Each with what it looks for."""
    assert main(["rules", "run", trial, "--recommended", "--json"]) == 0
    output = capsys.readouterr()
    found = {result["name"]: result for result in json.loads(output.out)["rules"]}
    assert found["InputScale"]["explanation"]["problems"]
    assert output.err == ""


@pytest.mark.parametrize("names", [["VanishingGradient"], ["DeadRelu", "VanishingGradient"], ["--all"]])
def test_json_has_the_same_form_for_any_choice_of_rules(trial, capsys, names):
    """One object for each rule, and the causes of what they find."""
    main(["rules", "run", trial, *names, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"rules", "likely_causes"}
    assert set(names) - {"--all"} <= {rule["name"] for rule in found["rules"]}
    assert "initialisation" in [cause["name"] for cause in found["likely_causes"]]


def test_rules_that_lack_a_parameter_do_not_keep_others_from_being_evaluated(trial, capsys):
    """They fail with what they lack; the others find what they find alone."""
    assert main(["rules", "run", trial, "AllZero", "SimilarAcrossRuns", "VanishingGradient", "--json"]) == 2
    vanishing, zero, similar = json.loads(capsys.readouterr().out)["rules"]
    assert (vanishing["name"], vanishing["num_issues"]) == ("VanishingGradient", 3)
    assert [zero["status"], similar["status"]] == ["Error", "Error"]
    assert "one of collection_names, tensor_regex must be given" in zero["details"]
    assert "other_trials must be given" in similar["details"]
    assert main(["rules", "run", trial, "AllZero", "VanishingGradient"]) == 2
    output = capsys.readouterr()
    assert "step 0 (TRAIN 0): " in output.out
    assert "-p AllZero.NAME=VALUE gives a parameter" in output.err
    assert "1 rule failed" in output.err


def test_rules_that_all_lack_parameters_are_wrong_use(trial, capsys):
    """Nothing is evaluated, and the text names what each lacks."""
    assert main(["rules", "run", trial, "AllZero", "SimilarAcrossRuns"]) == 2
    error = capsys.readouterr().err
    assert "AllZero: not evaluated" in error
    assert "SimilarAcrossRuns: not evaluated" in error


def test_json_of_several_rules_has_explanations(trial, capsys):
    """One object for each rule."""
    assert main(["rules", "run", trial, "DeadRelu", "VanishingGradient", "--json"]) == 1
    dead, vanishing = json.loads(capsys.readouterr().out)["rules"]
    assert dead["explanation"]["problems"]
    assert [issue["step"] for issue in vanishing["issues"]] == [0, 1, 2]


def test_all_runs_every_rule_that_needs_no_parameters(trial, capsys):
    """The others are left out."""
    assert main(["rules", "run", trial, "--all", "--json", "--end", "2"]) == 1
    found = {result["name"]: result for result in json.loads(capsys.readouterr().out)["rules"]}
    assert {"VanishingGradient", "Confusion", "CreateXgboostReport", "StalledTrainingRule"} <= set(found)
    assert not {"AllZero", "TensorVariance", "UnchangedTensor", "SimilarAcrossRuns"} & set(found)
    assert {result["num_steps"] + result["num_skipped"] for result in found.values()} == {2}


def test_recommended_rules_have_parameters_of_their_own(trial, capsys):
    """Which may be replaced."""
    assert main(["rules", "run", trial, "--recommended", "--json", "-p", "FrozenParameters.patience=2"]) == 0
    output = json.loads(capsys.readouterr().out)
    found = {result["name"] for result in output["rules"]}
    assert {"LossPlateau", "DeadRelu", "TrainEvalMixup"} <= found
    assert "LossNotDecreasing" not in found
    assert output["likely_causes"] == []


@pytest.fixture
def unscaled(tmp_path):
    inputs = np.full((4, 3), 1e4, np.float32)
    steps = {(TRAIN, n): {"Net_input_0": inputs, "loss": np.float32(np.nan if n > 3 else 1)} for n in range(6)}
    write_trial(tmp_path / "unscaled", steps)
    return str(tmp_path / "unscaled")


def test_likely_causes_come_after_what_recommended_rules_find(unscaled, capsys):
    """The likeliest first, each with the rules that point at it."""
    assert main(["rules", "run", unscaled, "--recommended"]) == 1
    lines = capsys.readouterr().out.splitlines()
    begin = lines.index("Likely causes, the likeliest first:")
    assert all(line.startswith("step ") for line in lines[:begin])
    causes = [line.strip().split(": ")[0] for line in lines[begin + 1 :]]
    assert causes[0] == "inputs"
    assert "not finite" in causes
    assert lines[begin + 1].endswith("(InputScale)")


def test_json_of_recommended_rules_has_the_likely_causes(unscaled, capsys):
    """In the same order, beside the results of the rules."""
    assert main(["rules", "run", unscaled, "--recommended", "--json"]) == 1
    output = json.loads(capsys.readouterr().out)
    cause = output["likely_causes"][0]
    assert (cause["name"], cause["rules"], cause["first_issue_step"]) == ("inputs", ["InputScale"], 2)
    assert sum(len(result["issues"]) for result in output["rules"]) > 0


def test_named_rules_alone_tell_no_causes(unscaled, capsys):
    """They were chosen for a question of one's own."""
    assert main(["rules", "run", unscaled, "ExplodingTensor"]) == 1
    assert "causes" not in capsys.readouterr().out


def test_nothing_found_has_no_causes(trial, capsys):
    """And no title for them."""
    assert main(["rules", "run", trial, "--recommended"]) == 0
    assert capsys.readouterr().out == ""


def test_results_are_written_into_a_folder(trial, tmp_path, capsys):
    """One for each rule, as JSON."""
    assert main(["rules", "run", trial, "VanishingGradient", "DeadRelu", "--output", str(tmp_path / "out")]) == 1
    found = {path.parent.name: json.loads(path.read_text()) for path in (tmp_path / "out").glob("*/rule-result.json")}
    assert {name: result["status"] for name, result in found.items()} == {
        "VanishingGradient": "IssuesFound", "DeadRelu": "NoIssuesFound"
    }  # fmt: skip
    assert [issue["step"] for issue in found["VanishingGradient"]["issues"]] == [0, 1, 2]


def test_files_of_rules_are_named_or_the_option_that_lets_them_be_written(tmp_path, capsys):
    """Somebody who asks for a report learns where it is, and without a folder, how to get it."""
    folder = tmp_path / "xgboost"
    steps = {(TRAIN, step): {"train-rmse": np.float32(1 / (step + 1))} for step in range(3)}
    write_trial(folder, steps, collections={"metrics": ["train-rmse"]})
    assert main(["rules", "run", str(folder), "CreateXgboostReport"]) == 0
    assert "CreateXgboostReport writes its report if --output names a folder" in capsys.readouterr().err
    assert main(["rules", "run", str(folder), "CreateXgboostReport", "--output", str(tmp_path / "out")]) == 0
    page = tmp_path / "out" / "CreateXgboostReport" / "xgboost_report.html"
    assert f"CreateXgboostReport: wrote {page}\n" in capsys.readouterr().err
    assert page.exists()


def test_a_file_of_rules_runs_unmodified(trial, tmp_path, capsys):
    """In a process of its own, under the old name of the package."""
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    arguments = ["rules", "run", trial, "Above", "--source", str(path), "--smdebug", "-p", "limit=1.5"]
    assert main(arguments) == 1
    assert capsys.readouterr().out.startswith("step 2 (TRAIN 2): ")
    assert main(["rules", "run", trial, "--smdebug", "-p", "limit=1.5", "--source", str(path), "Above"]) == 1
    assert capsys.readouterr().out.startswith("step 2 (TRAIN 2): ")
    assert main([*arguments, "--timeout", "0"]) == 2
    assert "timeout_seconds must be above 0" in capsys.readouterr().err


def test_no_rule_at_all_is_wrong_use(trial, capsys):
    """Rather than a clean bill."""
    assert main(["rules", "run", trial]) == 2
    assert "give the names of rules, --recommended or --all" in capsys.readouterr().err


@pytest.mark.parametrize("columns", [60, 100])
def test_the_list_of_rules_fits_the_terminal(capsys, monkeypatch, columns):
    """Parameters go on in lines of their own; none is broken."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["rules", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    words = [word for line in lines for word in line.split()]
    assert "threshold_sigmoid_max=16.99999," in words
    widest = max(len(word) for word in words)
    left = lines[0].index("MEANING, PARAMETERS")
    assert max(map(len, lines)) <= max(columns, left + max(widest, 24))
    assert all(line[:left].strip() == "" or line[0] != " " for line in lines)


def test_built_in_rules_with_a_time_limit_run_in_processes_of_their_own(trial, capsys):
    """And find the same."""
    outputs = []
    for options in ([], ["--timeout", "30"]):
        assert main(["rules", "run", str(trial), "VanishingGradient", "--json", *options]) in (0, 1)
        outputs.append(json.loads(capsys.readouterr().out)["rules"][0]["issues"])
    assert outputs[0] == outputs[1]
