"""LossInputMismatch fires when a loss does not get the kind of input that it expects."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from sagemaker_debug_ext.rules.causes import likely_causes
from sagemaker_debug_ext.rules.extra.losses.loss_input_mismatch import kind_by_value
from sagemaker_debug_ext.rules.inference.losses import LossObservation
from sagemaker_debug_ext.store.format.program import LayerRecord, LossRecord, ProgramRecord
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import KERAS_COLLECTIONS, TRAIN, fired_at, first_cause, loss_tensors, steps_of

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("name", "scores", "targets", "fires"),
    [
        ("CrossEntropyLoss", np.array([[0.2, 0.8], [0.5, 0.5]]), np.array([0, 1]), True),
        ("CrossEntropyLoss", np.array([[0.2, 0.7], [0.9, 0.5]]), np.array([0, 1]), True),
        ("CrossEntropyLoss", np.array([[0.0, 7.0], [0.0, 5.0]]), np.array([0, 1]), True),
        ("CrossEntropyLoss", np.array([[0.2, -0.8], [1.5, 0.5]]), np.array([0, 1]), False),
        ("NLLLoss", np.log([[0.2, 0.8], [0.5, 0.5]]), np.array([0, 1]), False),
        ("NLLLoss", np.array([[0.2, 0.8], [0.5, 0.5]]), np.array([0, 1]), True),
        ("BCEWithLogitsLoss", np.array([0.2, 0.8]), np.array([0.0, 1.0]), True),
        ("BCEWithLogitsLoss", np.array([-0.2, 0.8]), np.array([0.0, 1.0]), False),
        ("MSELoss", np.array([0.2, 0.98]), np.array([5.0, 1.0]), True),
        ("MSELoss", np.array([0.2, 0.5]), np.array([5.0, 1.0]), False),
        ("MSELoss", np.array([0.2, 0.8]), np.array([0.5, 1.0]), False),
        ("MSELoss", np.array([0.0, 3.0]), np.array([-5.0, 1.0]), True),
        ("MSELoss", np.array([-4.0, 3.0]), np.array([-5.0, 9.0]), False),
        ("OtherLoss", np.array([0.2, 0.8]), np.array([5.0, 1.0]), False),
    ],
)
def test_scores_of_the_wrong_kind_fire_after_twenty_steps(run_rule, name, scores, targets, fires):
    """Scores that do not suit the loss of that name fire after twenty steps."""
    tensors = {f"{name}_input_0": scores, f"{name}_input_1": targets}
    issues = run_rule("LossInputMismatch", {(TRAIN, step): tensors for step in range(20)})
    assert fired_at(issues) == ([19] if fires else [])


@pytest.mark.parametrize(("num_steps", "fires_at"), [(19, []), (20, [19])])
def test_scores_of_the_wrong_kind_when_seen_for_fewer_steps_than_patience_then_do_not_fire(
    run_rule, num_steps, fires_at
):
    """Nineteen steps are fewer than the patience of twenty."""
    tensors = loss_tensors(np.array([[0.2, 0.8], [0.5, 0.5]]), np.array([0, 1]))
    assert fired_at(run_rule("LossInputMismatch", steps_of([tensors] * num_steps))) == fires_at


def test_shapes_that_are_broadcast_fire_at_once(run_rule):
    """Outputs and targets of different shapes, such as a column and a row, fire at the first step."""
    tensors = {"MSELoss_input_0": np.ones((4, 1)), "MSELoss_input_1": np.ones(4)}
    (issue,) = run_rule("LossInputMismatch", {(TRAIN, 0): tensors})
    assert "(4, 1) and targets of shape (4,)" in issue.message


@pytest.mark.parametrize(
    ("loss", "answers", "fires"),
    [
        ("BCELoss", lambda step: np.zeros((6, 1)), True),
        ("BCELoss", lambda step: np.ones((6, 1)), True),
        ("BCELoss", lambda step: np.array([[0.0], [0.5]] * 3), False),
        ("BCELoss", lambda step: np.full((6, 1), 0.5), False),
        ("MSELoss", lambda step: np.ones((6, 1)), False),
        ("BCELoss", lambda step: np.ones((6, 1)) if step else np.full((6, 1), 0.99), False),
        ("BCEWithLogitsLoss", lambda step: np.ones((6, 1)), True),
    ],
)
def test_one_answer_for_every_sample_is_that_of_a_single_unit(run_rule, loss, answers, fires):
    """Units of a sigmoid come to 1 by and by, and differences to a constant may have it as either argument."""
    labels = np.array([[0.0], [1.0], [0.0], [1.0], [0.0], [0.0]])
    steps = steps_of([loss_tensors(answers(step), labels, name=loss) for step in range(25)])
    assert bool(run_rule("LossInputMismatch", steps)) == fires


@pytest.mark.parametrize(("factor", "fires"), [(1.0, True), (1.2, False), (0.5, False)])
def test_scores_bounded_as_by_tanh_fire(run_rule, factor, fires):
    """Scores near the bounds of tanh that never pass them fire."""
    scores = np.array([[0.95, -0.97], [-0.99, 0.2]]) * factor
    steps = {(TRAIN, step): loss_tensors(scores, np.array([0, 1])) for step in range(20)}
    assert bool(run_rule("LossInputMismatch", steps)) == fires


@pytest.mark.parametrize(("num_near", "fires"), [(9, False), (40, True)])
def test_answers_that_grow_past_one_are_not_bounded(run_rule, num_near, fires):
    """Answers that are all alike at first are near 1 for some steps on their way to larger targets."""
    sizes = np.concatenate([np.linspace(0, 0.9, 30), np.linspace(0.9, 1, num_near)])
    targets = np.linspace(2, 4, 8)
    steps = steps_of([loss_tensors(np.full(8, size), targets, name="MSELoss") for size in sizes])
    assert bool(run_rule("LossInputMismatch", steps)) == fires


@pytest.mark.parametrize(("activation", "fires"), [("linear", False), (None, True)])
def test_bounded_answers_are_no_fault_of_an_output_without_an_activation(
    run_rule, make_trial, monkeypatch, activation, fires
):
    """A good model of a noisy wave answers within its amplitude; if the last layer is unknown, it may be a tanh."""
    tail = (LayerRecord(name="dense", type="Dense", activation=activation, units=1),)
    loss = LossRecord(name="predictions", type="mean_squared_error", tail=tail)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="Keras", losses=(loss,)))
    answers = np.array([[0.95], [-0.97], [0.3], [-0.2]])
    targets = answers * 1.2
    values = {"loss": np.array([np.mean((answers - targets) ** 2)]), "predictions": answers, "labels": targets}
    trial = make_trial(steps_of([values] * 20), collections=KERAS_COLLECTIONS)
    assert bool(run_rule("LossInputMismatch", trial)) == fires


@pytest.mark.parametrize(("labels", "fires"), [([[1, 1, 0], [0, 1, 1]], True), ([[0.5, 0.5, 0], [0, 0, 1]], False)])
def test_several_labels_of_a_sample_are_no_shares(run_rule, labels, fires):
    """Targets of a cross entropy over classes fire if they do not add up to 1."""
    step = {
        "CrossEntropyLoss_input_0": RNG.normal(size=(2, 3)),
        "CrossEntropyLoss_input_1": np.array(labels, dtype=float),
        "CrossEntropyLoss_output_0": 1.0,
    }
    assert bool(run_rule("LossInputMismatch", steps_of([step] * 25))) == fires


@pytest.mark.parametrize(("axes", "fires"), [((0, 1), False), ((0, 2, 1), False), (None, True)])
def test_a_divergence_wants_logarithms(run_rule, axes, fires):
    """A divergence fires without logarithms, of probabilities along the second or the last axis."""
    shares = RNG.dirichlet(np.ones(3), size=(8, 5) if axes == (0, 2, 1) else 8)
    given = shares if axes is None else np.log(shares)
    step = {"KLDivLoss_input_0": given, "KLDivLoss_input_1": shares, "KLDivLoss_output_0": 1.0}
    assert bool(run_rule("LossInputMismatch", steps_of([step] * 25))) == fires


def squeezed_steps(is_close, num=60, num_classes=6, accuracy=1.0, last_accuracy=1.0):
    """Return steps of scores of the right classes, which lie close together at some of them."""
    rng, steps = np.random.default_rng(0), []
    for step in range(num):
        labels = rng.integers(0, num_classes, 40)
        share = accuracy if step < num - 1 else min(accuracy, last_accuracy)
        named = np.where(rng.random(40) < share, labels, (labels + 1) % num_classes)
        scores = (0.05 if is_close(step) else 5) * (np.eye(num_classes)[named] - 0.5)
        loss = float(np.mean(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(40), labels]))
        steps.append(loss_tensors(scores, labels, loss))
    return steps_of(steps)


@pytest.mark.parametrize(
    ("options", "patience_running", "fires"),
    [
        ({"is_close": lambda step: True}, 300, [59]),
        ({"is_close": lambda step: True}, 40, list(range(39, 60))),
        ({"is_close": lambda step: step < 59}, 300, []),
        ({"is_close": lambda step: step != 50}, 300, []),
        ({"is_close": lambda step: True, "accuracy": 0.3}, 300, []),
        ({"is_close": lambda step: True, "last_accuracy": 0.0}, 300, [59]),
        ({"is_close": lambda step: True, "num_classes": 4}, 300, []),
    ],
    ids=["to the end", "for long", "at first", "falls once", "mostly wrong", "wrong at last", "few classes"],
)
def test_scores_that_stay_close_together_fire(run_rule, options, patience_running, fires):
    """Small scores at first grow where the loss can fall."""
    issues = run_rule("LossInputMismatch", squeezed_steps(**options), patience_running=patience_running)
    assert fired_at(issues) == fires
    assert all("lie too close together" in issue.message for issue in issues)


@pytest.mark.parametrize(
    ("factor", "last", "fires"), [(32, 1.0, True), (32, 0.8, False), (1, 1.0, False), (16, 1.0, False)]
)
def test_a_loss_that_is_a_sum_fires_if_it_gets_nowhere(run_rule, factor, last, fires):
    """A loss that is a sum over the batch fires if it does not fall."""
    targets = RNG.normal(size=(32, 1)) * 3

    def step(number):
        share = 1.0 if number < 5 else np.sqrt(last)
        return {
            "MSELoss_input_0": targets * (1 + share),
            "MSELoss_input_1": targets,
            "MSELoss_output_0": factor * np.mean((targets * share) ** 2),
        }

    assert bool(run_rule("LossInputMismatch", steps_of(map(step, range(25))))) == fires


@pytest.mark.parametrize(("patience", "fires"), [(300, False), (20, True)])
def test_a_sum_may_fall_late(run_rule, patience, fires):
    """A loss that is a sum may fall late, within `patience_running`."""
    targets, steps = np.linspace(-1, 1, 16)[:, None], []
    for step in range(60):
        scores = targets * (0.99 if step > 40 else 0.01)
        tensors = {"MSELoss_input_0": scores, "MSELoss_input_1": targets}
        steps.append({**tensors, "MSELoss_output_0": float(np.square(scores - targets).sum()) + 1e-3})
    assert bool(run_rule("LossInputMismatch", steps_of(steps), patience_running=patience)) == fires


@pytest.mark.parametrize(("spread", "kind"), [(1e-3, None), (3.0, "CrossEntropy")])
def test_kind_when_scores_and_probabilities_give_the_same_loss_then_is_unknown(spread, kind):
    """Predictions that are all alike suit both, so that their loss tells nothing."""
    scores = np.exp(RNG.normal(size=(60, 4)) * spread)
    scores /= scores.sum(axis=1, keepdims=True)
    loss = LossObservation("loss", 0.0, scores, np.arange(60) % 4)
    assert kind_by_value(attrs.evolve(loss, value=loss.cross_entropy)) == kind


def test_output_when_softmax_is_over_the_samples_then_fires_whatever_the_loss_is(run_rule):
    """Outputs of a policy add up to 1 over the batch; over the actions, or over a single sample, they are sound."""
    scores = np.exp(RNG.normal(size=(20, 6, 3)))
    issues = run_rule("LossInputMismatch", steps_of({"Policy_output_0": row / row.sum(axis=0)} for row in scores))
    assert issues[0].message.endswith("the softmax is over the samples of a batch instead of the classes.")
    sound = [row / row.sum(axis=1, keepdims=True) for row in scores]
    assert run_rule("LossInputMismatch", steps_of({"Policy_output_0": row} for row in sound)) == []
    assert run_rule("LossInputMismatch", steps_of({"Policy_output_0": np.ones((1, 3))} for row in scores)) == []


@pytest.mark.parametrize("tensors", [{"Net_output_0": np.zeros((6, 1))}, {"loss_output_0": 1.0}])
@pytest.mark.parametrize(("shape", "fires"), [((6, 6), True), ((), False)])
def test_output_when_targets_have_spread_it_then_fires(run_rule, monkeypatch, shape, fires, tensors):
    """The program record tells of a loss that the script computes itself, with or without a model."""
    program = ProgramRecord(framework="PyTorch", losses=(LossRecord(name="loss", type="", spread_shape=shape),))
    monkeypatch.setattr(Trial, "program", program)
    issues = run_rule("LossInputMismatch", steps_of([tensors] * 3))
    assert bool(issues) == fires
    assert not fires or "targets are broadcast, so the loss averages numbers of shape (6, 6)" in issues[0].message


def test_output_when_samples_are_joined_before_their_targets_come_then_fires(run_rule, monkeypatch):
    """The program record tells of a loss that the script computes itself."""
    program = ProgramRecord(framework="Keras", losses=(LossRecord(name="loss", type="", pooled_shape=(6,)),))
    monkeypatch.setattr(Trial, "program", program)
    issues = run_rule("LossInputMismatch", steps_of([{"Net_output_0": np.zeros((6, 3))}] * 3))
    assert issues[0].message.endswith("before the loss compares them with targets of each, of shape (6,).")
    assert [cause.name for cause in likely_causes(issues)] == ["loss or output", "axes"]


@pytest.mark.parametrize(
    ("saved", "from_logits", "fires"),
    [
        pytest.param(("loss",), False, True, id="loss only"),
        pytest.param(("loss", "predictions"), False, True, id="no targets"),
        pytest.param(("loss", "predictions"), True, False, id="sound"),
        pytest.param(("loss", "predictions", "labels"), False, True, id="everything"),
    ],
)
def test_loss_of_keras_when_targets_were_not_saved_then_the_record_decides(
    run_rule, make_trial, monkeypatch, saved, from_logits, fires
):
    """A custom loop saves no targets, and may save what the model returns; a fault is reported once a step."""
    tail = (LayerRecord(name="dense", type="Dense", activation="linear", units=3),)
    loss = LossRecord(
        name="predictions", type="sparse_categorical_crossentropy", arguments={"from_logits": from_logits}, tail=tail
    )
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="Keras", losses=(loss,)))
    values = {"loss": np.array([0.7]), "predictions": RNG.normal(size=(6, 3)), "labels": np.arange(6) % 3}
    steps = steps_of([{name: values[name] for name in saved}] * 2)
    issues = run_rule("LossInputMismatch", make_trial(steps, collections=KERAS_COLLECTIONS))
    assert [len(issue.tensors) for issue in issues] == ([1, 1] if fires else [])


@pytest.mark.parametrize(
    ("weight", "fires"),
    [
        ([3.0, 1.0], True),
        ([1.0, 3.0], False),
        ([1.2, 1.0], False),
        (None, False),
        ([], False),
    ],
)
def test_weights_of_classes_must_not_favour_the_common_one(run_rule, monkeypatch, weight, fires):
    """Weights in the wrong order leave the rare class unlearnt; they are judged once labels have shown frequencies."""
    loss = LossRecord(name="CrossEntropyLoss", type="CrossEntropyLoss", arguments={"weight": weight})
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", losses=(loss,)))
    labels = np.array([0] * 16 + [1] * 4)
    steps = steps_of(loss_tensors(RNG.normal(size=(20, 2)) * 3, labels) for _ in range(20))
    issues = run_rule("LossInputMismatch", steps)
    assert fired_at(issues)[:1] == ([14] if fires else [])
    assert not fires or "the more common they are" in issues[0].message


def vectors_of(labels, num_classes):
    return np.eye(num_classes)[labels]


def vectors_of_and(further):
    """Return the vectors of 19 samples with a single class each, and a further one."""
    return np.vstack([vectors_of(np.arange(19) % 4, 4), further])


@pytest.mark.parametrize(
    ("targets", "activation", "loss", "framework", "fires"),
    [
        (vectors_of(np.arange(20) % 4, 4), "sigmoid", "binary_crossentropy", "Keras", True),
        (vectors_of(np.arange(20) % 4, 4), "linear", "binary_crossentropy", "Keras", True),
        (vectors_of(np.arange(20) % 4, 4), "sigmoid", "binary_crossentropy", "PyTorch", False),
        (vectors_of(np.arange(20) % 4, 4), "sigmoid", "hinge", "Keras", False),
        (vectors_of(np.zeros(20, int), 4), "sigmoid", "binary_crossentropy", "Keras", False),
        (vectors_of_and([1.0, 1.0, 0.0, 0.0]), "sigmoid", "binary_crossentropy", "Keras", False),
        (vectors_of_and([0.0, 0.0, 0.0, 0.0]), "sigmoid", "binary_crossentropy", "Keras", False),
        (0.9 * vectors_of(np.arange(20) % 4, 4) + 0.025, "sigmoid", "binary_crossentropy", "Keras", False),
        (vectors_of(np.arange(20) % 2, 2), "sigmoid", "binary_crossentropy", "Keras", False),
        (np.eye(20), "sigmoid", "binary_crossentropy", "Keras", False),
    ],
    ids=[
        "classes", "logits", "another framework", "another loss", "one right place", "two at once", "none", "smooth",
        "two", "pairs",
    ],
)  # fmt: skip
def test_classes_of_which_each_sample_has_one_must_compete(
    run_rule, make_trial, monkeypatch, targets, activation, loss, framework, fires
):
    """Sigmoids suit samples with several classes, which show in a thousand; those that are compared are no classes."""
    tail = (LayerRecord(name="dense", type="Dense", activation=activation, units=targets.shape[1]),)
    record = LossRecord(name="predictions", type=loss, arguments={"from_logits": activation == "linear"}, tail=tail)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework=framework, losses=(record,)))
    tensors = {"predictions": RNG.random(targets.shape), "labels": targets, "loss": 0.7}
    trial = make_trial(steps_of([tensors] * 55), collections=KERAS_COLLECTIONS)
    issues = run_rule("LossInputMismatch", trial, patience=100)
    assert fired_at(issues)[:1] == ([49] if fires else [])
    assert not fires or (first_cause(issues) == "loss or output" and "has a single one" in issues[0].message)


@pytest.mark.parametrize(("no", "fires"), [(0.0, True), (-1.0, False)])
def test_a_loss_of_two_answers_has_its_targets_third(run_rule, monkeypatch, no, fires):
    """Whether two answers belong together is 1 or -1 for a cosine embedding loss."""
    loss = LossRecord(name="CosineEmbeddingLoss", type="CosineEmbeddingLoss")
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", losses=(loss,)))
    first, second, targets = RNG.normal(size=(8, 4)), RNG.normal(size=(8, 4)), np.array([1.0, no] * 4)
    tensors = loss_tensors(first, second, name="CosineEmbeddingLoss")
    issues = run_rule("LossInputMismatch", steps_of([{**tensors, "CosineEmbeddingLoss_input_2": targets}]))
    assert fired_at(issues) == ([0] if fires else [])


@pytest.mark.parametrize(("scale", "num_classes", "fires"), [(0.05, 10, True), (3.0, 10, False), (0.05, 3, False)])
def test_scores_that_are_right_but_too_close_together_fire(run_rule, scale, num_classes, fires):
    """A temperature that multiplies instead of dividing leaves the loss where it began; few classes may be luck."""
    labels = np.arange(30) % num_classes
    scores = scale * (np.eye(num_classes)[labels] + RNG.uniform(-0.4, 0.4, (30, num_classes)))
    steps = steps_of([loss_tensors(scores, labels, loss=np.log(num_classes))] * 20)
    assert fired_at(run_rule("LossInputMismatch", steps)) == ([19] if fires else [])


@pytest.mark.parametrize(("of_classes", "fires"), [([3.0, 1.0], True), ([1.0, 3.0], False)])
def test_weights_of_samples_in_keras_must_not_favour_the_common_class(run_rule, make_trial, of_classes, fires):
    """They are saved beside the labels, which show how common each class is."""
    labels = np.array([0.0] * 40 + [1.0] * 10)
    weights = np.array(of_classes)[labels.astype(int)]
    tensors = {"labels": labels[:, None], "predictions": np.full((50, 1), 0.5), "sample_weights": weights, "loss": 0.7}
    issues = run_rule("LossInputMismatch", make_trial(steps_of([tensors] * 8), collections=KERAS_COLLECTIONS))
    assert [issue.step for issue in issues][:1] == ([5] if fires else [])


@pytest.mark.parametrize(("since_step", "fired"), [(0, [0, 1, 2, 3]), (2, [2, 3]), (4, [])])
def test_record_of_a_later_model_does_not_tell_of_an_earlier_one(make_trial, run_rule, monkeypatch, since_step, fired):
    """Scripts that train one model after another leave the record of the latest."""
    tail = (LayerRecord(name="dense", type="Dense", activation="sigmoid", units=1),)
    loss = LossRecord(name="predictions", type="binary_crossentropy", tail=tail)
    program = ProgramRecord(framework="Keras", losses=(loss,), since_step=since_step)
    monkeypatch.setattr(Trial, "program", program)
    values = {"loss": np.array([0.7]), "predictions": RNG.random((6, 1)), "labels": np.arange(6.0)[:, None]}
    trial = make_trial(steps_of([values] * 4), collections=KERAS_COLLECTIONS)
    assert fired_at(run_rule("LossInputMismatch", trial)) == fired
