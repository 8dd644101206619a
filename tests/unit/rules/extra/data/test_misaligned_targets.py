"""MisalignedTargets fires when pictures are flipped or turned otherwise than the inputs that they belong to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sagemaker_debug_ext.rules.causes import likely_causes
from sagemaker_debug_ext.rules.extra.data.misaligned_targets import WAYS, as_pictures, fit_in_each_way
from support.rule_trials import KERAS_COLLECTIONS, TRAIN, loss_tensors

NUM_STEPS, BATCH, ROWS, COLUMNS = 8, 8, 16, 12
WAY = dict(WAYS[:4])


def spots(rng, shape=(BATCH, 1, ROWS, COLUMNS)):
    """Return masks of round spots, each at a place of its own."""
    rows, columns = np.mgrid[: shape[2], : shape[3]]
    at = rng.uniform(2, np.array(shape[2:]) - 2, (shape[0], shape[1], 2))[..., None, None]
    return (np.hypot(rows - at[:, :, 0], columns - at[:, :, 1]) < 3.5).astype(np.float32)


def steps_of(change, *, noise=0.3, shape=(BATCH, 1, ROWS, COLUMNS), **further):
    """Return training steps whose inputs are noisy masks, and whose targets a function makes of these."""
    found = {}
    for step in range(NUM_STEPS):
        rng = np.random.default_rng(step)
        masks = spots(rng, shape)
        inputs = (masks + rng.normal(0, noise, masks.shape)).astype(np.float32)
        targets = change(masks, rng)
        answers = rng.random(targets.shape, np.float32)
        found[TRAIN, step] = {
            "Net_input_0": inputs,
            "Net_output_0": answers,
            **loss_tensors(answers, targets, name="BCELoss"),
            **further,
        }
    return found


def flipped_apart(share, way=WAY["flipped left to right"]):
    """Return a function that changes a share of the masks."""

    def change(masks, rng):
        return np.where((rng.random(len(masks)) < share)[:, None, None, None], way(masks), masks)

    return change


@pytest.mark.parametrize("way", [name for name, _ in WAYS[1:4]])
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_targets_that_are_changed_otherwise_fire(run_rule, way, share):
    """The way is named, and the labels are to blame."""
    (issue,) = run_rule("MisalignedTargets", steps_of(flipped_apart(share, WAY[way])))
    assert way in issue.message
    assert issue.tensors == ("BCELoss_input_1", "Net_input_0")
    assert issue.step == NUM_STEPS - 1
    assert [cause.name for cause in likely_causes([issue])] == ["labels"]


def test_targets_of_squares_whose_rows_and_columns_are_exchanged_fire(run_rule):
    """So are masks of which some are transposed."""
    square = (BATCH, 1, ROWS, ROWS)
    (issue,) = run_rule(
        "MisalignedTargets", steps_of(flipped_apart(0.5, lambda masks: masks.swapaxes(2, 3)), shape=square)
    )
    assert "mirrored along a diagonal" in issue.message


@pytest.mark.parametrize(
    "change",
    [
        lambda masks, _: masks,
        flipped_apart(0.1),
        flipped_apart(1.0),
        lambda masks, rng: spots(rng, masks.shape),
        lambda masks, _: np.zeros_like(masks),
        lambda masks, rng: rng.permutation(masks),
        lambda masks, _: np.where(masks > 0, np.nan, masks),
        lambda masks, _: masks[:, :, :7],
        lambda masks, _: masks[:4],
    ],
    ids=[
        "aligned",
        "few flipped",
        "all flipped",
        "of others",
        "empty",
        "in another order",
        "gaps",
        "of another size",
        "of a part",
    ],
)
def test_targets_that_fit_as_they_are_or_not_at_all_do_not_fire(run_rule, change):
    """A flip of pictures that have nothing to do with each other fits some of them by chance."""
    assert run_rule("MisalignedTargets", steps_of(change)) == []


def test_pictures_of_which_only_texture_depends_on_the_target_do_not_fire(run_rule):
    """No target fits them by brightness, however it is turned."""
    assert run_rule("MisalignedTargets", steps_of(flipped_apart(0.5), noise=50)) == []


@pytest.mark.parametrize(
    ("change", "fires"),
    [
        (lambda answers: answers, True),
        (lambda answers: 1 / (1 + np.exp(-8 * answers)), True),
        (lambda answers: answers[:, 0], True),
        (lambda answers: answers[..., ::-1], False),
        (lambda answers: answers[:, :, :-1], False),
    ],
    ids=["its answers", "after a sigmoid", "without an axis", "of another pass", "cropped"],
)
def test_a_loss_of_other_answers_than_the_output_of_the_model_does_not_fire(run_rule, change, fires):
    """The model has also seen the mirror image, and the input of that pass is saved."""
    steps = steps_of(flipped_apart(0.5))
    for tensors in steps.values():
        tensors["BCELoss_input_0"] = change(tensors["Net_output_0"])
    assert bool(run_rule("MisalignedTargets", steps)) is fires


def test_the_fainter_one_of_two_symmetric_objects_does_not_fire(run_rule):
    """Its mirror image is brighter in every sample, and no target is aligned with it."""

    def steps():
        for step in range(NUM_STEPS):
            rng = np.random.default_rng(step)
            masks = spots(rng)
            pictures = (masks + 4 * masks[..., ::-1] + rng.normal(0, 0.1, masks.shape)).astype(np.float32)
            answers = rng.random(masks.shape)
            yield {"Net_input_0": pictures, "Net_output_0": answers, **loss_tensors(answers, masks, name="BCELoss")}

    found = {(TRAIN, step): tensors for step, tensors in enumerate(steps())}
    assert run_rule("MisalignedTargets", found) == []


def test_models_with_several_pictures_do_not_fire(run_rule):
    """The target may belong to the other one."""
    other = np.zeros((BATCH, 1, ROWS, COLUMNS))
    assert run_rule("MisalignedTargets", steps_of(flipped_apart(0.5), Other_input_0=other)) == []


def test_masks_of_classes_fire_by_the_class_that_fits(run_rule):
    """Indices of classes are no brightness: class 1 is dark here, class 2 is bright, and the rest is between."""

    def steps(change):
        found = {}
        for step in range(NUM_STEPS):
            rng = np.random.default_rng(step)
            dark, bright = spots(rng), spots(rng)
            classes = np.where(bright > 0, 2, np.where(dark > 0, 1, 0))
            shades = np.array([0.5, 0.0, 1.0])[classes]
            targets = change(classes, rng)[:, 0]
            answers = rng.random((BATCH, 3, ROWS, COLUMNS))
            found[TRAIN, step] = {"Net_input_0": shades, "Net_output_0": answers, **loss_tensors(answers, targets)}
        return found

    assert run_rule("MisalignedTargets", steps(lambda classes, _: classes)) == []
    (issue,) = run_rule("MisalignedTargets", steps(flipped_apart(0.5)))
    assert "flipped left to right" in issue.message


def test_pictures_of_keras_fire(run_rule, make_trial):
    """Channels are the last axis there."""

    def batch(step):
        rng = np.random.default_rng(step)
        masks = spots(rng)
        targets = np.moveaxis(flipped_apart(0.5)(masks, rng), 1, -1)
        inputs = np.moveaxis(np.concatenate([masks, 1 - masks, rng.normal(size=masks.shape)], axis=1), 1, -1)
        return {"inputs": inputs, "labels": targets, "predictions": np.full_like(targets, 0.5), "loss": 1.0}

    steps = {(TRAIN, step): batch(step) for step in range(NUM_STEPS)}
    (issue,) = run_rule("MisalignedTargets", make_trial(steps, collections=KERAS_COLLECTIONS))
    assert issue.tensors == ("labels", "inputs")


def test_fewer_samples_suffice_if_asked_for_and_more_may_be_off(run_rule):
    """Both limits are parameters, and a batch may hold more samples than are wanted."""
    steps = steps_of(flipped_apart(0.5))
    (issue,) = run_rule("MisalignedTargets", steps, samples=12)
    assert issue.step == 1
    assert "of 12 pictures" in issue.message
    assert run_rule("MisalignedTargets", steps, max_share_percent=90) == []


@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize("targets_axis", [1, -1, None])
def test_pictures_have_their_channels_first_and_are_thinned_out_alike(axis, targets_axis):
    """Channels may be the second or the last axis of both, and targets may have none."""
    inputs, targets = (np.random.default_rng(0).normal(size=(2, channels, 200, 130)) for channels in (3, 1))
    given = targets[:, 0] if targets_axis is None else np.moveaxis(targets, 1, targets_axis)
    found = as_pictures(np.moveaxis(inputs, 1, axis), given)
    assert found is not None
    assert np.array_equal(found[0], inputs[..., ::4, ::4])
    assert np.array_equal(found[1], targets[..., ::4, ::4])


@pytest.mark.parametrize(
    ("inputs", "targets"),
    [((2, 3, 7, 9), (2, 7, 9)), ((2, 9, 9), (2, 9, 9)), ((2, 3, 9, 9), (2, 9)), ((2, 9, 12, 10), (2, 12, 10))],
    ids=["small", "no channels", "no pictures", "many channels"],
)
def test_what_is_no_picture_is_not_compared(inputs, targets):
    """Features of places and series have the same number of axes."""
    assert as_pictures(np.zeros(inputs), np.zeros(targets)) is None


TINY = np.zeros((3, 2, 8, 8), np.float32)
TINY[:, 0, 0, 0], TINY[:, 1, 0, 0] = 2e-22, 1


@example(pictures=TINY, number=0)
@given(
    pictures=arrays(np.float32, (3, 2, 8, 8), elements=st.floats(-4, 4, width=32)),
    number=st.integers(0, len(WAYS) - 1),
)
def test_pictures_fit_best_in_the_way_that_takes_their_change_back(pictures, number):
    """Those of which any channel is not flat fit themselves with a squared correlation of 1."""
    changed = WAYS[number][1](pictures)
    varies = np.ptp(pictures, axis=(2, 3)).max(axis=1) > 1e-2
    assert np.allclose(fit_in_each_way(changed, pictures)[number][varies], 1, atol=1e-3)
