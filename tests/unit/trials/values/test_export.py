"""Values for other tools: numbers, tables, labelled arrays; and what is told of a trial and of two of them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from sagemaker_debug_ext.errors import (
    CorruptRecordError,
    MissingDependencyError,
    SMDebugTypeError,
    SMDebugValueError,
    TensorUnavailableForStep,
    TrialNotFoundError,
)
from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.format.keys import event_key, reduction_tensor_name
from sagemaker_debug_ext.trials.values import export
from sagemaker_debug_ext.vocabulary import ModeKeys


@pytest.fixture
def job(new_job):
    job = new_job(num_workers=2).write_collections()
    for step in range(6):
        mode = ModeKeys.EVAL if step % 3 == 2 else ModeKeys.TRAIN
        for rank, worker in enumerate(job.workers):
            tensors = {"loss": [step + rank / 10], "w": np.full((2, 3), step - rank, np.float32), "name": ["x"]}
            job.write(
                step, tensors, mode=mode, mode_step=step // 3 if mode is ModeKeys.EVAL else step, workers=[worker]
            )
    return job.end()


def test_scalars_when_asked_then_tensors_of_one_element(job, open_trial):
    """Losses, metrics and texts are numbers by step; larger tensors are not among them."""
    trial = open_trial(job)
    assert trial.scalars() == {"loss": {step: float(step) for step in range(6)}, "name": dict.fromkeys(range(6), "x")}
    assert trial.scalars(ModeKeys.EVAL, collection="losses", worker="worker_1") == {"loss": {0: 2.1, 1: 5.1}}
    assert trial.scalars(regex="w") == {}


def test_to_pandas_when_asked_then_a_row_for_each_number(job, open_trial):
    """Step, mode and worker of every number are in the row."""
    pytest.importorskip("pandas")
    frame = open_trial(job).to_pandas(collection="losses")
    assert list(frame.columns) == list(export.COLUMNS)
    assert len(frame) == 12
    row = frame[(frame.step == 5) & (frame.worker == "worker_1")].iloc[0]
    assert (row["mode"], row["mode_step"], row["tensor"], row["value"]) == ("EVAL", 1, "loss", 5.1)
    assert frame.reduction.isna().all()
    assert set(open_trial(job).to_pandas(mode=ModeKeys.EVAL).step) == {2, 5}


def test_to_pandas_when_reductions_are_asked_for_then_of_tensors_of_any_size(job, open_trial):
    """Reductions are computed where none were saved; what has none is not a number."""
    pytest.importorskip("pandas")
    frame = open_trial(job).to_pandas(reductions=["mean", "abs_max"], worker="worker_1")
    found = frame[(frame.tensor == "w") & (frame.step == 0)].set_index("reduction").value
    assert found.to_dict() == {"mean": -1.0, "abs_max": 1.0}
    assert frame[frame.tensor == "name"].value.map(math.isnan).all()
    with pytest.raises(SMDebugValueError, match="median"):
        open_trial(job).to_pandas(reductions=["median"])


def test_to_pandas_when_reductions_are_asked_for_then_each_file_is_read_a_few_times(
    new_job, open_trial, counting_backend
):
    """Saved reductions and small values are read together; the answers are those of one at a time."""
    pytest.importorskip("pandas")
    job = new_job(counting_backend).write_collections()
    rng = np.random.default_rng(1)
    for step in range(40):
        saved = {reduction_tensor_name(name, False, "r"): np.float64(rng.random()) for name in ("mean", "l2")}
        both = {"b": rng.random(4), reduction_tensor_name("mean", False, "b"): np.float64(step)}
        large = {"large": rng.random(20_000)} if step % 20 == 0 else {}
        job.write(step, {"v": rng.random((3, 4)), "text": ["x"], "empty": np.zeros(0), **saved, **both, **large})
    trial = open_trial(job.end())
    counting_backend.reads.clear()
    reductions = ["mean", "l2", "abs_max"]
    frame = trial.to_pandas(reductions=reductions)
    assert len(counting_backend.reads) < 40 * 5
    assert len(frame) == 3 * (5 * 40 + 2)
    for row in frame.itertuples():
        tensor = trial.tensor(row.tensor)
        operation = row.reduction.removeprefix("abs_")
        try:
            expected = tensor.reduction_value(row.step, operation, abs=operation != row.reduction).item()
        except (TensorUnavailableForStep, SMDebugTypeError, SMDebugValueError):
            expected = math.nan
        assert row.value == pytest.approx(expected, rel=0, abs=0, nan_ok=True), (row.tensor, row.reduction)


def test_to_pandas_when_a_value_is_damaged_then_says_so(new_job, open_trial):
    """A number is never made from what cannot be trusted."""
    pytest.importorskip("pandas")
    job = new_job().write_collections().write(0, {"w": np.ones(3)}).write(1, {"w": np.ones(3)}).end()
    key = event_key(1, "worker_0")
    job.backend.write(key, (job.backend.read(key)[:-5],))
    with pytest.raises(CorruptRecordError, match="cut off"):
        open_trial(job).to_pandas(reductions=["mean"])


def test_to_xarray_when_asked_then_labelled_by_step(job, open_trial):
    """Steps are a coordinate, in the mode that was asked for."""
    pytest.importorskip("xarray")
    weight = open_trial(job).tensor("w")
    labelled = weight.to_xarray(worker="worker_1")
    assert labelled.dims == ("step", "dim_0", "dim_1")
    assert labelled.sel(step=4).values.tolist() == [[3.0] * 3] * 2
    of_mode = weight.to_xarray(ModeKeys.EVAL)
    assert of_mode.step.values.tolist() == [0, 1]
    assert of_mode.global_step.values.tolist() == [2, 5]
    assert (of_mode.name, of_mode.attrs["mode"]) == ("w", "EVAL")


@pytest.mark.parametrize("call", [lambda t: t.to_pandas(), lambda t: t.tensor("w").to_xarray()])
def test_export_when_the_package_is_missing_then_says_which(job, open_trial, monkeypatch, call):
    """Without the extra the error says how to get it."""

    def refuse(name, needed_for, extra):
        raise MissingDependencyError(name, needed_for, extra)

    monkeypatch.setattr(export, "import_optional", refuse)
    with pytest.raises(MissingDependencyError, match=r"\[analysis\]"):
        call(open_trial(job))


def test_compare_when_the_same_then_says_so(job, open_trial):
    """A trial is the same as itself."""
    found = open_trial(job).compare(open_trial(job))
    assert found.is_same
    assert found.num_compared == 36
    assert str(found) == "36 values compared, 0 differ"


def test_compare_when_different_then_says_where(job, open_trial, new_job):
    """Tensors, steps, shapes and values that differ are listed, with the worker and by how much."""
    other = new_job(num_workers=2).write_collections()
    for step in range(1, 7):
        mode = ModeKeys.EVAL if step % 3 == 2 else ModeKeys.TRAIN
        tensors = {"loss": [step + (0.5 if step == 4 else 0.0)], "w": np.full((3, 2), step, np.float32), "new": [1]}
        other.write(step, tensors, mode=mode, workers=["worker_0"])
    found = open_trial(job).compare(open_trial(other.end()), regex="^(loss|new|name)$")
    assert (found.only_here, found.only_there) == (("name",), ("new",))
    assert (found.steps_only_here, found.steps_only_there) == ((0,), (6,))
    of_first = [difference for difference in found.differences if difference.worker == "worker_0"]
    assert [(difference.tensor, difference.step, difference.max_difference) for difference in of_first] == [
        ("loss", 4, 0.5)
    ]
    assert {difference.reason for difference in found.differences if difference.worker == "worker_1"} == {
        "only saved here"
    }
    assert not found.is_same
    assert "tensors only there: new" in str(found)
    assert "loss at step 4 of worker_0: differs by up to 0.5" in str(found)
    assert open_trial(job).compare(open_trial(other), "^loss$", atol=0.6).differences[0].worker == "worker_1"
    shapes = open_trial(job).compare(open_trial(other), "^w$").differences
    assert "float32 (2, 3) here, float32 (3, 2) there" in shapes[0].reason


@pytest.mark.parametrize("as_given", [Path, str], ids=["path", "text"])
def test_compare_when_given_a_path_then_opens_the_trial(new_job, open_trial, tmp_path, as_given):
    """A path is opened as by `create_trial`."""
    trial = open_trial(new_job(LocalBackend(tmp_path / "run")).write_collections().write(0).end())
    assert trial.compare(as_given(tmp_path / "run")).is_same


@pytest.mark.parametrize(
    ("other", "error", "match"),
    [
        ("none", TrialNotFoundError, "there is no such folder"),
        (5, SMDebugTypeError, r"other must be a Trial or the path of one \(got 5\)"),
    ],
    ids=["no folder", "a number"],
)
def test_compare_when_given_no_trial_then_refuses(new_job, open_trial, tmp_path, other, error, match):
    """A path without a trial, or a value that is not a path, is refused."""
    trial = open_trial(new_job(LocalBackend(tmp_path / "run")).write_collections().write(0).end())
    with pytest.raises(error, match=match):
        trial.compare(str(tmp_path / other) if isinstance(other, str) else other)


def test_compare_when_not_a_number_on_both_sides_then_the_same(new_job, open_trial):
    """NaN equals NaN; NaN and a number differ."""
    jobs = [
        new_job().write_collections().write(0, {"a": [math.nan, 1], "b": [math.nan, other]}).end() for other in (1, 2)
    ]
    found = open_trial(jobs[0]).compare(open_trial(jobs[1]))
    assert [(difference.tensor, difference.max_difference) for difference in found.differences] == [("b", 1.0)]


def test_html_when_shown_then_tells_what_repr_tells_and_escapes_names(job, open_trial):
    """A notebook shows a table; names in it cannot be markup."""
    trial = open_trial(job)
    trial.name = "<script>"
    shown = trial._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    for text in ("6 (0 to 5)", "2 of 2 (worker_0, worker_1)", "losses", "ended", "EVAL"):
        assert text in shown
        assert text in repr(trial)
