"""What sound runs do that looks like a fault: what keeps a rule silent, and what just still fires."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.roles import Role
from sagemaker_debug_ext.rules.selection import Selection
from sagemaker_debug_ext.rules.step import StepView
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN = ModeKeys.TRAIN


def course(steps, mode=TRAIN):
    return {(mode, number): tensors for number, tensors in enumerate(steps)}


class TestInputsOfModels:
    @pytest.mark.parametrize(
        ("tensors", "names"),
        [
            (("Net_fc.weight", "Net_input_0", "Written_input_0"), ["Net_input_0"]),
            (("Net_fc.weight", "Critic_fc.weight", "Net_input_0", "Critic_input_0"), ["Critic_input_0", "Net_input_0"]),
            (("Net_input_0", "Written_input_0"), ["Net_input_0", "Written_input_0"]),
            (("Net_fc.weight", "Written_input_0"), ["Written_input_0"]),
        ],
    )
    def test_what_goes_into_a_loss_of_any_name_is_none(self, make_trial, tensors, names):
        """As far as parameters tell which of the modules are models."""
        trial = make_trial(course([dict.fromkeys(tensors, np.ones((2, 2)))]))
        assert Selection(roles=(Role.MODEL_INPUT,)).names(StepView(trial, 0)) == names
