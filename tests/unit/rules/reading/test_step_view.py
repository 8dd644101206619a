from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sagemaker_debug_ext.errors import CorruptRecordError
from sagemaker_debug_ext.rules.reading import step_view as step_module
from sagemaker_debug_ext.rules.reading.numeric import as_scalar, is_numeric, to_float64
from sagemaker_debug_ext.rules.reading.step_view import StepReader, StepView
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

ml_dtypes = pytest.importorskip("ml_dtypes")

STEPS = {
    (ModeKeys.TRAIN, 0): {
        "x": np.arange(4.0),
        "empty": np.array([], np.float32),
        "text": np.array(["a"]),
        "one": np.full((1, 1), 7),
        reduction_tensor_name("mean", True, "reduced"): np.array(0.5),
    },
    (ModeKeys.EVAL, 0): {"x": np.zeros(2)},
}


class CountingTrial:
    """Passes everything on to a trial and counts the values read."""

    def __init__(self, trial):
        self._trial = trial
        self.reads = []

    def __getattr__(self, name):
        return getattr(self._trial, name)

    def tensor(self, name):
        self.reads.append(name)
        return self._trial.tensor(name)


@pytest.mark.parametrize(
    ("dtype", "numeric"),
    [("f2", True), ("i8", True), ("?", True), ("c8", True), (ml_dtypes.bfloat16, True), ("U3", False), ("V4", False)],
)
def test_numbers_are_told_from_texts(dtype, numeric):
    """bfloat16 is a number although NumPy calls it void."""
    assert is_numeric(np.dtype(dtype)) == numeric


def test_double_precision_keeps_complex_numbers():
    """Everything else becomes float64."""
    assert to_float64(np.array([1j], np.complex64)).dtype == np.complex128
    assert to_float64(np.array([1], ml_dtypes.bfloat16)).dtype == np.float64


@pytest.mark.parametrize(
    ("value", "scalar"), [(np.array(2), 2), (np.full((1, 1), 2.5), 2.5), (np.ones(2), None), (np.array(1j), None)]
)
def test_a_scalar_has_exactly_one_real_element(value, scalar):
    """Whatever its shape."""
    assert as_scalar(value) == scalar


def test_a_view_knows_mode_and_names_of_its_step(make_trial):
    """Reductions count as their tensor."""
    view = StepView(make_trial(STEPS), 0)
    assert (view.mode, view.mode_step) == (ModeKeys.TRAIN, 0)
    assert view.tensor_names == ("empty", "one", "reduced", "text", "x")
    assert view.default_worker("x") == "worker_0"


def test_what_a_rule_cannot_use_is_none(make_trial):
    """Empty tensors, texts and reductions have no value; missing reductions are an empty mapping."""
    view = StepView(make_trial(STEPS), 0)
    assert [view.value(name) is None for name in view.tensor_names] == [True, False, True, True, False]
    assert (view.scalar("one"), view.scalar("x")) == (7, None)
    assert view.reductions("reduced") == {("mean", True): 0.5}
    assert view.reductions("x") == {}
    assert view.statistic("empty", np.sum) is None


def test_values_and_statistics_are_read_once_per_step(make_trial):
    """Rules that share views share what was read."""
    trial = CountingTrial(make_trial(STEPS))
    views = StepReader(trial)
    for _ in range(3):
        assert views.at(0).statistic("x", np.sum) == 6
        assert views.at(0).value("x").sum() == 6
    assert trial.reads == ["x"]
    assert views.at(1).value("x").sum() == 0
    assert trial.reads == ["x", "x"]


def test_the_previous_value_is_that_of_the_mode(make_trial):
    """A step of another mode has no previous value, and neither has the first step of a mode."""
    steps = {(ModeKeys.TRAIN, 0): {"x": 1}, (ModeKeys.EVAL, 0): {"x": 2}, (ModeKeys.TRAIN, 4): {"x": 3}}
    views = StepReader(make_trial({key: {"x": np.full(2, tensors["x"])} for key, tensors in steps.items()}))
    last = views.trial.global_step(ModeKeys.TRAIN, 4)
    step, value = views.at(last).previous("x", ModeKeys.TRAIN)
    assert (step, value.tolist()) == (0, [1, 1])
    step, value = views.at(last).previous("x", ModeKeys.GLOBAL)
    assert (step, value.tolist()) == (last - 1, [2, 2])
    assert views.at(last).previous("x", ModeKeys.EVAL) is None
    assert views.at(0).previous("x", ModeKeys.TRAIN) is None


def test_what_depends_on_names_alone_is_computed_once_for_all_steps_with_these_names(make_trial):
    """Other names and other arguments are computed on their own."""
    named = []

    def describe(_trial, names, word):
        named.append(names)
        return f"{word} {len(names)}"

    views = StepReader(
        make_trial(
            {(ModeKeys.TRAIN, step): {"x": np.ones(2)} for step in range(3)}
            | {(ModeKeys.TRAIN, 3): {"x": np.ones(2), "y": np.ones(2)}}
        )
    )
    assert [views.at(step).of_names(describe, "of") for step in range(4)] == ["of 1"] * 3 + ["of 2"]
    assert named == [("x",), ("x", "y")]
    assert views.at(3).of_names(describe, "all") == "all 2"


def test_values_beyond_the_kept_bytes_are_read_again(make_trial, monkeypatch):
    """Memory is bounded; results stay the same."""
    monkeypatch.setattr(step_module, "KEPT_BYTES", 31)
    trial = CountingTrial(make_trial(STEPS))
    view = StepView(trial, 0)
    assert [view.value("x").sum() for _ in range(2)] == [6, 6]
    assert [view.scalar("one") for _ in range(2)] == [7, 7]
    assert trial.reads == ["x", "x", "one"]


KEYS = (("l2", False), ("mean", True), ("max", False))


@pytest.fixture
def reduced(make_trial):
    """Forty tensors of which three reductions were saved; of every fifth the value was, too."""
    tensors = {
        reduction_tensor_name(*key, f"w{number:02}"): np.float32(10 * number + place)
        for number in range(40)
        for place, key in enumerate(KEYS)
    }
    tensors |= {f"w{number:02}": np.full(3, number, np.float32) for number in range(0, 40, 5)}
    return make_trial({(ModeKeys.TRAIN, step): tensors for step in range(2)})


def test_reductions_when_many_are_asked_for_then_as_one_by_one_and_read_together(reduced, monkeypatch):
    """After the first tensors of a step, those of all others are read at once, with the same result."""
    one_by_one = {name: reduced.tensor(name).reduction_values(1) for name in reduced.tensor_names()}
    alone = []
    read_one = type(reduced.index_reader).read_one
    monkeypatch.setattr(
        type(reduced.index_reader), "read_one", lambda *args: (alone.append(args[1].name), read_one(*args))[1]
    )
    view = StepReader(reduced).at(1)
    for name, saved in one_by_one.items():
        assert view.reductions(name) == {key: float(value[0]) for key, value in saved.items()}
        assert (view.value(name) is None) == (int(name[1:]) % 5 != 0)
    assert len({name.rpartition("/")[2] for name in alone if "/" in name}) < 12


def test_reductions_when_one_is_damaged_then_only_its_tensor_raises(reduced):
    """Reading together hides no damage, and does not spread it."""
    record = reduced.index_reader.find("w30", 1, ModeKeys.GLOBAL)["worker_0"].reductions["l2", False]
    path = Path(reduced.path) / record.event_file
    content = bytearray(path.read_bytes())
    content[record.location.start] ^= 1
    path.write_bytes(bytes(content))
    view = StepReader(create_trial(reduced.path)).at(1)
    for name in reduced.tensor_names():
        if name == "w30":
            with pytest.raises(CorruptRecordError):
                view.reductions(name)
        else:
            assert len(view.reductions(name)) == len(KEYS)
