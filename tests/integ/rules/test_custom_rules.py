"""Rule files in the style of the documentation of Debugger run: renamed, or as they are through the alias."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.errors import RuleEvaluationConditionMet
from sagemaker_debug_ext.rules import Isolation, create_custom_rule, evaluate, invoke_rule
from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL = ModeKeys.TRAIN, ModeKeys.EVAL

GRADIENT = """
from smdebug.rules.rule import Rule

class CustomGradientRule(Rule):
    def __init__(self, base_trial, threshold=10.0):
        super().__init__(base_trial)
        self.threshold = float(threshold)

    def invoke_at_step(self, step):
        for tname in self.base_trial.tensor_names(collection="gradients"):
            t = self.base_trial.tensor(tname)
            abs_mean = t.reduction_value(step, "mean", abs=True)
            if abs_mean > self.threshold:
                return True
        return False
"""

REQUIRED = """
from smdebug.rules import Rule

class LargeWeights(Rule):
    def __init__(self, base_trial, action_str="", threshold="1"):
        super().__init__(base_trial, action_str)
        self.threshold = float(threshold)

    def set_required_tensors(self, step):
        for name in self.base_trial.tensor_names(step=step, collection="weights"):
            self.req_tensors.add(name=name, steps=[step])

    def invoke_at_step(self, step):
        for tensor in self.req_tensors.get():
            if tensor.value(step).max() > self.threshold:
                self.logger.info("%s is large", tensor.name)
                return True
        return False
"""

LOOKING_BACK = """
from smdebug.rules.rule import Rule

class LossRises(Rule):
    def __init__(self, base_trial, window=2):
        super().__init__(base_trial, other_trials=None)
        self.window = int(window)

    def set_required_tensors(self, step):
        for tname in self.base_trial.tensor_names(regex=".*loss"):
            steps = self.base_trial.tensor(tname).prev_steps(step, self.window)
            self.req_tensors.add(name=tname, steps=steps)

    def invoke_at_step(self, step):
        for tensor in self.req_tensors.get():
            steps = self.req_tensors.get_tensor_steps(tensor.name)
            values = [tensor.value(step) for step in steps]
            if len(values) == self.window and values[-1] > values[0]:
                return True
        return False
"""

PATTERN_AND_MODE = """
from smdebug import modes
from smdebug.core.modes import ModeKeys
from smdebug.exceptions import StepUnavailable, TensorUnavailableForStep
from smdebug.rules import Rule

class EvalLossLarge(Rule):
    def __init__(self, base_trial, limit):
        super().__init__(base_trial, "", None)
        self.limit = float(limit)
        assert ModeKeys is modes

    def set_required_tensors(self, step):
        self.req_tensors.add(".*loss$", steps=[step], should_match_regex=True)

    def invoke_at_step(self, step):
        if self.base_trial.mode(step) != modes.EVAL:
            return False
        mode_step = self.base_trial.mode_step(step)
        for tname in self.req_tensors.get_names():
            try:
                value = self.base_trial.tensor(tname).value(mode_step, mode=modes.EVAL)
            except (StepUnavailable, TensorUnavailableForStep):
                continue
            self.report["Datapoints"] += 1
            if value[0] > self.limit:
                self.report["RuleTriggered"] += 1
                return True
        return False
"""

OTHER_TRIAL = """
import numpy as np
from smdebug.rules import Rule

class Differs(Rule):
    def __init__(self, base_trial, other_trials):
        super().__init__(base_trial, other_trials)
        self.other = self.other_trials[0]

    def set_required_tensors(self, step):
        for trial in self.trials:
            for name in trial.tensor_names(step=step, collection="weights"):
                self.req_tensors.add(name, steps=[step], trial=trial)

    def invoke_at_step(self, step):
        for mine, others in zip(self.req_tensors.get(), self.req_tensors.get(trial=self.other)):
            if not np.allclose(mine.value(step), others.value(step)):
                return True
        return False
"""

ENDING_ITSELF = """
from smdebug.exceptions import RuleEvaluationConditionMet
from smdebug.rules import Rule
from smdebug.rules.action import Actions

class OnlyOnce(Rule):
    def __init__(self, base_trial):
        super().__init__(base_trial)
        self.seen = []

    def invoke_at_step(self, step):
        self.seen.append(step)
        if step >= 2:
            raise RuleEvaluationConditionMet(self.rule_name, step, end_of_rule=True)
        return False
"""

WITH_LOGGER = """
import logging

import numpy as np
from smdebug.core.logger import get_logger
from smdebug.rules.rule import Rule


class NanLoss(Rule):
    def __init__(self, base_trial, collection_names=None, tensor_regex=None):
        super().__init__(base_trial, None)
        self.names = collection_names.split(",") if collection_names else []
        self.regex = tensor_regex

    def set_required_tensors(self, step):
        for coll in self.names:
            for tname in self.base_trial.tensor_names(step=step, collection=coll):
                self.req_tensors.add(name=tname, steps=[step])

    def invoke_at_step(self, step):
        for tensor in self.req_tensors.get():
            if np.abs(tensor.reduction_value(step, "max", abs=True)) > 8:
                get_logger().info("%s", tensor.name)
                return True
        return False
"""

STEPS = {
    (TRAIN, 0): {"gradient/w": np.full(3, -5.0), "w_weight": np.ones(2), "a_loss": 3.0},
    (TRAIN, 1): {"gradient/w": np.full(3, -20.0), "w_weight": np.ones(2), "a_loss": 2.0},
    (EVAL, 0): {"a_loss": 9.0},
    (TRAIN, 2): {"gradient/w": np.full(3, 1.0), "w_weight": np.full(2, 3.0), "a_loss": 1.0},
    (EVAL, 1): {"a_loss": 2.5},
}
COLLECTIONS = {"gradients": ["^gradient"], "weights": ["weight$"], "losses": ["loss"]}

CASES = [
    pytest.param(GRADIENT, "CustomGradientRule", {"threshold": "10.0"}, [1], id="reductions of a collection"),
    pytest.param(REQUIRED, "LargeWeights", {"threshold": "2"}, [3], id="required tensors"),
    pytest.param(LOOKING_BACK, "LossRises", {"window": "2"}, [2, 4], id="looking back"),
    pytest.param(PATTERN_AND_MODE, "EvalLossLarge", {"limit": "5"}, [2], id="pattern and mode"),
    pytest.param(OTHER_TRIAL, "Differs", {}, [3], id="another trial"),
    pytest.param(WITH_LOGGER, "NanLoss", {"collection_names": "losses"}, [2], id="logger and text lists"),
    pytest.param(ENDING_ITSELF, "OnlyOnce", {}, [2], id="ending itself"),
]


@pytest.fixture
def trial(tmp_path):
    write_trial(tmp_path / "base", STEPS, collections=COLLECTIONS)
    return create_trial(str(tmp_path / "base"))


@pytest.fixture
def other_path(tmp_path):
    steps = {key: {**tensors, "w_weight": np.ones(2)} for key, tensors in STEPS.items()}
    write_trial(tmp_path / "other", steps, collections=COLLECTIONS)
    return str(tmp_path / "other")


@pytest.fixture(params=["renamed", "as it is"])
def make_rule(request, tmp_path, trial, other_path):
    """Return a function that makes a rule from a file written for the original."""
    renamed = request.param == "renamed"

    def make(source, name, parameters, **options):
        path = tmp_path / "my_rule.py"
        path.write_text(source.replace("smdebug", "sagemaker_debug_ext") if renamed else source)
        given = dict(parameters, rule_to_invoke=name)
        if name == "Differs":
            given["other_trial_0"] = other_path
        return create_custom_rule(path, name, trial, given, smdebug_alias=not renamed, **options)

    return make


@pytest.mark.parametrize(("source", "name", "parameters", "fires_at"), CASES)
def test_a_custom_rule_runs_in_the_engine(make_rule, trial, source, name, parameters, fires_at):
    """With parameters as text, as a request has them."""
    evaluation = evaluate([make_rule(source, name, parameters)], trial)
    assert [issue.step for issue in evaluation] == fires_at
    assert [status.status for status in evaluation.statuses] == ["IssuesFound"]


@pytest.mark.parametrize(("source", "name", "parameters", "fires_at"), CASES)
def test_a_custom_rule_runs_through_invoke_rule(make_rule, source, name, parameters, fires_at):
    """To the end of the job, or to the first step at which it fires."""
    invoke_rule(make_rule(source, name, parameters))
    with pytest.raises(RuleEvaluationConditionMet, match=f"rule {name} at step {fires_at[0]} "):
        invoke_rule(make_rule(source, name, parameters), raise_eval_cond=True)


# What is renamed differs only in what it imports; that one such rule can be imported there is enough.
@pytest.mark.parametrize(
    ("make_rule", "case"), [*(("as it is", case) for case in CASES), ("renamed", CASES[0])], indirect=["make_rule"]
)
def test_a_custom_rule_runs_in_a_process_of_its_own(make_rule, trial, case):
    """With the same issues."""
    source, name, parameters, fires_at = case.values
    rule = make_rule(source, name, parameters, isolation=Isolation())
    found = evaluate([rule], trial).run()
    assert (rule.rule_name, [issue.step for issue in found]) == (name, fires_at)
    assert found == evaluate([make_rule(source, name, parameters)], trial).run()


def test_a_rule_may_end_itself(make_rule):
    """Later steps are not shown to it."""
    rule = make_rule(ENDING_ITSELF, "OnlyOnce", {})
    invoke_rule(rule)
    assert rule.seen == [0, 1, 2]
