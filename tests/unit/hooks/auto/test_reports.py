"""Metrics of scikit-learn note how well predictions agree with labels, and behave as ever."""

from __future__ import annotations

import copy
import inspect
import itertools
import pickle
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.auto import reports
from sagemaker_debug_ext.hooks.base import BaseHook
from sagemaker_debug_ext.store.format.program import ProgramRecord, ReportRecord, read_program

LABELS = np.arange(60) % 3


class TrainedHook(BaseHook):
    """A hook that has trained, and keeps the reports that it is told."""

    has_trained = True

    def __init__(self):
        self.noted = []

    def note_report(self, report):
        self.noted.append(report)


def accuracy_score(y_true, y_pred, *, normalize=True):
    """Return the share of right predictions."""
    if len(y_true) != len(y_pred):
        raise ValueError("other lengths")
    right = np.asarray(y_true) == np.asarray(y_pred)
    return right.mean() if normalize else right.sum()


@pytest.fixture
def metrics():
    module = ModuleType("metrics")
    module.accuracy_score = accuracy_score
    reports.observe(module)
    return module


@pytest.fixture
def noted(monkeypatch):
    hook = TrainedHook()
    monkeypatch.setattr(registry._Slot, "hook", hook)
    return hook.noted


def test_function_when_observed_then_is_as_before(metrics, noted):
    """Results, errors, name and signature are those of the function, and a pickle is of the function itself."""
    observed = metrics.accuracy_score
    assert observed(LABELS, LABELS) == 1
    assert observed(y_true=LABELS, y_pred=LABELS, normalize=False) == 60
    with pytest.raises(ValueError, match="other lengths"):
        observed(LABELS, LABELS[1:])
    assert (observed.__name__, observed.__doc__) == (accuracy_score.__name__, accuracy_score.__doc__)
    assert inspect.signature(observed) == inspect.signature(accuracy_score)
    assert pickle.loads(pickle.dumps(observed)) is accuracy_score
    assert copy.copy(observed) is copy.deepcopy([observed])[0] is observed
    assert repr(observed) == repr(accuracy_score)
    assert observed.__code__ is accuracy_score.__code__
    assert [report.num_right for report in noted] == [60, 60]


def test_function_when_scikit_learn_itself_calls_it_then_notes_nothing(metrics, noted):
    """The score of an estimator, which may be a baseline, is none of the model that is captured."""
    library = {"__name__": "sklearn.base", "score": metrics.accuracy_score, "labels": LABELS}
    assert eval("score(labels, labels)", library) == 1
    assert noted == []


def test_function_when_called_again_and_again_then_is_left_alone(metrics, noted, monkeypatch):
    """A bootstrap takes no longer for being observed."""
    monkeypatch.setattr(reports, "MOST_CALLS", 3)
    for _ in range(5):
        assert metrics.accuracy_score(LABELS, LABELS) == 1
    assert len(noted) == 3


def test_module_when_observed_twice_then_its_functions_note_once(metrics, noted):
    """Several hooks may ask for it."""
    reports.observe(metrics)
    metrics.accuracy_score(LABELS, LABELS)
    assert len(noted) == 1


@pytest.mark.parametrize(
    ("labels", "predicted"),
    [
        (LABELS[:49], LABELS[:49]),
        (LABELS, LABELS[:, None].repeat(2, axis=1)),
        (LABELS, LABELS * 1j),
        (LABELS, 7),
    ],
    ids=["few", "several labels of a sample", "no classes", "a number"],
)
def test_report_when_it_is_not_of_classes_of_many_samples_then_is_not_noted(noted, labels, predicted):
    """What the function makes of them is its own affair."""
    reports.note("accuracy_score", labels, predicted)
    assert noted == []


@pytest.mark.parametrize(
    ("labels", "predicted"),
    [
        (LABELS.tolist(), LABELS[:, None]),
        (np.array(list("abc"))[LABELS], np.array(list("abc"))[LABELS].astype(object)),
        (LABELS == 1, (LABELS == 1).astype(float)),
    ],
    ids=["list and column", "words", "flags"],
)
def test_report_when_classes_have_other_types_then_is_noted(noted, labels, predicted):
    """Labels may be words, and predictions a column."""
    reports.note("accuracy_score", labels, predicted)
    assert [(report.num_samples, report.num_right) for report in noted] == [(60, 60)]


def test_report_when_nothing_trains_then_is_not_noted(metrics, monkeypatch):
    """Without a hook, or before training, the function only computes its result."""
    monkeypatch.setattr(registry._Slot, "hook", None)
    assert metrics.accuracy_score(LABELS, LABELS) == 1
    hook = TrainedHook()
    hook.has_trained = False
    monkeypatch.setattr(registry._Slot, "hook", hook)
    assert metrics.accuracy_score(LABELS, LABELS) == 1
    assert hook.noted == []


def test_report_when_noting_fails_then_the_script_gets_its_result(metrics, monkeypatch):
    """Whatever goes wrong stays here."""
    hook = TrainedHook()
    hook.note_report = lambda _: 1 / 0
    monkeypatch.setattr(registry._Slot, "hook", hook)
    assert metrics.accuracy_score(LABELS, LABELS) == 1


CLASSES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60)


@given(CLASSES)
def test_counts_are_those_of_a_table(pairs):
    """Each number follows from the table of labels and predictions."""
    labels, predicted = np.array(pairs).T
    table = np.zeros((4, 4))
    np.add.at(table, (labels, predicted), 1)
    report = ReportRecord.of("f", labels, predicted)
    of_labels, of_predicted = table.sum(axis=1), table.sum(axis=0)
    assert report.num_right == np.trace(table)
    assert report.num_expected == pytest.approx(of_labels @ of_predicted / len(pairs))
    assert report.num_moved == np.abs(of_labels - of_predicted).sum() / 2
    assert report.shares == pytest.approx(sorted(of_predicted[of_predicted > 0] / len(pairs), reverse=True))
    assert report == ReportRecord.of("f", np.array(list("abcd"))[labels], np.array(list("abcd"))[predicted])
    assert ReportRecord.of("f", labels, labels).kappa == float(len(set(labels.tolist())) > 1)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=6))
def test_chance_is_that_of_all_orders(pairs):
    """Mean and deviation are those over all orders of the predictions."""
    labels, predicted = np.array(pairs).T
    right = [np.count_nonzero(labels == each) for each in itertools.permutations(predicted)]
    report = ReportRecord.of("f", labels, predicted)
    assert (report.num_expected, report.deviation) == pytest.approx((np.mean(right), np.std(right)), abs=1e-6)


@given(CLASSES)
def test_kappa_is_that_of_scikit_learn(pairs):
    """It defines it in the same way, but leaves it open where chance leaves nothing wrong."""
    score = pytest.importorskip("sklearn.metrics").cohen_kappa_score
    labels, predicted = np.array(pairs).T
    if len(set(np.concatenate([labels, predicted]).tolist())) > 1:
        assert ReportRecord.of("f", labels, predicted).kappa == pytest.approx(score(labels, predicted))


def report_of(num_right, function="accuracy_score", num_samples=60):
    predicted = np.where(
        np.arange(num_samples) < num_right, np.arange(num_samples) % 3, (np.arange(num_samples) + 1) % 3
    )
    return ReportRecord.of(function, np.arange(num_samples) % 3, predicted)


def test_record_when_the_hook_closes_then_has_the_best_report_of_each_function(make_hook):
    """Those of early epochs are worse; reports on other samples, and by other functions, are others."""
    hook = make_hook()
    hook.run_step({"loss": 1.0})
    hook._dispatcher.describe_program(ProgramRecord(framework="Plain"))
    for report in (report_of(9), report_of(40), report_of(30), report_of(5, "f1_score"), report_of(7, num_samples=90)):
        hook.note_report(report)
    hook.close()
    expected = (report_of(40), report_of(5, "f1_score"), report_of(7, num_samples=90))
    assert read_program(hook.backend) == ProgramRecord(framework="Plain", reports=expected)


def test_reports_when_there_are_many_then_the_first_functions_and_sizes_are_kept(make_hook):
    """A script may report on batches of any size."""
    hook = make_hook()
    hook.run_step({"loss": 1.0})
    hook._dispatcher.describe_program(ProgramRecord(framework="Plain"))
    for num in range(60, 90):
        hook.note_report(report_of(9, num_samples=num))
    hook.note_report(report_of(50))
    hook.close()
    kept = read_program(hook.backend).reports
    assert [report.num_samples for report in kept] == list(range(60, 80))
    assert kept[0].num_right == 50
