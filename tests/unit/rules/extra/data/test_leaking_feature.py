"""LeakingFeature fires when one input feature determines the target."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.extra.data import leaking_feature
from sagemaker_debug_ext.rules.extra.data.leaking_feature import explained
from sagemaker_debug_ext.store.format.program import LayerRecord, ProgramRecord
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import fired_at, loss_tensors, steps_of

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("noise", "fires"), [(0.0, True), (0.02, True), (0.1, False)])
def test_a_feature_that_tells_the_target_leaks(run_rule, noise, fires):
    """A feature that determines the target fires whatever its scale, and one that only correlates does not."""

    def step(_):
        x, y = RNG.normal(size=(40, 5)), RNG.integers(0, 3, 40)
        x[:, 3] = 2 * y + noise * RNG.normal(size=40)
        return {
            "Net_input_0": x,
            "CrossEntropyLoss_input_0": RNG.normal(size=(40, 3)),
            "CrossEntropyLoss_input_1": y,
            "CrossEntropyLoss_output_0": 1.0,
        }

    assert [issue.step for issue in run_rule("LeakingFeature", steps_of(map(step, range(8))))] == ([4] if fires else [])


CATEGORIES = RNG.integers(0, 9, (40, 2))
NUMBERS = RNG.normal(size=(40, 3))


@pytest.mark.parametrize(
    ("first", "further", "layer", "fires"),
    [
        (CATEGORIES, lambda y: np.column_stack([NUMBERS, y]), "Linear", True),
        (CATEGORIES, lambda y: np.column_stack([NUMBERS, 3.0 - y]), "Linear", True),
        (CATEGORIES, lambda _: NUMBERS, "Linear", False),
        (CATEGORIES, lambda y: np.eye(3)[y], "Linear", False),
        (CATEGORIES, lambda y: y, "Linear", False),
        (CATEGORIES, lambda y: np.column_stack([CATEGORIES, y]), "Linear", False),
        (CATEGORIES, lambda y: np.column_stack([y, y, NUMBERS]), "Linear", False),
        (CATEGORIES, lambda y: np.column_stack([NUMBERS, y])[..., None], "Linear", False),
        (CATEGORIES, lambda y: np.column_stack([NUMBERS, y]), "LSTM", False),
        (CATEGORIES, lambda y: np.column_stack([NUMBERS, y]), "TransformerEncoderLayer", False),
        (NUMBERS, lambda y: np.column_stack([NUMBERS, y]), "Linear", False),
        (RNG.integers(0, 9, (40, 65)), lambda y: np.column_stack([NUMBERS, y]), "Linear", False),
    ],
)
def test_numbers_of_a_table_beside_its_categories_may_leak_too(run_rule, monkeypatch, first, further, layer, fires):
    """Labels that a model gets for other reasons, as for a loss that it computes, are no leak."""
    layers = (LayerRecord(name="first", type=layer),)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=layers))

    def step(_):
        y = RNG.integers(0, 3, 40)
        tensors = {"Net_input_0": RNG.permuted(first, axis=0), "Net_input_1": further(y)}
        return tensors | loss_tensors(RNG.normal(size=(40, 3)), y)

    assert bool(run_rule("LeakingFeature", steps_of(map(step, range(8))))) == fires


def test_a_few_rows_over_and_over_are_no_leak(run_rule):
    """The same few rows again and again do not fire, because each determines its own target."""
    x, y = RNG.normal(size=(20, 5)), RNG.normal(size=20)
    step = {"Net_input_0": x, "MSELoss_input_0": y * 0, "MSELoss_input_1": y, "MSELoss_output_0": 1.0}
    assert run_rule("LeakingFeature", steps_of([step] * 20)) == []


def test_words_that_are_their_own_targets_leak(run_rule):
    """Words that are their own targets fire, and the next words as targets do not."""
    words = RNG.integers(0, 9, (50, 7))
    for targets, fires in ((words[:, :-1], True), (words[:, 1:], False)):
        step = {
            "Net_input_0": words[:, :-1],
            "CrossEntropyLoss_input_0": RNG.normal(size=(50, 9, 6)),
            "CrossEntropyLoss_input_1": targets,
            "CrossEntropyLoss_output_0": 1.0,
        }
        assert bool(run_rule("LeakingFeature", steps_of([step] * 6))) == fires


def test_numbers_explain_by_a_straight_line():
    """The explained share is that of a straight line, and 0 for a feature without variance."""
    y = RNG.normal(size=100)
    found = explained(np.stack([3 - y, np.ones(100), RNG.normal(size=100)], axis=1), y)
    assert found[0] == pytest.approx(1)
    assert found[1] == 0
    assert found[2] < 0.2


@pytest.mark.parametrize("copies", [True, False])
def test_a_task_may_be_to_copy(run_rule, copies):
    """Inputs as targets are tolerated if `copies` is switched off."""
    words = np.arange(60).reshape(20, 3) % 5
    tensors = {"Net_input_0": words, "CrossEntropyLoss_input_0": np.ones((20, 5, 3))}
    tensors |= {"CrossEntropyLoss_input_1": words, "CrossEntropyLoss_output_0": 1.0}
    assert bool(run_rule("LeakingFeature", steps_of([tensors] * 11), copies=copies)) == copies


def step_of_table(inputs, targets, loss="CrossEntropyLoss"):
    scores = RNG.normal(size=(len(targets), 3)) if loss == "CrossEntropyLoss" else RNG.normal(size=len(targets))
    return {"Net_input_0": inputs, f"{loss}_input_0": scores, f"{loss}_input_1": targets, f"{loss}_output_0": 1.0}


def test_inputs_of_different_lengths_are_no_table(run_rule):
    """Inputs whose number of features changes, such as padded sounds, give no verdict."""
    batches = [step_of_table(RNG.normal(size=(50, width)), RNG.integers(0, 3, 50)) for width in (5, 7, 6, 5, 4, 8)]
    assert run_rule("LeakingFeature", steps_of(batches)) == []


@pytest.mark.parametrize("odd", [np.nan, np.inf, 1j])
def test_targets_that_are_not_finite_or_complex_give_no_verdict(run_rule, odd):
    """One target that is NaN, infinite or complex leaves its batch without a verdict."""
    targets = RNG.normal(size=256) + np.where(np.arange(256) == 3, odd, 0)
    batch = step_of_table(np.stack([targets.real, targets.real], axis=1), targets, "MSELoss")
    assert run_rule("LeakingFeature", steps_of([batch] * 3)) == []


@pytest.mark.parametrize(("times", "fires"), [(1, False), (9, False), (10, True)])
def test_a_rare_class_must_come_up_ten_times_to_count(run_rule, times, fires):
    """A feature that marks a class does not fire before the class came up ten times."""
    targets = np.arange(256) % 2
    targets[:times] = 2
    words = RNG.integers(0, 2, (256, 30)).astype(float)
    words[:, 4] = targets == 2
    assert bool(run_rule("LeakingFeature", steps_of([step_of_table(words, targets)] * 3))) == fires


def test_a_row_that_is_far_off_is_no_line():
    """One outlier does not make a feature explain the targets."""
    targets, features = RNG.normal(size=(200,)), RNG.normal(size=(200, 2))
    features[:, 1] = 2 * targets
    targets[7] = features[7, 0] = 1e4
    found = explained(features, targets)
    assert found[0] < 0.2
    assert found[1] == pytest.approx(1)


def test_a_large_batch_is_not_kept_as_a_whole(run_rule, monkeypatch):
    """A part of each large batch is kept, and enough rows still come together over batches."""
    monkeypatch.setattr(leaking_feature, "MAX_ELEMENTS", 300)
    kept = []
    monkeypatch.setattr(leaking_feature, "explained", lambda rows, _: kept.append(rows.shape) or np.zeros(3))
    batches = [step_of_table(RNG.normal(size=(999, 3)), RNG.normal(size=999), "MSELoss") for _ in range(3)]
    assert run_rule("LeakingFeature", steps_of(batches)) == []
    assert kept == [(200, 3)]


@pytest.mark.parametrize(("num_steps", "fires_at"), [(3, []), (4, [3])])
def test_copied_words_when_fewer_than_the_samples_then_give_no_verdict(run_rule, num_steps, fires_at):
    """Inputs that are their own targets fire with the 200th sample."""
    words = RNG.integers(0, 9, (50, 6))
    steps = steps_of([{"Net_input_0": words, **loss_tensors(RNG.normal(size=(50, 9, 6)), words)}] * num_steps)
    assert fired_at(run_rule("LeakingFeature", steps)) == fires_at


def test_issues_hold_the_share_or_the_number_of_copies_and_their_limit(run_rule):
    """An issue names the measured value and the limit that it broke."""
    words = RNG.integers(0, 9, (50, 6))
    (issue,) = run_rule("LeakingFeature", steps_of([step_of_table(words, words)] * 4))
    assert (issue.value, issue.threshold) == (200, 200)
    targets = RNG.integers(0, 3, 256)
    features = np.stack([targets, RNG.normal(size=256)], axis=1).astype(float)
    (issue,) = run_rule("LeakingFeature", steps_of([step_of_table(features, targets)]))
    assert (issue.value, issue.threshold) == (pytest.approx(1), 0.999)


@pytest.mark.parametrize(("offset", "fires"), [(0, True), (23, True), (24, False)])
def test_a_window_that_holds_its_target_leaks(run_rule, offset, fires):
    """The number after a window is known by its neighbours, and is not in it."""
    series = np.sin(np.arange(400) / 30).astype(np.float32)
    windows = np.stack([series[start : start + 24] for start in range(300)])[..., None]
    targets = series[offset : offset + 300]
    steps = steps_of(
        {"Net_input_0": windows[rows], **loss_tensors(targets[rows] * 0, targets[rows], name="MSELoss")}
        for rows in np.split(RNG.permutation(300), 10)
    )
    issues = run_rule("LeakingFeature", steps)
    assert bool(issues) == fires
    assert not fires or f"the number at ({offset}, 0) of each sample" in issues[0].message
