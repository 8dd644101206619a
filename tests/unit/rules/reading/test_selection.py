from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.rules.reading.selection import ALL_TENSORS, Selection
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role
from sagemaker_debug_ext.vocabulary import ModeKeys

STEPS = {
    (ModeKeys.TRAIN, 0): {"gradient/w": np.ones(1), "loss_0": np.ones(1), "w": np.ones(1)},
    (ModeKeys.TRAIN, 1): {"w": np.ones(1)},
}


@pytest.mark.parametrize(
    ("selection", "names"),
    [
        (Selection(), []),
        (Selection(("gradients",)), ["gradient/w"]),
        (Selection(("gradients", "losses")), ["gradient/w", "loss_0"]),
        (Selection(patterns=("w$",)), ["gradient/w", "w"]),
        (Selection(("losses",), ("^w",)), ["loss_0", "w"]),
        (Selection(("unknown",)), []),
        (ALL_TENSORS, ["gradient/w", "loss_0", "w"]),
    ],
)
def test_names_are_members_of_collections_and_matches_of_patterns(make_trial, selection, names):
    """Sorted, and only those saved at the step."""
    trial = make_trial(STEPS)
    assert StepView(trial, 0).selected(selection) == names
    assert StepView(trial, 1).selected(selection) == [name for name in names if name == "w"]


def test_asking_for_an_unknown_collection_does_not_create_it(make_trial):
    """The trial stays as it was."""
    trial = make_trial(STEPS)
    before = set(trial.collections())
    StepView(trial, 0).selected(Selection(("unknown",)))
    assert set(trial.collections()) == before


def test_a_selection_is_true_if_it_selects_anything():
    """None and empty mean nothing."""
    assert not Selection(None, None)
    assert not Selection((), [])
    assert Selection(("losses",))
    assert Selection(patterns=["x"])


def test_a_pattern_that_does_not_compile_is_refused():
    """The text names the pattern."""
    with pytest.raises(SMDebugValueError, match=r"tensor_regex.*\("):
        Selection(patterns=("(",))


@pytest.mark.parametrize(
    ("tensors", "names"),
    [
        (("Net_fc.weight", "Net_input_0", "Written_input_0"), ["Net_input_0"]),
        (("Net_fc.weight", "Critic_fc.weight", "Net_input_0", "Critic_input_0"), ["Critic_input_0", "Net_input_0"]),
        (("Net_input_0", "Written_input_0"), ["Net_input_0", "Written_input_0"]),
        (("Net_fc.weight", "Written_input_0"), ["Written_input_0"]),
    ],
)
def test_inputs_of_losses_are_not_inputs_of_the_model(make_trial, tensors, names):
    """The inputs of a module that has no parameters, such as a loss, are not those of the model, if others have."""
    trial = make_trial({(ModeKeys.TRAIN, 0): dict.fromkeys(tensors, np.ones((2, 2)))})
    assert StepView(trial, 0).selected(Selection(roles=(Role.MODEL_INPUT,))) == names


def test_parameters_when_a_layer_is_called_weights_then_its_values_are_none(make_trial):
    """The collection's pattern fits the names of its inputs and outputs, too."""
    tensors = dict.fromkeys(("Net_weights.weight", "weights_input_0", "weights_output_0"), np.ones(2))
    view = StepView(make_trial({(ModeKeys.TRAIN, 0): tensors}), 0)
    assert view.selected(Selection(("weights",))) == ["Net_weights.weight"]
    assert view.selected(Selection(("weights",), ("_output_0$",))) == ["Net_weights.weight", "weights_output_0"]
