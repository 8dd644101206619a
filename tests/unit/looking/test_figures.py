"""Figures of a trial, as matplotlib's own objects."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.looking import figures
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

from .conftest import write_job

matplotlib = pytest.importorskip("matplotlib")

HOSTILE = ("net.</script><img src=x onerror=alert(1)>.weight", "net.$\\alpha$.weight", "net.a\u202eb.weight")


@pytest.fixture
def classes(tmp_path):
    trial = SmallTrial(
        tmp_path / "classes", collections={"losses": ["CrossEntropyLoss_output"], "feature_importance": ["^feature"]}
    )
    random = np.random.RandomState(0)
    for step in range(6):
        labels = random.randint(0, 3, 20)
        scores = np.eye(3)[labels] + 0.1 * random.rand(20, 3)
        tensors = {
            "CrossEntropyLoss_input_0": scores.astype("f4"),
            "CrossEntropyLoss_input_1": labels,
            "CrossEntropyLoss_output_0": np.float32(1),
        }
        trial.write(
            ModeKeys.TRAIN, step, {**tensors, "feature_importance/gain/f0": 0.5, "feature_importance/gain/f1": 2.0}
        )
    trial.end()
    return create_trial(str(tmp_path / "classes"))


@pytest.fixture(autouse=True)
def headless(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")


def drawn(figure):
    """Return the figure's panels after it was drawn whole."""
    assert isinstance(figure, matplotlib.figure.Figure)
    figure.canvas.draw()
    return figure.axes


def test_figures_when_drawn_then_they_hold_the_numbers(broken, sound):
    """Losses and layers are matplotlib's own objects, with the values of the trial."""
    (panel,) = drawn(figures.losses(broken, mode=ModeKeys.TRAIN))
    expected = [value.item() for value in broken.tensor("CrossEntropyLoss_output_0").values().values()]
    np.testing.assert_allclose(panel.lines[0].get_ydata(), expected)
    panel, _ = drawn(figures.layers(broken, "gradient_norm"))
    assert np.isfinite(panel.images[1].get_array().filled(np.nan)).sum() == 10
    drawn(figures.layers(broken, "update_ratio", against="others"))
    drawn(figures.layers(broken, "gradient_non_finite"))
    drawn(figures.curves(broken))
    (panel,) = drawn(figures.histograms(broken.tensor("net.layer0.weight"), steps=5))
    assert len(panel.get_yticks()) == 5
    assert len(drawn(figures.compare([broken, sound]))[0].lines) == 2


def test_figures_when_classes_and_features_were_saved_then_they_are_counted(classes):
    """Confusion and importances."""
    (panel,) = drawn(figures.confusion(classes))
    assert np.trace(panel.images[0].get_array()) == 3
    (panel,) = drawn(figures.importances(classes))
    assert [patch.get_width() for patch in panel.patches] == [0.5, 2.0]


def test_figures_when_workers_part_then_the_worker_stands_out(tmp_path):
    """One row a worker."""
    trial = SmallTrial(tmp_path / "job", workers=("worker_0", "worker_1", "worker_2"))
    for step in range(5):
        for worker, factor in (("worker_0", 1), ("worker_1", 1), ("worker_2", 16)):
            trial.write(
                ModeKeys.TRAIN,
                step,
                {"gradient/net.a.weight": np.full(3, factor, "f4")},
                global_step=step,
                worker=worker,
            )
    trial.end()
    panel, _ = drawn(figures.ranks(create_trial(str(tmp_path / "job"))))
    assert panel.images[0].get_array()[:, 0].tolist() == [0, 0, 4]


def test_figures_when_names_are_hostile_then_they_are_text(tmp_path):
    """No name is a formula."""
    trial = create_trial(write_job(tmp_path / "job", names=HOSTILE, steps=4))
    drawn(figures.layers(trial))
    drawn(figures.histograms(trial.tensor(HOSTILE[1])))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda trial: figures.layers(trial, "gradient_nrm"), SMDebugValueError, "gradient_norm"),
        (lambda trial: figures.layers(trial, "output_size"), SMDebugValueError, "it has gradient_norm"),
        (lambda trial: figures.layers(trial, against="me"), SMDebugValueError, "against must be"),
        (lambda trial: figures.histograms(trial.tensor("net.layer0.weight"), 0), SMDebugValueError, "at least 1"),
        (lambda trial: figures.histograms(trial.tensor("net.layer0.weight"), 1.5), SMDebugTypeError, "whole number"),
        (figures.confusion, SMDebugValueError, "predictions of classes"),
        (figures.importances, SMDebugValueError, "feature_importance"),
        (figures.ranks, SMDebugValueError, "several workers"),
        (lambda trial: figures.curves(trial, ["net.layer0.weight"]), SMDebugValueError, "single numbers"),
        (lambda trial: figures.losses(trial, ModeKeys.EVAL), SMDebugValueError, "saved a loss"),
    ],
)
def test_figures_when_there_is_nothing_to_draw_then_what_is_missing(sound, call, error, match):
    """The error names what to give or to save."""
    with pytest.raises(error, match=match):
        call(sound)
