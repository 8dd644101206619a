"""Issues of rules with `unless_learnt` count where the model does not learn its task."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules import Rule, evaluate
from sagemaker_debug_ext.rules.evaluation.outcome import MAX_PATIENCE, PATIENCE
from sagemaker_debug_ext.vocabulary import ModeKeys
from support.rule_trials import memory_trial

TRAIN, EVAL = ModeKeys.TRAIN, ModeKeys.EVAL
NUM_STEPS = 30


class Suspects(Rule):
    """Fires at some steps; what it finds is no fault of a model that learns its task."""

    unless_learnt = 80.0

    def __init__(self, base_trial, steps=(0,)):
        super().__init__(base_trial)
        self.steps = steps

    def invoke_at_step(self, step):
        return step in self.steps


class Knows(Suspects):
    """Fires at some steps, whatever the model learns."""

    unless_learnt = None


def answers(skill, *, loss=None, name="CrossEntropyLoss", model="a", seed=0):
    """Return the tensors of a step of a classifier.

    Args:
        skill: By how much the score of the right class is above the other; 0 for a model that has learnt nothing.
        loss: Value of the loss; what follows from the scores when not given.
        name: Name of the loss.
        model: Name of the model.
        seed: Of the classes.
    """
    classes = np.random.default_rng(seed).integers(0, 2, 64)
    scores = skill * np.eye(2)[classes]
    entropy = np.log(1 + np.exp(-skill))
    return {
        f"{name}_input_0": scores.astype(np.float32),
        f"{name}_input_1": classes,
        f"{name}_output_0": np.float32(entropy if loss is None else loss),
        f"{model}.weight": np.ones(3),
        f"gradient/{model}.weight": np.ones(3),
    }


def job(skills, mode=TRAIN, start=0, **options):
    """Return the steps of a job, with the model's skill at each."""
    return {(mode, start + number): answers(skill, seed=number, **options) for number, skill in enumerate(skills)}


def learning(num_steps=NUM_STEPS):
    return np.linspace(0, 6, num_steps)


def found(trial, **rules):
    evaluation = evaluate(rules or {"held": Suspects(trial)}, trial)
    return [(issue.rule, issue.step) for issue in evaluation], evaluation.statuses


def test_issues_of_a_model_that_learns_are_dropped(caplog):
    """Those of other rules are not."""
    caplog.set_level("INFO", logger="sagemaker_debug_ext.rules.evaluation.rule_run")
    trial = memory_trial(job(learning()))
    issues, (held, known) = found(trial, held=Suspects(trial, (0, 7)), known=Knows(trial, (3,)))
    assert issues == [("known", 3)]
    assert (held.status, held.num_issues, held.num_steps) == ("NoIssuesFound", 0, NUM_STEPS)
    assert known.status == "IssuesFound"
    assert "2 issues of rule held do not count" in caplog.text


def test_issues_of_a_model_that_does_not_learn_count():
    """At the end of its job, with the steps at which they were found."""
    trial = memory_trial(job(np.zeros(NUM_STEPS)))
    issues, (held, _) = found(trial, held=Suspects(trial, (0, 7)), known=Knows(trial, (3,)))
    assert issues == [("known", 3), ("held", 0), ("held", 7)]
    assert (held.status, held.first_issue_step, held.num_issues) == ("IssuesFound", 0, 2)


def test_a_rule_that_ends_at_its_first_issue_does_so():
    """Also where the issue was held."""
    trial = memory_trial(job(np.zeros(NUM_STEPS)))
    evaluation = evaluate([Suspects(trial, (2, 7))], trial, stop_rule_on_first_issue=True)
    assert [issue.step for issue in evaluation] == [2]


@pytest.mark.parametrize(("on_new_data", "counts"), [(0.0, True), (1.7, True), (2.0, False)])
def test_a_model_has_to_learn_what_holds_for_new_data(on_new_data, counts):
    """As far as it is evaluated."""
    trial = memory_trial(job(learning()) | job([on_new_data] * 5, EVAL))
    issues, _ = found(trial)
    assert bool(issues) == counts


@pytest.mark.parametrize("skill", [1.7, 2.2])
def test_the_error_has_to_be_a_fifth_of_that_of_a_constant(skill):
    """An error of 0.17 is too large for two classes, and 0.105 is not."""
    trial = memory_trial(job(np.full(NUM_STEPS, skill)))
    assert bool(found(trial)[0]) == (skill < 2)


def test_without_answers_and_targets_issues_count():
    """A loss alone does not say what a constant would be worth."""
    steps = {(TRAIN, step): {"loss_output_0": np.float32(1 / (1 + step))} for step in range(NUM_STEPS)}
    assert found(memory_trial(steps))[0] == [("held", 0)]


def test_a_side_that_wins_has_learnt_nothing():
    """A discriminator's small loss says nothing about the generator."""
    both = {
        (TRAIN, step): {
            "BCELoss_input_0": np.tile(np.float32([[0.99], [0.01]]), (32, 1)),
            "BCELoss_input_1": np.tile(np.float32([[1], [0]]), (32, 1)),
            "BCELoss_output_0": np.float32(0.01),
            "BCELoss_input_2": np.full((64, 1), 0.01, np.float32),
            "BCELoss_input_3": np.ones((64, 1), np.float32),
            "BCELoss_output_1": np.float32(4.6),
        }
        for step in range(NUM_STEPS)
    }
    alone = {key: {name: tensors[name] for name in list(tensors)[:3]} for key, tensors in both.items()}
    assert found(memory_trial(alone))[0] == []
    assert found(memory_trial(both))[0] == [("held", 0)]


@pytest.mark.parametrize(
    ("loss", "patience"),
    [(lambda step: 1.0, PATIENCE), (lambda step: 1.0 / (1 + step), MAX_PATIENCE)],
    ids=["level", "falling"],
)
def test_while_the_job_runs_issues_count_after_some_time(loss, patience):
    """Soon where the loss does not fall."""
    num_steps = patience + 100
    steps = {(TRAIN, step): answers(0.0, loss=loss(step), seed=step) for step in range(num_steps)}
    trial = memory_trial(steps)
    held = found(trial, held=Suspects(trial, (4,)), known=Knows(trial, range(num_steps)))[0]
    position = held.index(("held", 4))
    assert patience < held[position - 1][1] < patience + 10


def test_each_model_of_a_script_is_taken_by_itself():
    """The issues of the second do not count because the first has learnt nothing, nor the other way round."""
    first, second = job(learning(), model="a"), job(np.zeros(NUM_STEPS), start=NUM_STEPS, model="b")
    trial = memory_trial(first | second)
    assert found(trial, held=Suspects(trial, (0, NUM_STEPS)))[0] == [("held", NUM_STEPS)]
    first, second = job(np.zeros(NUM_STEPS), model="a"), job(learning(), start=NUM_STEPS, model="b")
    trial = memory_trial(first | second)
    known = Knows(trial, (NUM_STEPS,))
    assert found(trial, held=Suspects(trial), known=known)[0] == [("held", 0), ("known", NUM_STEPS)]


def test_an_outcome_that_cannot_be_computed_drops_nothing(monkeypatch):
    """The rules go on, and their issues count at once."""
    trial = memory_trial(job(learning()))
    monkeypatch.setattr("sagemaker_debug_ext.rules.evaluation.outcome.Outcome.observe", lambda *_: 1 / 0)
    issues, (held,) = found(trial, held=Suspects(trial, (0, 7)))
    assert issues == [("held", 0), ("held", 7)]
    assert held.num_steps == NUM_STEPS
