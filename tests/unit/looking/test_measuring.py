"""Measures of layers are those that NumPy gives for the saved values, from whatever was saved."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.looking.evidence import EVIDENCE, evidence_of
from sagemaker_debug_ext.looking.measures import MEASURES, tensor_groups
from sagemaker_debug_ext.looking.measuring import MeasureReader, read_measures, spread
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

from .conftest import BROKEN, BROKEN_AT, LAYERS, STEPS


def test_groups_when_a_hook_saved_gradients_backwards_then_rows_are_in_the_order_of_the_model(sound):
    """Layers stand from the first to the last, in gradients as in weights."""
    groups = tensor_groups(sound)
    assert groups["weights"] == list(LAYERS)
    assert groups["gradients"] == [f"gradient/{name}" for name in LAYERS]


def test_measures_when_values_were_saved_then_as_numpy_gives_them(sound):
    """Norms and changes of each tensor at each step are those of the values."""
    grids = read_measures(sound).grids
    for row, name in enumerate(LAYERS):
        values = sound.tensor(name).stack().reshape(STEPS, -1).astype(float)
        gradients = sound.tensor(f"gradient/{name}").stack().reshape(STEPS, -1).astype(float)
        np.testing.assert_allclose(grids["weight_norm"].values[row], np.linalg.norm(values, axis=1))
        np.testing.assert_allclose(grids["gradient_norm"].values[row], np.linalg.norm(gradients, axis=1))
        changes = np.linalg.norm(np.diff(values, axis=0), axis=1) / np.linalg.norm(values[:-1], axis=1)
        np.testing.assert_allclose(grids["update_ratio"].values[row, 1:], changes)
        assert not grids["update_ratio"].saved[row, 0]
    assert "gradient_non_finite" not in grids


def test_measures_when_values_are_not_finite_then_their_share(broken):
    """The share of values that are no numbers is a measure of its own, if there are any."""
    grid = read_measures(broken).grids["gradient_non_finite"]
    share = np.zeros((len(LAYERS), STEPS))
    share[LAYERS.index(BROKEN), BROKEN_AT:] = 1
    np.testing.assert_array_equal(grid.values, share)


@pytest.mark.parametrize("reduction", [("l2", False), ("mean", True), ("std", False), ("max", True)])
def test_measures_when_reductions_were_saved_then_they_are_taken(tmp_path, reduction):
    """A saved reduction tells the size of a tensor that was not saved itself, and where it is from is said."""
    trial = SmallTrial(tmp_path / "trial")
    for step in range(5):
        named = {reduction_tensor_name(*reduction, f"gradient/{name}"): np.float32(step + 1) for name in LAYERS}
        trial.write(ModeKeys.TRAIN, step, named)
    trial.end()
    grids = read_measures(create_trial(str(tmp_path / "trial"))).grids
    assert list(grids) == ["gradient_norm"]
    assert grids["gradient_norm"].values.tolist() == [[1, 2, 3, 4, 5]] * len(LAYERS)
    assert grids["gradient_norm"].source.endswith(("abs_" if reduction[1] else "") + reduction[0])


def test_measures_when_steps_evaluate_then_weights_are_those_of_training(tmp_path):
    """Evaluation changes no weight, which would look like training that stands still."""
    trial = SmallTrial(tmp_path / "trial")
    modes = [ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.EVAL, ModeKeys.TRAIN, ModeKeys.TRAIN]
    for step, (mode, value) in enumerate(zip(modes, (1, 2, 2, 2, 4), strict=True)):
        trial.write(mode, step, {"net.a.weight": np.float32([value])}, global_step=step)
    trial.end()
    grids = read_measures(create_trial(str(tmp_path / "trial"))).grids
    assert grids["update_ratio"].steps == (0, 3, 4)
    assert grids["update_ratio"].values[0, 1:].tolist() == [1, 1]


def test_measures_when_time_is_up_then_even_steps_are_there_and_the_rest_is_counted(tmp_path):
    """The first steps asked for, the ends and evenly spread ones come first."""
    trial = SmallTrial(tmp_path / "trial")
    for step in range(400):
        trial.write(ModeKeys.TRAIN, step, {"gradient/w": np.float32([step])})
    trial.end()
    measures = read_measures(create_trial(str(tmp_path / "trial")), first=[123], seconds=0)
    steps = measures.grids["gradient_norm"].steps
    assert (measures.num_read, measures.num_steps) == (128, 400)
    assert {0, 123, 399} <= set(steps)
    assert max(np.diff(steps)) <= 4


@given(
    steps=st.lists(st.integers(0, 10_000), unique=True, max_size=200).map(sorted),
    first=st.sets(st.integers(0, 10_000), max_size=3),
    size=st.integers(1, 50),
)
def test_spread_when_all_batches_are_taken_then_every_step_once(steps, first, size):
    """No step is left out, and none is read twice."""
    batches = list(spread(steps, first, size))
    assert sorted(step for batch in batches for step in batch) == steps
    assert all(len(batch) <= size and batch == sorted(batch) for batch in batches)


def test_evidence_when_a_rule_runs_here_then_it_is_known():
    """Every rule of the catalog that runs here has its evidence, and nothing else has."""
    from sagemaker_debug_ext.catalog import list_rule_specs

    assert set(EVIDENCE) == {spec.name for spec in list_rule_specs("debugger") if spec.rule_class}
    others = {"loss", "classes", "ranks", "curves", "messages"}
    assert all({shown.first, *shown.beside} <= {*MEASURES, *others} for shown in EVIDENCE.values())
    assert evidence_of("OfAUser").first == "messages"


def test_reader_when_its_memory_is_limited_then_the_columns_are_bounded_and_extremes_stay(tmp_path):
    """However long a job goes on, a spike is not lost, the start and the latest steps are as they were saved."""
    writer = SmallTrial(tmp_path)
    trial = create_trial(str(tmp_path), wait_seconds=0)
    whole, limited = MeasureReader(trial), MeasureReader(trial, max_columns=200)
    for step in range(700):
        value = np.full(2, 16.0 if step == 301 else 1 + step % 3 / 10, "f4")
        writer.write(ModeKeys.TRAIN, step, {"net.a.weight": value, "gradient/net.a.weight": value})
        if step % 100 == 99:
            trial.index_reader.follow()
            limited.read()
    writer.end()
    trial.index_reader.follow()
    limited.read()
    whole.read()
    assert limited.measures().num_read == 700
    for name, grid in limited.measures().grids.items():
        every = whole.measures().grids[name]
        assert len(grid.steps) <= 200
        assert (grid.steps[:64], grid.steps[-16:]) == (every.steps[:64], every.steps[-16:])
        np.testing.assert_array_equal(grid.values[:, :64], every.values[:, :64])
        np.testing.assert_array_equal(grid.values[:, -16:], every.values[:, -16:])
        assert np.nanmax(grid.values) == np.nanmax(every.values)
        assert "share columns" in grid.source
        assert "share columns" not in every.source
