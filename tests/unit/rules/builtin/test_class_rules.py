"""Rules that look at labels, predictions and features."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.inference.class_labels import class_ids, confusion_matrix
from sagemaker_debug_ext.rules.sagemaker import confusion
from sagemaker_debug_ext.rules.sagemaker.confusion import Confusion
from sagemaker_debug_ext.rules.sagemaker.feature_importance_overweight import leading_share
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL = ModeKeys.TRAIN, ModeKeys.EVAL

ANSWERS = st.builds(
    lambda pairs, dtype, kept: {
        name: np.array(values).astype(dtype) for name, values in zip(kept, zip(*pairs, strict=True), strict=False)
    },
    st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 3)) | st.integers(0, 3).map(lambda n: (n, n)), min_size=1,
             max_size=9),
    st.sampled_from([np.int64, np.int64, np.int32, np.uint8, np.float32]),
    st.sampled_from([("labels", "predictions"), ("labels", "predictions"), ("labels",), ("predictions",)]),
)  # fmt: skip
"""Labels and predictions of a step; now and then one is missing, or no class."""


def fired(issues):
    return [issue.step for issue in issues]


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        (np.array([[2.0, 0.0]]), [2, 0]), (np.array([0.4, 0.5, 1.0]), [0, 1, 1]), (np.array([True, False]), [1, 0]),
        (np.array([0.0, 1.0]), [0, 1]), (np.array(3), [3]),
    ],
)  # fmt: skip
def test_whole_numbers_are_classes_and_shares_are_probabilities(value, ids):
    """Flattened."""
    assert class_ids(value).tolist() == ids


@pytest.mark.parametrize("value", [np.array([0.5, 2]), np.array([-0.5, 0]), np.array([np.nan]), np.array([np.inf])])
def test_other_numbers_are_no_classes(value):
    """Nor probabilities."""
    assert class_ids(value) is None


class TestClassImbalance:
    @pytest.mark.parametrize(("rare", "fires"), [(10, False), (9, True)])
    def test_a_ratio_of_exactly_the_threshold_is_tolerated(self, run_rule, rare, fires):
        """Biggest to smallest."""
        steps = {(TRAIN, 0): {"my_labels": np.repeat([0, 1], [100, rare])}}
        issues = run_rule("ClassImbalance", steps, samples=1)
        assert bool(issues) == fires

    def test_counts_go_over_all_steps_and_the_verdict_waits_for_enough_labels(self, run_rule):
        """The step that reaches the number is evaluated, later ones too; steps without labels are not."""
        steps = {
            (TRAIN, 0): {"labels": np.zeros(30)}, (TRAIN, 1): {"labels": np.append(np.zeros(19), 1)},
            (TRAIN, 2): {"x": 1.0}, (EVAL, 0): {"labels": np.ones(2)},
        }  # fmt: skip
        issues = run_rule("ClassImbalance", steps, samples=50)
        assert [(issue.step, round(issue.value, 1)) for issue in issues] == [(1, 49), (3, 16.3)]

    def test_one_class_alone_is_not_unbalanced(self, run_rule):
        """There is nothing to compare it with."""
        assert run_rule("ClassImbalance", {(TRAIN, 0): {"labels": np.zeros(600)}}) == []

    @pytest.mark.parametrize(("wrong", "fires"), [(7, False), (8, True)])
    def test_a_class_may_be_mispredicted_up_to_a_share(self, run_rule, wrong, fires):
        """More fires, naming the predictions."""
        labels = np.repeat([0, 1], [10, 10])
        predictions = labels.copy()
        predictions[:wrong] = 1
        steps = {(TRAIN, 0): {"labels": labels, "predictions": predictions}}
        issues = run_rule("ClassImbalance", steps, samples=20)
        assert [issue.tensors for issue in issues] == ([("predictions", "labels")] if fires else [])

    def test_scores_of_several_classes_need_argmax(self, run_rule, make_trial):
        """Otherwise they are no classes; with another length they do not count."""
        steps = {(TRAIN, 0): {"labels": np.array([0, 1] * 10), "predictions": np.tile([[0.1, 7.0]], (20, 1))}}
        (issue,) = run_rule("ClassImbalance", steps, samples=20, argmax="true")
        assert (issue.value, "class 0" in issue.message.lower()) == (1.0, True)
        trial = make_trial(steps)
        evaluation = evaluate([create_rule("ClassImbalance", trial, {"samples": 20})], trial)
        evaluation.run()
        assert evaluation.statuses[0].status == "Error"
        assert "arg-max" in evaluation.statuses[0].details

    def test_predictions_of_another_length_do_not_count(self, run_rule):
        """They do not belong to the labels."""
        steps = {(TRAIN, 0): {"labels": np.array([0, 1]), "predictions": np.array([1, 0, 1])}}
        assert run_rule("ClassImbalance", steps, samples=1) == []

    def test_several_label_tensors_are_joined_in_the_order_of_names(self, run_rule):
        """As are predictions."""
        steps = {
            (TRAIN, 0): {
                "a_labels": np.zeros(4), "b_labels": np.ones(4),
                "a_predictions": np.zeros(4), "b_predictions": np.ones(4),
            }
        }  # fmt: skip
        assert run_rule("ClassImbalance", steps, samples=1) == []


class TestConfusion:
    @given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
    def test_the_matrix_equals_that_of_a_naive_loop(self, pairs):
        """Rows are labels, columns predictions."""
        labels, predictions = np.array(pairs).T
        expected = np.zeros((4, 4), int)
        for label, prediction in pairs:
            expected[label, prediction] += 1
        assert np.array_equal(confusion_matrix(labels, predictions, 4), expected)
        size = int(max(labels.max(), predictions.max())) + 1
        assert np.array_equal(confusion_matrix(labels, predictions), expected[:size, :size])

    @settings(max_examples=60)
    @given(st.lists(ANSWERS, max_size=8), st.sampled_from([None, 2, 4]))
    def test_what_is_foreseen_of_many_steps_is_what_judging_each_finds(self, steps, category_no):
        """Whatever is no class, or comes in another shape or type at some step, included."""
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            writer = SmallTrial(folder)
            for number, tensors in enumerate(steps):
                writer.write(TRAIN, number, {"loss": 1.0, **tensors})
            writer.end()

            def found():
                trial = create_trial(folder, index_cache=False)
                given = {"category_no": category_no, "min_diag": 0.6, "max_off_diag": 0.4}
                evaluation = evaluate([create_rule("Confusion", trial, given)], trial, clock=lambda: 0.0)
                return [issue.to_json() for issue in evaluation], evaluation.statuses

            screened = found()
            patch.setattr(BuiltinRule, "can_screen_block", False)
            assert screened == found()

    def test_sound_steps_are_not_evaluated_one_by_one(self, make_trial, monkeypatch):
        """Even if not each class occurs at each step."""
        rng = np.random.default_rng(0)
        classes = [rng.integers(0, 6, 5) for _ in range(20)]
        trial = make_trial({(TRAIN, step): {"labels": ids, "predictions": ids} for step, ids in enumerate(classes)})
        rule = create_rule("Confusion", trial)
        monkeypatch.setattr(rule, "_failures", None)
        evaluation = evaluate([rule], trial)
        assert evaluation.run() == []
        assert [(status.status, status.num_steps) for status in evaluation.statuses] == [("NoIssuesFound", 20)]

    @pytest.mark.parametrize("method", ["evaluate", "result_at", "issues_at"])
    def test_a_subclass_that_judges_in_its_own_way_evaluates_each_step(self, make_trial, method):
        """What its parent foresees is not what it looks for."""

        def find(self, view_or_step):
            return [self.issue(view_or_step if isinstance(view_or_step, int) else view_or_step.step)]

        classes = {"labels": np.arange(3), "predictions": np.arange(3)}
        trial = make_trial({(TRAIN, 0): classes, (TRAIN, 1): classes})
        strict = type("Strict", (Confusion,), {method: find})
        assert fired(evaluate([strict(trial)], trial)) == [0, 1]

    def test_a_subclass_that_requires_tensors_is_not_spoken_for(self, make_trial):
        """Steps that lack one of them are passed over."""

        class Requiring(Confusion):
            def set_required_tensors(self, step):
                self.req_tensors.add("never saved", steps=[step])

        trial = make_trial({(TRAIN, 0): {"labels": np.arange(3), "predictions": np.arange(3)}})
        evaluation = evaluate([Requiring(trial)], trial)
        evaluation.run()
        assert [(status.num_steps, status.num_skipped) for status in evaluation.statuses] == [(0, 1)]

    def test_steps_with_very_many_labels_are_counted_one_by_one(self, make_trial, monkeypatch):
        """Together they would take memory, as the pixels of images do."""
        ids = np.zeros((9, 300), np.uint8)
        trial = make_trial({(TRAIN, step): {"labels": ids, "predictions": ids} for step in range(3)})
        monkeypatch.setattr(confusion, "confusion_matrices", None)
        assert fired(evaluate([create_rule("Confusion", trial)], trial)) == []

    def test_a_perfect_matrix_never_fires(self, run_rule):
        """However many classes."""
        classes = np.repeat(np.arange(10), 3)
        assert run_rule("Confusion", {(TRAIN, 0): {"labels": classes, "predictions": classes}}) == []

    @pytest.mark.parametrize(("wrong", "fires"), [(1, False), (2, True)])
    def test_shares_are_of_the_predictions_of_a_class(self, run_rule, wrong, fires):
        """9 of 10 right predictions are enough."""
        predictions = np.repeat([0, 1], [10, 10])
        labels = predictions.copy()
        labels[:wrong] = 1
        assert bool(run_rule("Confusion", {(TRAIN, 0): {"labels": labels, "predictions": predictions}})) == fires

    def test_the_largest_share_of_another_class_is_limited_by_itself(self, run_rule):
        """Even if the diagonal is well."""
        labels, predictions = np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0])
        given = {"min_diag": 0, "max_off_diag": "0.2"}
        (issue,) = run_rule("Confusion", {(TRAIN, 0): {"labels": labels, "predictions": predictions}}, **given)
        assert (issue.value, issue.threshold) == (0.25, 0.2)

    def test_a_class_that_is_never_predicted_is_never_right(self, run_rule):
        """One that occurs neither here nor there does not matter."""
        labels, predictions = np.array([0, 0, 2]), np.array([0, 0, 0])
        steps = {(TRAIN, 0): {"labels": labels, "predictions": predictions}}
        (issue,) = run_rule("Confusion", steps, max_off_diag=1, min_diag=0.5, category_no=5)
        assert "class 2" in issue.message

    def test_each_step_is_evaluated_by_itself(self, run_rule):
        """Nothing is carried over; other lengths give no verdict."""
        bad, good = np.array([0, 1]), np.array([1, 0])
        steps = {
            (TRAIN, 0): {"labels": bad, "predictions": good}, (TRAIN, 1): {"labels": bad, "predictions": bad},
            (TRAIN, 2): {"labels": bad, "predictions": np.array([1, 0, 1])}, (TRAIN, 3): {"labels": bad},
        }  # fmt: skip
        assert fired(run_rule("Confusion", steps)) == [0]

    def test_collections_are_searched_where_the_tensor_is_missing(self, run_rule, make_trial):
        """The name comes first."""
        steps = {
            (TRAIN, 0): {"truth": np.array([0, 1]), "guess": np.array([1, 0])},
            (TRAIN, 1): {"truth": np.array([0, 1]), "guess": np.array([1, 0]), "predictions": np.array([0, 1])},
        }
        trial = make_trial(steps, collections={"labels": ["^truth"], "predictions": ["^guess"]})
        assert fired(run_rule("Confusion", trial)) == [0]

    def test_a_name_is_no_pattern(self, run_rule):
        """Whatever is in it."""
        steps = {(TRAIN, 0): {"labels[0]": np.array([0, 1]), "guess[0]": np.array([1, 0])}}
        assert fired(run_rule("Confusion", steps, labels="labels[0]", predictions="guess[0]")) == [0]

    @pytest.mark.parametrize(("ids", "number"), [([-1, 0], None), ([0, 2], 2)])
    def test_impossible_classes_end_the_rule_with_an_error(self, make_trial, ids, number):
        """Negative, or not below the number of classes."""
        trial = make_trial({(TRAIN, 0): {"labels": np.array(ids), "predictions": np.array([0, 1])}})
        evaluation = evaluate([create_rule("Confusion", trial, {"category_no": number})], trial)
        evaluation.run()
        assert evaluation.statuses[0].status == "Error"
        assert "classes from 0 to" in evaluation.statuses[0].details


class TestFeatureImportanceOverweight:
    def test_the_leading_features_are_divided_by_all(self):
        """Nothing to divide by gives no verdict."""
        assert leading_share({"a": 6, "b": 3, "c": 1}, 2) == 0.9
        assert leading_share({"a": 6}, 3) == 1
        assert leading_share({"a": 0}, 3) is None

    @pytest.mark.parametrize(("threshold", "fires"), [(0.9, False), (0.89, True)])
    def test_the_threshold_itself_is_tolerated(self, run_rule, threshold, fires):
        """The leading features are named, the largest first."""
        steps = {(TRAIN, 0): {f"feature_importance/weight/f{n}": v for n, v in enumerate((1.0, 6.0, 3.0))}}
        issues = run_rule("FeatureImportanceOverweight", steps, nfeatures=2, threshold=threshold)
        names = ("feature_importance/weight/f1", "feature_importance/weight/f2")
        assert [issue.tensors for issue in issues] == ([names] if fires else [])
