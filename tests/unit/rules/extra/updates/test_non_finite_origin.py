"""NonFiniteOrigin names the first tensor, in the order of computation, that is not finite."""

from __future__ import annotations

import numpy as np
import pytest

from support.rule_trials import ATTENTION_MASKS, GAPS_IN_TARGETS, TRAIN, fired_at, loss_tensors, steps_of, steps_with


def test_the_first_tensor_in_the_order_of_saving_is_named(run_rule):
    """The first non-finite tensor in the order of saving is named, and the finite one before it."""
    bad = np.array([1, np.nan])
    tensors = {"w_weight": np.ones(2), "z_output": np.ones(2), "m_output": bad, "a_output": bad, "b": np.ones(2)}
    (issue,) = run_rule("NonFiniteOrigin", {(TRAIN, 0): tensors})
    assert issue.tensors == ("m_output", "a_output")
    assert "'z_output' before it is finite" in issue.message
    assert "between 'z_output', the last finite tensor, and 'm_output'" in issue.advice


@pytest.mark.parametrize(
    ("tensors", "expected"),
    [
        ({"a": np.ones(2), "w_weight": np.array([np.nan])}, "'w_weight' is a parameter"),
        ({"x_input": np.array([np.nan]), "a": np.ones(2)}, "Nothing was saved before 'x_input'"),
    ],
)
def test_advice_when_the_first_is_a_weight_or_the_first_of_all_then_it_says_so(run_rule, tensors, expected):
    """There is no operation to inspect between two tensors."""
    (issue,) = run_rule("NonFiniteOrigin", {(TRAIN, 0): tensors})
    assert expected in issue.advice


def test_finite_values_do_not_fire(run_rule):
    """Finite values do not fire, however large they are."""
    assert run_rule("NonFiniteOrigin", steps_with("x", [np.array([1e300, -1e300])])) == []


@pytest.mark.parametrize(("name", "value", "parameters", "fires"), ATTENTION_MASKS)
def test_masks_fire_only_if_they_are_selected(run_rule, name, value, parameters, fires):
    """An input of 0 and minus infinity is an attention mask and is ignored unless it is selected."""
    steps = {(TRAIN, 0): {name: np.array(value, np.float32), "loss": np.array([1.0])}}
    assert fired_at(run_rule("NonFiniteOrigin", steps, **parameters)) == ([0] if fires else [])


@pytest.mark.parametrize(("values", "fires"), GAPS_IN_TARGETS)
def test_gaps_in_targets_fire_only_if_the_loss_does_not_leave_them_out(run_rule, values, fires):
    """A loss that is finite takes no notice of targets that are not; what is selected counts in any case."""
    tensors = {**loss_tensors(np.ones(2), np.ones(2), name="L1Loss"), "gradient/fc.weight": np.ones(1)}
    tensors |= {name: np.array(value) for name, value in values.items()}
    assert bool(run_rule("NonFiniteOrigin", steps_of([tensors]))) == fires
    assert run_rule("NonFiniteOrigin", steps_of([tensors]), tensor_regex=".*")
