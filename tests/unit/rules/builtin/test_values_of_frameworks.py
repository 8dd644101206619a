"""What rules make of values where the names of a framework do not tell: losses, answers, activations."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.inference.activations import (
    infer_preactivation,
    is_plain,
    may_be_rectified,
    reaches_layer_unchanged,
)
from sagemaker_debug_ext.rules.inference.losses import as_class_ids, class_answers, class_labels, observed_losses
from sagemaker_debug_ext.rules.inference.training import (
    LOSSES,
    loss_at,
    loss_reduction_size,
    loss_values,
    value_before_update,
)
from sagemaker_debug_ext.rules.reading.step_view import StepReader
from sagemaker_debug_ext.rules.reading.tensor_roles import KERAS, Role
from sagemaker_debug_ext.rules.recommended import recommended_rules
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL = ModeKeys.TRAIN, ModeKeys.EVAL
OF_KERAS = {"losses": ["^loss$"], "weights": ["kernel", "beta"], "layers": [], "optimizer_variables": []}
OF_GLUON = {"losses": [r"[Ll]oss\d*_(?!input).*output"], "weights": ["^(?!gradient).*weight"]}
RNG = np.random.default_rng(0)
X, KERNEL = RNG.normal(size=(8, 4)), RNG.normal(size=(4, 5))


@pytest.fixture
def keras_views(make_trial):
    """Return a function that gives the views of a trial of Keras."""
    return lambda steps: StepReader(make_trial(steps, collections=OF_KERAS))


@pytest.fixture
def gluon_views(make_trial):
    """Return a function that gives the views of a trial of MXNet."""
    return lambda steps: StepReader(make_trial(steps, collections=OF_GLUON))


class TestLosses:
    def test_a_mean_since_the_epoch_began_is_undone(self, keras_views):
        """Over the batches since the loss was saved before; a new epoch starts anew."""
        losses = [[4.0, 2.0, 3.0, 1.0], [0.5, 0.7]]
        batches = [(batch, np.mean(epoch[: batch + 1])) for epoch in losses for batch in range(len(epoch))]
        views = keras_views({(TRAIN, step): {"loss": mean, "batch": n} for step, (n, mean) in enumerate(batches)})
        found = [loss_at(views.at(step), "loss") for step in range(6)]
        np.testing.assert_allclose(found, [*losses[0], *losses[1]])

    def test_steps_that_were_not_saved_are_averaged(self, keras_views):
        """Those between two saved ones."""
        means = {0: 4.0, 2: 3.0, 4: 2.0}
        views = keras_views({(TRAIN, step): {"loss": mean, "batch": step} for step, mean in means.items()})
        np.testing.assert_allclose([loss_at(views.at(index), "loss") for index in range(3)], [4.0, 2.5, 0.5])

    @pytest.mark.parametrize("later", [{"loss": 2.0}, {"loss": 2.0, "batch": 9}, {"loss": 1e9, "batch": 1}])
    def test_a_mean_that_tells_nothing_of_its_batches_stays(self, keras_views, later):
        """Without the number of the batch, after a gap in it, or when digits are lost."""
        views = keras_views({(TRAIN, 0): {"loss": 2e9 if later["loss"] > 2 else 2.0, "batch": 0}, (TRAIN, 1): later})
        assert loss_at(views.at(1), "loss") == later["loss"]

    def test_a_loss_of_each_sample_is_averaged(self, gluon_views):
        """And tells over how many samples gradients are sums."""
        name = "l2loss0_output_0"
        view = gluon_views({(TRAIN, 0): {name: np.array([1.0, 3.0]), "dense0_weight": X}}).at(0)
        assert (loss_values(view, LOSSES), loss_reduction_size(view)) == ({name: 2.0}, 2)

    def test_pytorch_has_losses_of_one_element(self, make_trial):
        """Others are none."""
        view = StepReader(make_trial({(TRAIN, 0): {"a_loss": np.ones(2), "b_loss": 3.0}})).at(0)
        assert (loss_values(view, LOSSES), loss_reduction_size(view)) == ({"b_loss": 3.0}, 1)


class TestUsedValues:
    def test_a_parameter_saved_after_the_update_is_that_of_the_step_before(self, gluon_views):
        """In evaluation nothing is updated."""
        steps = {(TRAIN, step): {"dense0_weight": np.full(2, step)} for step in range(2)}
        views = gluon_views({**steps, (EVAL, 0): {"dense0_weight": np.ones(2)}})
        used = [value_before_update(views.at(step), "dense0_weight") for step in range(3)]
        assert used[0] is None
        assert [each.tolist() for each in used[1:]] == [[0, 0], [1, 1]]

    def test_a_first_update_of_nothing_is_seen(self, gluon_views):
        """By its gradient."""
        tensors = {"dense0_weight": np.ones(2), "gradient/dense0_weight": np.zeros(2)}
        assert value_before_update(gluon_views({(TRAIN, 0): tensors}).at(0), "dense0_weight").tolist() == [1, 1]


class TestAnswers:
    SHARES = np.array([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]])

    @pytest.mark.parametrize(
        "labels", [np.array([0, 1]), np.array([[0.0], [1.0]]), np.eye(3)[:2]], ids=["flat", "column", "vectors"]
    )
    def test_shares_of_classes_are_scores(self, keras_views, labels):
        """Whatever form labels have."""
        tensors = {"loss": 0.4, "predictions": self.SHARES, "labels": labels}
        view = keras_views({(TRAIN, 0): tensors}).at(0)
        (loss,) = observed_losses(view)
        assert (loss.name, loss.num_classes, loss.targets.tolist()) == ("loss", 3, [0, 1])
        assert loss.cross_entropy() == pytest.approx(-np.log([0.5, 0.8]).mean())
        assert class_labels(view, "labels").tolist() == [0, 1]
        assert class_answers(view, "predictions").argmax(axis=1).tolist() == [0, 1]

    def test_sequences_have_a_row_for_each_place(self, keras_views):
        """Classes lie along the last axis in Keras."""
        shares = np.stack([self.SHARES, self.SHARES[::-1]])
        tensors = {"loss": 0.4, "predictions": shares, "labels": np.array([[0, 1], [1, 0]])}
        view = keras_views({(TRAIN, 0): tensors}).at(0)
        (loss,) = observed_losses(view)
        assert (loss.scores.shape, loss.num_classes) == ((2, 3, 2), 3)
        assert class_answers(view, "predictions").argmax(axis=1).tolist() == [0, 1, 1, 0]

    def test_shares_of_yes_are_scores(self, keras_views):
        """Of one column."""
        tensors = {"loss": 0.4, "predictions": np.array([[0.5], [0.9]]), "labels": np.array([0, 1])}
        (loss,) = observed_losses(keras_views({(TRAIN, 0): tensors}).at(0))
        assert loss.is_binary
        np.testing.assert_allclose(loss.scores, [[0], [np.log(9)]], atol=1e-12)

    def test_numbers_are_no_classes(self, keras_views):
        """Even whole ones."""
        tensors = {"loss": 0.4, "predictions": np.array([[0.5], [7.0]]), "labels": np.array([0, 7])}
        view = keras_views({(TRAIN, 0): tensors}).at(0)
        (loss,) = observed_losses(view)
        assert (loss.num_classes, loss.is_binary, loss.targets.shape) == (None, False, (2, 1))
        assert class_labels(view, "labels") is None
        assert class_answers(view, "predictions") is None

    @pytest.mark.parametrize("targets", [np.array([0, 3]), np.array([0.5, 1]), np.ones((2, 3)), np.array(["a", "b"])])
    def test_other_targets_are_no_classes(self, targets):
        """Not among those of the scores, not whole, several at once, or texts."""
        assert as_class_ids(self.SHARES, targets) is None


class TestActivations:
    def test_a_layer_without_relu_gives_no_verdict_on_dead_units(self, make_trial):
        """Also where many steps are looked at together."""
        steps = {(TRAIN, step): {"dense/outputs": X, "dense/weights/dense/kernel:0": KERNEL} for step in range(2)}
        trial = make_trial(steps, collections=OF_KERAS)
        rule = create_rule("DeadRelu", trial, {"tensor_regex": KERAS.patterns[Role.RELU_OUTPUT]})
        evaluation = evaluate([rule], trial)
        assert evaluation.run() == []
        assert [(status.num_steps, status.num_skipped) for status in evaluation.statuses] == [(0, 2)]

    @staticmethod
    def view(keras_views, output, kernel=KERNEL, **others):
        kernels = {"a/weights/a/kernel:0": kernel}
        steps = {(TRAIN, 0): kernels, (TRAIN, 1): {"a/inputs": X, "a/outputs": output, **kernels, **others}}
        return keras_views(steps).at(1)

    @pytest.mark.parametrize(
        ("output", "kernel", "is_rectified"),
        [
            (np.maximum(X @ KERNEL, 0), KERNEL, True),
            (X @ KERNEL, KERNEL, False),
            (np.zeros((8, 5)), KERNEL, True),
            (np.zeros((8, 5)), np.zeros((4, 5)), False),
        ],
        ids=["ReLU", "plain", "dead", "zero"],
    )
    def test_outputs_of_relu_have_no_negative_numbers(self, keras_views, output, kernel, is_rectified):
        """Nothing but 0 is that of a ReLU if the weights are not 0 themselves."""
        assert may_be_rectified(self.view(keras_views, output, kernel), "a/outputs") == is_rectified

    def test_layers_without_a_matrix_of_weights_have_no_activation(self, keras_views):
        """Unless their names say so."""
        tensors = {"flatten/outputs": np.eye(3), "re_lu/outputs": np.eye(3), "input/outputs": np.tanh(X)}
        view = keras_views({(TRAIN, 0): tensors}).at(0)
        assert [may_be_rectified(view, name) for name in ("flatten/outputs", "re_lu/outputs")] == [False, True]
        assert infer_preactivation(view, "input/outputs") is None

    @pytest.mark.parametrize(
        ("function", "kind"),
        [(np.tanh, "tanh"), (lambda x: 1 / (1 + np.exp(-x)), "sigmoid"), (lambda x: x, None), (np.abs, None)],
        ids=["tanh", "sigmoid", "plain", "absolute"],
    )
    def test_what_went_into_tanh_and_sigmoid_comes_from_what_came_out(self, keras_views, function, kind):
        """Up to rounding."""
        found = infer_preactivation(self.view(keras_views, function(X @ KERNEL)), "a/outputs")
        if kind is None:
            assert found is None
        else:
            assert found[0] == kind
            np.testing.assert_allclose(found[1], X @ KERNEL, rtol=1e-6)

    def test_shares_and_answers_may_be_sure(self, keras_views):
        """That is what training is for."""
        shares, sure = np.eye(5)[np.arange(8) % 5], (X @ KERNEL > 0).astype(float)
        assert infer_preactivation(self.view(keras_views, shares), "a/outputs") is None
        assert infer_preactivation(self.view(keras_views, sure, predictions=sure), "a/outputs") is None
        assert infer_preactivation(self.view(keras_views, sure), "a/outputs") is not None

    @pytest.mark.parametrize(("function", "expected"), [(lambda x: x, True), (np.tanh, False)], ids=["plain", "tanh"])
    def test_a_layer_is_plain_if_it_only_multiplies(self, keras_views, gluon_views, function, expected):
        """By the weights that it used."""
        output = function(X @ KERNEL)
        assert is_plain(self.view(keras_views, output), "a/weights/a/kernel:0", "a/inputs", "a/outputs") == expected
        weights = {"dense0_weight": KERNEL.T, "dense0_bias": np.ones(5)}
        layer = {"dense0_input_0": X, "dense0_output_0": function(X @ KERNEL + 1), **weights}
        view = gluon_views({(TRAIN, 0): weights, (TRAIN, 1): layer}).at(1)
        assert is_plain(view, "dense0_weight", "dense0_input_0", "dense0_output_0") == expected

    def test_inputs_that_a_layer_prepares_are_not_taken_unchanged(self, keras_views):
        """If it was saved what the first layer with weights gets."""
        assert reaches_layer_unchanged(self.view(keras_views, X @ KERNEL, inputs=X), "inputs")
        assert not reaches_layer_unchanged(self.view(keras_views, X @ KERNEL, inputs=200 * X), "inputs")
        assert reaches_layer_unchanged(keras_views({(TRAIN, 0): {"inputs": 200 * X}}).at(0), "inputs")


@pytest.mark.parametrize("collections", [OF_KERAS, OF_GLUON], ids=["Keras", "MXNet"])
def test_recommended_rules_evaluate_whatever_was_saved(make_trial, collections):
    """Without an error."""
    odd = [np.zeros((0, 3)), np.array(["a"]), np.full((4, 3), np.nan), np.ones((4, 3), complex), np.array(2.0), X]
    names = ["loss", "batch", "predictions", "labels", "inputs", "a/inputs", "a/outputs", "a/weights/a/kernel:0"]
    names += ["gradients/a/kernelGrad", "dropout/inputs", "dropout/outputs", "bn/outputs", "bn/weights/bn/beta:0"]
    names += ["l2loss0_output_0", "l2loss0_input_0", "l2loss0_input_1", "dense0_weight", "dense0_output_0"]
    steps = {
        (mode, step): {name: odd[(step + index) % len(odd)] for index, name in enumerate(names)}
        for step in range(8)
        for mode in (TRAIN, EVAL)
    }
    trial = make_trial(steps, collections=collections)
    evaluation = evaluate(recommended_rules(trial), trial)
    evaluation.run()
    assert [(each.name, each.details) for each in evaluation.statuses if each.status == "Error"] == []
