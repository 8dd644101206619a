"""What makes no sense to rules is refused by the name of the argument, and not by where it fails inside."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.analysis.utils import parse_list_from_str
from sagemaker_debug_ext.errors import SMDebugTypeError
from sagemaker_debug_ext.rules import (
    Isolation,
    Rule,
    create_custom_rule,
    create_rule,
    evaluate,
    exit_code,
    explain,
    invoke_rule,
)
from sagemaker_debug_ext.vocabulary import ModeKeys


class Silent(Rule):
    def invoke_at_step(self, step):
        return False


@pytest.fixture
def trial(make_trial):
    return make_trial({(ModeKeys.TRAIN, step): {"weight": np.full(2, step)} for step in range(3)})


@pytest.fixture
def rule_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from sagemaker_debug_ext.rules import Rule\n"
        "class Mine(Rule):\n"
        "    def invoke_at_step(self, step):\n"
        "        return False\n"
    )
    return path


@pytest.mark.parametrize("use", [invoke_rule, explain])
@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (
            "VanishingGradient",
            r"\(got 'VanishingGradient'\); create_rule\('VanishingGradient', trial\) makes one of the catalog's",
        ),
        (Silent, r"\(got .*\); Silent\(trial\) makes one"),
        (None, r"\(got None\)$"),
        ([], r"\(got \[\]\)$"),
    ],
    ids=["name", "class", "none", "list"],
)
def test_rule_when_it_is_none_then_says_how_to_make_one(use, given, hint):
    """A rule's name or class is no rule over a trial, and the error says how it becomes one."""
    with pytest.raises(SMDebugTypeError, match=f"must be a rule made for a trial {hint}"):
        use(given)


@pytest.mark.parametrize("steps", [{"start_step": "1"}, {"end_step": "1"}, {"start_step": None}])
def test_invoke_rule_when_a_bound_is_no_number_then_is_named(trial, steps):
    """Bounds are refused before the first step is evaluated."""
    (name,) = steps
    with pytest.raises(SMDebugTypeError, match=f"{name} must be a step"):
        invoke_rule(Silent(trial), **steps)


def test_evaluate_when_a_bound_is_no_number_then_refused_at_once(trial):
    """The error does not wait until somebody iterates."""
    with pytest.raises(SMDebugTypeError, match="end_step must be a step"):
        evaluate([Silent(trial)], trial, end_step="1")


@pytest.mark.parametrize("given", [None, "s3://bucket/trial", []], ids=repr)
@pytest.mark.parametrize(
    "make",
    [
        lambda trial, file: Silent(trial),
        lambda trial, file: create_rule("VanishingGradient", trial),
        lambda trial, file: create_rule("VanishingGradient", trial, isolation=Isolation()),
        lambda trial, file: create_custom_rule(file, "Mine", trial),
    ],
    ids=["class", "catalog", "isolated", "custom"],
)
def test_base_trial_when_it_is_no_trial_then_says_how_to_open_one(make, given, rule_file):
    """The path of a trial is opened by create_trial, not by a rule."""
    with pytest.raises(SMDebugTypeError, match=r"base_trial must be a trial, as create_trial\(path\) returns it"):
        make(given, rule_file)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda trial, file: create_rule(["VanishingGradient"], trial),
            "rule_name must be the name of a rule of the catalog",
        ),
        (
            lambda trial, file: create_rule("VanishingGradient", trial, "threshold=1"),
            "parameters must map names to values",
        ),
        (lambda trial, file: create_rule("VanishingGradient", trial, {1: 2}), "parameters must map names to values"),
        (lambda trial, file: create_rule("SimilarAcrossRuns", trial, None, trial), "must be a list of trials"),
        (lambda trial, file: create_rule("SimilarAcrossRuns", trial, None, "/a"), "must be a list of trials"),
        (lambda trial, file: create_rule("SimilarAcrossRuns", trial, None, ["/a"]), "each of other_trials must be a"),
        (lambda trial, file: create_rule("SimilarAcrossRuns", trial, {"other_trials": 3}), r"was expected \(got 3\)"),
        (lambda trial, file: create_rule("VanishingGradient", trial, isolation=True), "isolation must be an Isolation"),
        (
            lambda trial, file: create_rule("VanishingGradient", trial, {"action_json": {"name": "sms"}}),
            "action_json must be",
        ),
        (lambda trial, file: create_custom_rule(None, "Mine", trial), "source must be the path of a Python file"),
        (lambda trial, file: create_custom_rule(file, None, trial), "rule_to_invoke must be the name of a class"),
        (lambda trial, file: create_custom_rule(file, "Mine", trial, ["x"]), "parameters must map names to values"),
        (lambda trial, file: Silent(trial, trial), "other_trials must be a list of trials"),
        (lambda trial, file: explain(Silent(trial), "/a"), r"trial must be a trial, as create_trial\(path\) returns"),
        (lambda trial, file: Silent(trial).req_tensors.add("weight", 1), "steps must be a list of steps"),
        (lambda trial, file: Isolation(timeout_seconds="60"), r"timeout_seconds must be a number \(got '60'\)"),
        (lambda trial, file: parse_list_from_str(3), r"a list or a string was expected \(got 3\)"),
    ],
)
def test_rule_when_an_argument_is_of_a_wrong_type_then_named(trial, rule_file, make, message):
    """The error says which argument it is, what is allowed and what was given."""
    with pytest.raises(SMDebugTypeError, match=message):
        make(trial, rule_file)


@pytest.mark.parametrize(
    "given", [lambda evaluation: evaluation, lambda evaluation: [1]], ids=["evaluation", "numbers"]
)
def test_exit_code_when_given_no_statuses_then_refused(trial, given):
    """An evaluation that found nothing and one whose rules failed look alike without their statuses."""
    with pytest.raises(SMDebugTypeError, match=r"must be those of an evaluation: evaluation\.statuses"):
        exit_code(given(evaluate([Silent(trial)], trial)))


def test_create_rule_when_there_are_no_other_trials_then_none_does_as_well(trial):
    """Callers that pass on what they were given need not turn None into a list."""
    assert create_rule("VanishingGradient", trial, None, None).other_trials is None


def test_isolation_when_given_numbers_of_numpy_then_takes_them():
    """They are numbers like others."""
    assert Isolation(timeout_seconds=np.float32(2), memory_bytes=np.int64(1 << 30)).timeout_seconds == 2
