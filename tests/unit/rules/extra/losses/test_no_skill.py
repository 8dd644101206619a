"""NoSkill fires when the model is not better than the best constant prediction."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.store.format.program import LayerRecord, LossRecord, ProgramRecord
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import Trial, create_trial
from support.rule_trials import (
    EVAL,
    GLOBAL,
    KERAS_COLLECTIONS,
    TRAIN,
    classification_steps,
    fired_at,
    first_cause,
    loss_tensors,
    steps_of,
)


@pytest.mark.parametrize(("confidence", "fires"), [(0.0, True), (0.02, True), (0.3, False)])
def test_a_model_must_beat_the_best_constant(run_rule, confidence, fires):
    """Scores that beat the best constant by less than the limit fire when the job has ended."""
    assert fired_at(run_rule("NoSkill", classification_steps(confidence))) == ([59] if fires else [])


@pytest.mark.parametrize("kind", ["BCELoss", "BCEWithLogitsLoss", "MSELoss", "QuantileLoss"])
@pytest.mark.parametrize(("confidence", "fires"), [(0.0, True), (0.9, False)])
def test_a_model_must_beat_a_constant_of_each_target(run_rule, kind, confidence, fires):
    """Knowing the mean of each pixel, but nothing of a picture, is no skill."""
    rng = np.random.default_rng(0)
    means = rng.uniform(0.1, 0.9, 12)
    steps = []
    for _ in range(60):
        targets = (rng.random((30, 12)) < means).astype(float)
        answers = means + confidence * (targets - means)
        if kind == "BCEWithLogitsLoss":
            answers = np.log(answers / (1 - answers))
        loss = np.mean(-targets * np.log(means) - (1 - targets) * np.log(1 - means)) if confidence == 0 else 1.0
        steps.append(loss_tensors(answers, targets, loss, kind))
    assert bool(run_rule("NoSkill", steps_of(steps))) == fires


@pytest.mark.parametrize(
    ("kind", "value", "fires"),
    [
        ("sparse_softmax_cross_entropy_with_logits", 0.5, False),
        ("sparse_softmax_cross_entropy_with_logits", 1.0, True),
        ("sparse_categorical_crossentropy", 0.5, True),
    ],
)
def test_a_loop_that_weights_the_loss_of_classes_shifts_the_predictions(
    make_trial, run_rule, monkeypatch, kind, value, fires
):
    """A function of TensorFlow gives the loss of each sample, which the loop takes times weights."""
    loss = LossRecord(name="predictions", type=kind)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="Keras", losses=(loss,)))
    rng, steps = np.random.default_rng(0), []
    for _ in range(60):
        labels = (rng.random(30) < 0.1).astype(int)
        scores = np.zeros((30, 2))
        steps.append({"predictions": scores, "labels": labels, "loss": value * np.log(2)})
    trial = make_trial(steps_of(steps), collections=KERAS_COLLECTIONS)
    assert bool(run_rule("NoSkill", trial)) == fires


@pytest.mark.parametrize(("gap", "fires"), [(0.2, True), (2.0, False), (-2.0, True)])
def test_a_model_that_tells_rare_pixels_apart_has_skill_although_its_level_is_wrong(run_rule, gap, fires):
    """Logits of three pixels of a hundred that are larger than those of others, which are not small enough yet."""
    rng, steps = np.random.default_rng(0), []
    for _ in range(60):
        targets = (rng.random((16, 100)) < 0.03).astype(float)
        scores = -1.5 + 2 * gap * targets + 0.5 * rng.normal(size=targets.shape)
        loss = np.mean(np.logaddexp(0, scores) - scores * targets)
        steps.append(loss_tensors(scores, targets, loss, "BCEWithLogitsLoss"))
    assert bool(run_rule("NoSkill", steps_of(steps))) == fires


@pytest.mark.parametrize(
    ("confidence", "text"), [(0.02, "% below that of the best constant"), (-1.0, "% above that of the best constant")]
)
def test_the_message_says_on_which_side_of_the_constant_the_error_is(run_rule, confidence, text):
    """Scores that are worse than the constant are not called a negative gain."""
    (issue,) = run_rule("NoSkill", classification_steps(confidence))
    assert text in issue.message
    assert "-" not in issue.message.partition("best constant")[0]


@pytest.mark.parametrize(("num", "fires"), [(40, True), (20, False)])
def test_a_model_may_begin_to_learn_late(run_rule, num, fires):
    """The best result so far counts, so a model may lose its skill, but must show it within the patience."""
    steps = {**classification_steps(3.0, num=60), **classification_steps(0.0, num=num)}
    assert run_rule("NoSkill", steps) == []
    assert bool(run_rule("NoSkill", steps, patience_running=35, patience=20)) == fires


@pytest.mark.parametrize(("last", "fires"), [(20.0, False), (28.0, True)])
def test_an_error_that_still_falls_gives_no_verdict_while_the_job_runs(run_rule, last, fires):
    """Targets far from 0 take many updates, and are learnt in the end."""
    rng = np.random.default_rng(0)
    steps = []
    for step in range(200):
        targets = 3 + rng.normal(size=(20, 1))
        distance = 30 - (30 - last) * step / 120 if step < 120 else 0
        steps.append(loss_tensors(targets - distance + 0.1 * rng.normal(size=(20, 1)), targets, name="MSELoss"))
    assert bool(run_rule("NoSkill", steps_of(steps), patience_running=100)) == fires


def test_losses_that_end_at_different_steps_are_evaluated_each_at_its_own(tmp_path):
    """Each loss is evaluated at its own last step, in a followed job as in a replay."""
    job = SmallTrial(tmp_path)
    steps = list(classification_steps(0.0, num=80).values())
    for step, tensors in enumerate(steps):
        others = {f"Other{name}": value for name, value in classification_steps(0.0, num=1)[TRAIN, 0].items()}
        job.write(TRAIN, step, {**others, **(tensors if step < 60 else {})})

    def judge_now(**options):
        trial = create_trial(str(tmp_path))
        return sorted(fired_at(evaluate([create_rule("NoSkill", trial)], trial, **options)))

    live = judge_now(sleep=lambda _: job.end())
    assert live == judge_now() == [59, 79]


def test_fewer_than_two_hundred_samples_give_no_verdict(run_rule):
    """Fewer than two hundred samples give no verdict."""
    steps = classification_steps(0.0)
    few = {key: {name: value[:3] if np.ndim(value) else value for name, value in steps[key].items()} for key in steps}
    assert run_rule("NoSkill", few) == []


def test_fewer_steps_than_patience_give_no_verdict(run_rule):
    """Fewer steps than the patience give no verdict."""
    assert run_rule("NoSkill", classification_steps(0.0, num=49)) == []


@pytest.mark.parametrize(("noise", "fires"), [(1.2, True), (0.5, False)])
def test_numbers_are_compared_with_their_mean(run_rule, noise, fires):
    """Predictions of numbers are compared with the mean of the targets, by the squared error."""
    rng = np.random.default_rng(1)
    steps = {}
    for step in range(50):
        targets = rng.normal(size=(20, 1))
        steps[TRAIN, step] = loss_tensors(targets + noise * rng.normal(size=(20, 1)), targets, name="L1Loss")
    assert bool(run_rule("NoSkill", steps)) == fires


@pytest.mark.parametrize(("noise", "fires"), [(9.0, True), (1.0, False)])
def test_predictions_of_other_losses_must_correlate_with_targets(run_rule, noise, fires):
    """Predictions for other losses must correlate with the targets, at any place and scale."""
    rng = np.random.default_rng(1)
    steps = {}
    for step in range(50):
        targets = rng.normal(size=(20, 1))
        scores = 40 - 7 * (targets + noise * rng.normal(size=(20, 1)))
        steps[TRAIN, step] = loss_tensors(scores, targets, name="QuantileLoss")
    assert bool(run_rule("NoSkill", steps)) == fires


@pytest.mark.parametrize(("confidence", "fires"), [(0.05, True), (2.0, False)])
def test_soft_labels_are_probabilities(run_rule, confidence, fires):
    """Soft labels are probabilities of class 1."""
    rng = np.random.default_rng(1)
    steps = {}
    for step in range(50):
        targets = rng.choice([0.1, 0.9], size=(20, 1))
        steps[TRAIN, step] = loss_tensors((targets * 2 - 1) * confidence, targets, name="BCEWithLogitsLoss")
    assert bool(run_rule("NoSkill", steps)) == fires


@pytest.mark.parametrize(("best", "fires"), [(0.7, True), (0.6, False)])
def test_boosted_trees_are_evaluated_by_their_validation_loss(run_rule, best, fires):
    """Boosted trees are evaluated by the best validation loss of fifteen rounds."""
    labels = np.array([0.0, 1.0] * 10)
    steps = {(GLOBAL, n): {"validation-logloss": 0.8, "labels": labels} for n in range(15)}
    steps[GLOBAL, 7] = {"validation-logloss": best, "labels": labels}
    issues = run_rule("NoSkill", steps)
    assert fired_at(issues) == ([14] if fires else [])
    assert all("new data" in issue.message for issue in issues)


@pytest.mark.parametrize(("known", "fires"), [(1.0, False), (0.0, True)])
def test_places_that_the_loss_ignores_are_no_class(run_rule, known, fires):
    """Places that the loss ignores, such as words that were not hidden, are not a class."""
    labels = np.tile(np.arange(5), 20)
    scores = known * np.eye(5)[labels]
    labels = np.where(np.arange(100) < 80, -100, labels)
    tensors = {"CrossEntropyLoss_input_0": scores, "CrossEntropyLoss_input_1": labels}
    tensors["CrossEntropyLoss_output_0"] = np.array(1.0)
    assert bool(run_rule("NoSkill", steps_of([tensors] * 60))) == fires


@pytest.mark.parametrize(("known", "fires"), [(2.0, False), (0.0, True)])
def test_predictions_of_a_weighted_loss_need_only_correlate(run_rule, known, fires):
    """Predictions for a weighted loss may be biased, and need only correlate with the targets."""
    rng, steps = np.random.default_rng(0), []
    for _ in range(60):
        targets = (rng.random((40, 1)) < 0.1).astype(float)
        scores = known * targets + rng.normal(size=(40, 1))
        errors = (np.logaddexp(0, scores) - scores * targets) * (1 + 9 * targets)
        tensors = {"BCEWithLogitsLoss_input_0": scores, "BCEWithLogitsLoss_input_1": targets}
        steps.append({**tensors, "BCEWithLogitsLoss_output_0": float(errors.mean())})
    assert bool(run_rule("NoSkill", steps_of(steps))) == fires


def test_logits_of_a_weighted_loss_count_as_probabilities(run_rule):
    """Logits of rare positives lie far apart, so that a line through them explains little."""
    rng, steps = np.random.default_rng(0), []
    for _ in range(60):
        targets = (rng.random((60, 1)) < 0.05).astype(float)
        scores = np.where(targets == 1, 2.0, -4 - 40 * rng.random((60, 1)) ** 3)
        errors = (np.logaddexp(0, scores) - scores * targets) * (1 + 4 * targets)
        tensors = {"BCEWithLogitsLoss_input_0": scores, "BCEWithLogitsLoss_input_1": targets}
        steps.append({**tensors, "BCEWithLogitsLoss_output_0": float(errors.mean())})
    assert run_rule("NoSkill", steps_of(steps), min_gain_percent=90) == []


@pytest.mark.parametrize(("weights", "fires"), [([0.5, 5.0], False), ([1.0, 1.0], True)])
def test_predictions_of_weighted_classes_are_not_compared(run_rule, monkeypatch, weights, fires):
    """Weights of rare classes shift predictions, so that their plain cross entropy is above that of a constant."""
    loss = LossRecord(name="CrossEntropyLoss", type="CrossEntropyLoss", arguments={"weight": weights})
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", losses=(loss,)))
    rng, steps = np.random.default_rng(0), []
    for _ in range(60):
        labels = (rng.random(40) < 0.1).astype(int)
        steps.append(loss_tensors(rng.normal(size=(40, 2)), labels))
    assert bool(run_rule("NoSkill", steps_of(steps))) == fires


@pytest.mark.parametrize(("weights", "fires"), [([0.5, 5.0], False), ([1.0, 1.0], True)])
def test_weights_of_a_loss_are_known_where_the_model_holds_it(run_rule, monkeypatch, weights, fires):
    """As a layer, the loss has another name than in the record of losses, which names it by its class."""
    loss = LossRecord(name="CrossEntropyLoss", type="CrossEntropyLoss", arguments={"weight": weights})
    layer = LayerRecord(name="criterion", type="CrossEntropyLoss")
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", losses=(loss,), layers=(layer,)))
    rng, steps = np.random.default_rng(0), []
    for _ in range(60):
        labels = (rng.random(40) < 0.1).astype(int)
        steps.append(loss_tensors(rng.normal(size=(40, 2)), labels, name="criterion"))
    assert bool(run_rule("NoSkill", steps_of(steps))) == fires


@pytest.mark.parametrize(("is_weighted", "fires"), [(True, False), (False, True)])
def test_weighted_samples_are_judged_by_what_predictions_tell(make_trial, run_rule, monkeypatch, is_weighted, fires):
    """Keras is given the weights of a rare class with the samples, which shift the probabilities."""
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="Keras", is_weighted=is_weighted))
    rng, steps = np.random.default_rng(0), []
    for _ in range(60):
        labels = (rng.random((40, 1)) < 0.1).astype("float32")
        shares = 1 / (1 + np.exp(-(rng.normal(size=(40, 1)) + 1.5 * labels)))
        plain = -np.mean(np.log(np.where(labels == 1, shares, 1 - shares)))
        steps.append({"loss": plain, "predictions": shares, "labels": labels})
    trial = make_trial(steps_of(steps), collections=KERAS_COLLECTIONS)
    assert bool(run_rule("NoSkill", trial)) == fires


@pytest.mark.parametrize(
    ("layer", "size", "cause"),
    [
        ("MultiheadAttention", 0.05, "learning rate too high"),
        ("MultiHeadAttention", 0.05, "learning rate too high"),
        ("MultiheadAttention", 0.03, "labels"),
        ("LSTM", 0.05, "labels"),
    ],
)
def test_updates_that_attention_does_not_bear_are_to_blame(run_rule, monkeypatch, layer, size, cause):
    """One large update of the median weight is enough, as the first one of Adam is."""
    layers = (LayerRecord(name="attend", type=layer),)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=layers))
    steps = classification_steps(0.0)
    for (_, number), tensors in steps.items():
        scale = 1 + (size if number > 3 else 0)
        tensors.update({f"Net_{name}.weight": np.full((3, 3), scale) for name in "abc"}, **{"Net_d.weight": np.eye(3)})
    assert first_cause(run_rule("NoSkill", steps)) == cause


@pytest.mark.parametrize(("ignored", "fires"), [(0, False), (-100, True)])
def test_predictions_at_padding_are_not_compared(run_rule, monkeypatch, ignored, fires):
    """What a model predicts where the loss ignores it is arbitrary."""
    loss = LossRecord(name="CrossEntropyLoss", type="CrossEntropyLoss", arguments={"ignore_index": ignored})
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", losses=(loss,)))
    rng, steps = np.random.default_rng(0), []
    for _ in range(60):
        labels = rng.integers(0, 4, 40)
        scores = np.eye(4)[np.where(labels == 0, 1, labels)] * 4
        steps.append(loss_tensors(scores, labels))
    assert bool(run_rule("NoSkill", steps_of(steps), min_gain_percent=50)) == fires


@pytest.mark.parametrize(("times", "fires"), [(1.0, True), (1.009, True), (1.011, False)])
def test_biased_predictions_when_the_loss_is_not_weighted_then_fire(run_rule, times, fires):
    """Predictions that lean to one side are excused only if the loss value is not the plain cross entropy."""
    rng, steps = np.random.default_rng(0), []
    for _ in range(60):
        targets = (rng.random((40, 1)) < 0.5).astype(float)
        scores = 2 * targets + rng.normal(size=(40, 1)) + 6
        plain = float((np.logaddexp(0, scores) - scores * targets).mean())
        steps.append(loss_tensors(scores, targets, times * plain, "BCEWithLogitsLoss"))
    assert bool(run_rule("NoSkill", steps_of(steps))) == fires


@pytest.mark.parametrize(("highest", "fires"), [(1.0, False), (1.01, True)], ids=["probabilities", "logits"])
def test_outputs_from_0_to_1_when_given_to_a_loss_of_logits_then_give_no_verdict(run_rule, highest, fires):
    """Outputs within 0 and 1 may be probabilities, so they are not compared as logits."""
    rng, steps = np.random.default_rng(0), []
    for _ in range(60):
        scores, targets = rng.random((20, 1)), rng.integers(0, 2, (20, 1)).astype(float)
        scores[0] = highest
        plain = float((np.logaddexp(0, scores) - scores * targets).mean())
        steps.append(loss_tensors(scores, targets, plain, "BCEWithLogitsLoss"))
    assert bool(run_rule("NoSkill", steps_of(steps))) == fires


@pytest.mark.parametrize(("window", "fires"), [(20, True), (7, False)])
def test_skill_of_a_few_steps_is_averaged_over_the_window(run_rule, window, fires):
    """Skill at the last seven steps is too little for a window of twenty, and enough for one of seven."""
    steps = {**classification_steps(0.0)}
    steps |= {key: tensors for key, tensors in classification_steps(0.2).items() if key[1] >= 53}
    assert bool(run_rule("NoSkill", steps, window=window)) == fires


def test_steps_before_the_window_do_not_count(run_rule):
    """A bad start is forgotten once the latest twenty steps have skill."""
    steps = {**classification_steps(-9.0), **{k: v for k, v in classification_steps(3.0).items() if k[1] >= 40}}
    assert run_rule("NoSkill", steps) == []


@pytest.mark.parametrize(("skill", "fires"), [(3.0, False), (0.0, True)])
def test_skill_in_evaluation_counts_where_dropout_makes_training_poor(run_rule, skill, fires):
    """Validation with skill shows that the model has learnt; validation without skill does not."""
    steps = {}
    for (_, number), tensors in classification_steps(0.0).items():
        if number % 2:
            steps[EVAL, number] = classification_steps(skill)[TRAIN, number]
        steps[TRAIN, number] = tensors
    assert bool(run_rule("NoSkill", steps)) == fires


@pytest.mark.parametrize(
    ("first", "later", "pause", "fires"),
    [
        (-0.2, -0.2, 5, True),
        (0.0, -0.2, 5, True),
        (3.0, -0.2, 5, False),
        (-0.2, 3.0, 5, False),
        (-0.2, -0.2, 15, False),
    ],
    ids=["never", "at no pass", "at first", "at last", "few passes"],
)
def test_skill_that_holds_for_no_new_data_fires(run_rule, first, later, pause, fires):
    """Labels that are mixed up are learnt by heart, and each pass of evaluation is worse than a constant."""
    at_first, learnt = classification_steps(first), classification_steps(3.0)
    steps = {}
    for _, number in learnt:
        steps[TRAIN, number] = learnt[TRAIN, number]
        if (number + 1) % pause == 0:
            evaluated = at_first if number < 30 else classification_steps(later)
            steps |= {(EVAL, 10 * number + place): evaluated[TRAIN, (number + place) % 60] for place in range(10)}
    issues = run_rule("NoSkill", steps)
    assert bool(issues) == fires
    assert all("learns nothing that holds for new data" in issue.message for issue in issues)
    assert not fires or first_cause(issues) == "labels"


def rounds_of(evaluations):
    """Return steps of training with skill, and after each ten of them a pass of evaluation of one batch."""
    steps = classification_steps(3.0, num=10 * len(evaluations) + 1)
    found = {}
    for (mode, number), tensors in steps.items():
        if number % 10 == 0 and number:
            found[EVAL, number] = loss_tensors(*evaluations[number // 10 - 1])
        found[mode, number] = tensors
    return found


def batch_of(confidence, *, scale=1.0, share=1.0):
    """Return scores and labels of 300 samples, a share of them with a bonus of the right class, the rest of another."""
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 3, 300), rng.normal(size=(300, 3)) * 0.1
    right = np.where(rng.random(300) < share, labels, (labels + 1) % 3)
    scores[np.arange(300), right] += confidence
    return scores * scale, labels


@pytest.mark.parametrize(
    ("evaluations", "fires"),
    [
        ([batch_of(-1)] * 8, True),
        ([batch_of(0.0, scale=10)] * 8, True),
        ([batch_of(-1, scale=30), *[batch_of(1)] * 7], False),
        ([batch_of(3, scale=10, share=0.7)] * 8, False),
    ],
    ids=["worse", "wild guesses", "first pass far off", "right but overconfident"],
)
def test_passes_of_evaluation_are_judged_each_on_its_own(run_rule, evaluations, fires):
    """A pass counts by its own batches, and by how many samples are right where the loss is high."""
    assert bool(run_rule("NoSkill", rounds_of(evaluations))) == fires


def test_passes_when_averages_lag_then_do_not_count(run_rule, monkeypatch):
    """Normalisation by averages that have not followed is no lack of skill."""
    layer = LayerRecord(name="bn", type="BatchNormalization", moving_share=0.01)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="Keras", layers=(layer,)))
    assert run_rule("NoSkill", rounds_of([batch_of(-1)] * 8)) == []


def test_quantities_of_new_data_may_lie_elsewhere(run_rule):
    """Series go on at other levels, where the mean of each stretch is hard to beat."""
    rng, steps = np.random.default_rng(0), {}
    for number in range(60):
        targets = rng.normal(size=(30, 1))
        steps[TRAIN, number] = loss_tensors(targets * 0.9, targets, 0.01, "MSELoss")
        if number % 5 == 4:
            steps |= {
                (EVAL, 10 * number + place): loss_tensors(targets * 0 + 3, targets, 10.0, "MSELoss")
                for place in range(10)
            }
    assert run_rule("NoSkill", steps) == []


@pytest.mark.parametrize(("known", "fires"), [(0.0, True), (0.5, False)])
def test_the_means_of_several_targets_are_no_skill(run_rule, known, fires):
    """The best constant answers each target with its own mean, as a decoder does that ignores what it gets."""
    rng = np.random.default_rng(0)
    means = np.array([0.0, 10.0, -5.0])
    steps = []
    for _ in range(120):
        targets = means + rng.normal(size=(16, 3))
        steps.append(loss_tensors(means + known * (targets - means), targets, name="MSELoss"))
        steps[-1]["MSELoss_output_0"] = float(np.mean((steps[-1]["MSELoss_input_0"] - targets) ** 2))
    assert bool(run_rule("NoSkill", steps_of(steps))) == fires


SHARES_OF_PLACES = np.array([[0.9, 0.1]] * 30 + [[0.1, 0.9]] * 30)


@pytest.mark.parametrize(
    ("known", "num_samples", "num_different", "fires"),
    [(0.0, 16, 960, True), (2.0, 16, 960, False), (0.0, 3, 180, False), (0.0, 16, 96, False)],
    ids=["places", "samples", "few samples", "few different samples"],
)
def test_the_classes_of_each_place_are_no_skill(run_rule, known, num_samples, num_different, fires):
    """Pixels of the sky are above those of the street, whatever the picture shows: that much each place tells alone."""
    rng, steps = np.random.default_rng(0), []
    pictures = (rng.random((num_different, 60)) < SHARES_OF_PLACES[:, 1]).astype(int)
    for step in range(60):
        labels = pictures[(step * num_samples + np.arange(num_samples)) % num_different]
        scores = np.log(SHARES_OF_PLACES).T + known * np.stack([labels == 0, labels == 1], axis=1)
        steps.append(loss_tensors(scores, labels))
    assert bool(run_rule("NoSkill", steps_of(steps))) == fires


def test_places_that_tell_nothing_leave_the_constant_of_all(run_rule):
    """What places seem to tell of many classes is worse, because each has few samples of each class."""
    rng = np.random.default_rng(0)
    steps = [loss_tensors(np.zeros((8, 90, 40)), rng.integers(0, 90, (8, 40))) for _ in range(60)]
    assert run_rule("NoSkill", steps_of(steps))


def test_samples_of_changing_length_have_no_places(run_rule):
    """Sentences have as many words as they have, so that their classes are compared with a constant for all."""
    rng, steps = np.random.default_rng(0), []
    for number in range(60):
        labels = rng.integers(0, 2, (16, 10 + number % 3))
        steps.append(loss_tensors(np.stack([labels == 0, labels == 1], axis=1) * 2.0, labels))
    assert run_rule("NoSkill", steps_of(steps)) == []


@pytest.mark.parametrize(("shift", "cause"), [(0.0, "loss or output"), (1.0, "labels")])
def test_an_autoencoder_without_skill_points_at_its_loss(run_rule, shift, cause):
    """Labels cannot be at fault where the targets are the inputs."""
    rng = np.random.default_rng(0)
    steps = []
    for _ in range(120):
        inputs = rng.normal(size=(16, 3))
        targets = inputs + shift
        steps.append({"Net_input_0": inputs, **loss_tensors(np.full((16, 3), shift), targets, name="MSELoss")})
        steps[-1]["MSELoss_output_0"] = float(np.mean((targets - shift) ** 2))
    assert first_cause(run_rule("NoSkill", steps_of(steps))) == cause


def test_a_loss_of_unknown_kind_at_the_last_step_is_not_compared_with_the_others(run_rule, make_trial):
    """The last batch of an epoch is smaller, so that its loss cannot be told from the mean of the epoch."""
    rng, steps = np.random.default_rng(0), []
    for step in range(60):
        labels = rng.integers(0, 2, (20, 1)).astype(float)
        shares = np.where(labels == 1, 0.75, 0.25)
        steps.append({"predictions": shares, "labels": labels, "loss": 0.4 if step == 59 else -np.log(0.75)})
    trial = make_trial(steps_of(steps), collections=KERAS_COLLECTIONS)
    assert run_rule("NoSkill", trial) == []


@pytest.mark.parametrize(("start", "cause"), [(30.0, "inputs"), (60.0, "labels")])
def test_predictions_far_from_the_mean_of_targets_point_at_their_scale(run_rule, start, cause):
    """Predictions on their way to targets of about 60 lack a constant first; those that vary at random do not."""
    rng, steps = np.random.default_rng(0), []
    for _ in range(60):
        targets = rng.normal(60, 10, (20, 1))
        steps.append(loss_tensors(start + rng.normal(0, 3, (20, 1)), targets, name="MSELoss"))
    assert first_cause(run_rule("NoSkill", steps_of(steps))) == cause


def test_a_constant_fits_a_single_sample_whatever_its_scale(run_rule):
    """Batches of one say nothing about the scale of targets."""
    rng, steps = np.random.default_rng(0), []
    for _ in range(260):
        targets = rng.integers(0, 2, (1, 1)).astype(float)
        steps.append(loss_tensors(np.full((1, 1), 0.5), targets, 0.25, name="MSELoss"))
    assert first_cause(run_rule("NoSkill", steps_of(steps))) == "labels"


SHAPES = {
    "a parabola": (lambda x: (x[:, :1] - 0.1) ** 2, "architecture"),
    "a ring": (lambda x: (np.hypot(*x.T) < 1.2).astype(float)[:, None], "architecture"),
    "opposite corners": (lambda x: (x[:, :1] * x[:, 1:] > 0).astype(float), "architecture"),
    "a line": (lambda x: x[:, :1] - x[:, 1:], "labels"),
    "chance": (lambda x: np.random.default_rng(1).normal(size=(len(x), 1)), "labels"),
}


@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_no_line_follows_points_at_the_only_layer(run_rule, shape, num_layers):
    """A model with a hidden layer might, so that something else is wrong with it."""
    function, cause = SHAPES[shape]
    rng, steps = np.random.default_rng(0), []
    weights = {f"layer{number}.weight": np.ones((1, 2)) for number in range(num_layers)}
    for _ in range(60):
        inputs = rng.normal(size=(20, 2))
        targets = function(inputs)
        answers = np.full_like(targets, 0.5)
        loss = loss_tensors(answers, targets, float(np.mean((answers - targets) ** 2)), name="MSELoss")
        steps.append({"Net_input_0": inputs, **weights, **loss})
    assert first_cause(run_rule("NoSkill", steps_of(steps))) == (cause if num_layers == 1 else "labels")
