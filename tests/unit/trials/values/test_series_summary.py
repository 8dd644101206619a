"""What is left of values that pass through a small room is what they themselves would have told."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.trials.values import series_summary
from sagemaker_debug_ext.trials.values.series_summary import SummaryRequest
from sagemaker_debug_ext.vocabulary import ModeKeys

NAMES = ("a", "b", "c")
SHAPES = st.sampled_from([(), (1,), (40, 7), (3, 5, 11), (8200,), (9, 1000)])


def write(folder, steps):
    trial = SmallTrial(folder)
    trial.write(ModeKeys.TRAIN, 0, {"first": np.zeros(1)})  # the number 0 takes fewer bytes than others
    for step, tensors in enumerate(steps, start=1):
        trial.write(ModeKeys.TRAIN, step, tensors)
    trial.end()


def digest(folder, wishes, steps):
    reader = create_trial(str(folder), index_cache=False).index_reader
    return list(reader.read_digests(wishes, steps, ModeKeys.GLOBAL))


@settings(max_examples=20)
@example({"a": ((9, 1000), np.float64), "b": ((), np.float32)}, 4, 64, 0)  # pieces of a value at a time
@example({"a": ((8200,), np.float32), "c": ((3, 5, 11), np.float64)}, 2, 1 << 20, 0)  # all values at once
@given(
    st.dictionaries(st.sampled_from(NAMES), st.tuples(SHAPES, st.sampled_from([np.float32, np.float64])), min_size=1),
    st.integers(1, 4),
    st.sampled_from([64, 1 << 12, 1 << 20]),
    st.integers(0, 2**32),
)
def test_sums_and_elements_are_those_of_the_values(shapes, num_steps, room_bytes, seed):
    """Whatever the room holds at a time."""
    rng = np.random.default_rng(seed)
    steps = [
        {name: rng.normal(size=shape).astype(dtype) for name, (shape, dtype) in shapes.items()}
        for _ in range(num_steps)
    ]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(series_summary, "_ROOM_BYTES", room_bytes)
        write(folder, steps)
        wishes = {name: SummaryRequest(num_leading=lambda _: 3, has_sums=True) for name in shapes}
        found = dict(digest(folder, wishes, range(1, num_steps + 1)))
    assert found.keys() == shapes.keys()
    for name, (shape, dtype) in shapes.items():
        values = np.stack([tensors[name] for tensors in steps])
        flat, left = values.reshape(num_steps, -1), found[name]
        assert (left.steps, left.shape, left.sample.dtype) == (list(range(1, num_steps + 1)), shape, dtype)
        magnitude = np.abs(flat).sum(axis=1)
        assert np.abs(left.sums - flat.sum(axis=1, dtype=np.float64)).max() <= 1e-4 * magnitude.max()
        np.testing.assert_allclose(left.square_sums, np.square(flat, dtype=np.float64).sum(axis=1), rtol=1e-4)
        if shape:
            np.testing.assert_array_equal(left.leading, values[:, : left.leading.shape[1]])
            assert left.leading.shape[1] == min(3, shape[0]) or room_bytes < values[0].nbytes
        assert all(np.isin(sample, row).all() for sample, row in zip(left.sample, flat, strict=True))
        assert left.sample.shape[1] == min(flat.shape[1], left.sample.shape[1]) > 0


def test_samples_of_all_steps_are_of_the_same_places(tmp_path):
    """Or they could not be compared."""
    values = np.arange(100_000, dtype=np.float32)
    write(tmp_path, [{"a": values}, {"a": values + 0.5}])
    ((_, found),) = digest(tmp_path, {"a": SummaryRequest()}, [1, 2])
    np.testing.assert_array_equal(found.sample[0] + 0.5, found.sample[1])
    assert found.sample[0, 0] == 0
    assert found.sample[0, -1] == values[-1]


def test_what_is_not_finite_shows_in_the_squares(tmp_path):
    """Wherever in a value it is."""
    values = np.ones((3, 50_000), np.float32)
    values[1, 33_333] = np.nan
    values[2, 49_999] = np.inf
    write(tmp_path, [{"a": value} for value in values])
    ((_, found),) = digest(tmp_path, {"a": SummaryRequest()}, [1, 2, 3])
    assert np.isfinite(found.square_sums).tolist() == [True, False, False]
    assert np.isnan(found.sums).all()  # nobody asked for them


@pytest.mark.parametrize("dtype", [np.float16, np.int64, np.bool_])
def test_types_whose_sums_say_little_are_left_to_be_read(tmp_path, dtype):
    """So is what is none of the tensors asked for."""
    write(tmp_path, [{"a": np.ones(9, dtype), "b": np.ones(9)}])
    assert [name for name, _ in digest(tmp_path, {"a": SummaryRequest(), "b": SummaryRequest()}, [1])] == ["b"]


def test_a_damaged_record_is_left_to_be_read_and_described(tmp_path):
    """The others of its tensor, and its neighbours, are not."""
    write(tmp_path, [{"a": np.ones(999), "b": np.ones(999)} for _ in range(3)])
    event_file = sorted(Path(tmp_path, "events").rglob("*.tfevents"))[2]
    content = bytearray(event_file.read_bytes())
    content[content.index(b"\x0a\x01b") + 2] ^= 0xFF  # in the name
    event_file.write_bytes(content)
    found = dict(digest(tmp_path, {"a": SummaryRequest(), "b": SummaryRequest()}, [1, 2, 3]))
    assert found["a"].steps == [1, 2, 3]
    assert found["b"].steps == [1, 3]


@pytest.mark.parametrize("harm", [lambda file: file.unlink(), lambda file: file.write_bytes(file.read_bytes()[:-9000])])
def test_a_file_that_is_gone_or_cut_off_is_left_out(tmp_path, harm):
    """Reading it alone tells what is wrong."""
    write(tmp_path, [{"a": np.full(5000, step)} for step in (1.0, 2.0)])
    harm(sorted(Path(tmp_path, "events").rglob("*.tfevents"))[2])
    ((_, found),) = digest(tmp_path, {"a": SummaryRequest()}, [1, 2])
    assert found.steps == [1]
    assert found.square_sums.tolist() == [5000]
