"""`TrainedModels` notices where a script goes on to train another model."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.rules.reading.step_view import StepReader
from sagemaker_debug_ext.rules.reading.trained_models import TrainedModels
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from support.rule_trials import EVAL, TRAIN


@pytest.mark.parametrize(
    ("saved", "changes"),
    [
        (["a b", "a b", "c d", "c d"], [2]),
        (["a b", "b c", "b c"], [1]),  # the body stays, with another head
        (["b", "a b"], []),  # a frozen body is trained, too
        (["a b", "b"], []),
        (["a", "", "a"], []),
        (["a", "b", "a", "b"], [1]),  # models that take turns
        (["a", "a b", "a", "a b"], []),  # saved at different intervals
    ],
)
def test_other_gradients_are_those_of_another_model(tmp_path, saved, changes):
    """New gradients, while some of the previous ones are not saved any more, show the change."""
    trial = SmallTrial(tmp_path / "trial")
    for step, names in enumerate(saved):
        trial.write(TRAIN, step, {"loss": 1.0, **{f"gradient/{name}_weight": 1.0 for name in names.split()}})
    trial.end()
    views, models = StepReader(create_trial(str(tmp_path / "trial"))), TrainedModels()
    assert [step for step in range(len(saved)) if models.have_changed(views.at(step))] == changes


def test_evaluation_of_another_model_changes_nothing(tmp_path):
    """Only what is trained counts."""
    trial = SmallTrial(tmp_path / "trial")
    for step, (mode, name) in enumerate([(TRAIN, "a"), (EVAL, "b"), (TRAIN, "a")]):
        trial.write(mode, step, {f"{name}_weight": 1.0})
    trial.end()
    views, models = StepReader(create_trial(str(tmp_path / "trial"))), TrainedModels()
    assert not any(models.have_changed(views.at(step)) for step in range(3))
