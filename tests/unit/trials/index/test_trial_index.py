"""The index in memory against a naive model: plain lists of what was saved."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import SMDebugTypeError
from sagemaker_debug_ext.store.format.index import IndexEntry, IndexFile, Location, SavedShape
from sagemaker_debug_ext.store.format.keys import event_key, reduction_tensor_name
from sagemaker_debug_ext.trials.index.entries import StoredRecord
from sagemaker_debug_ext.trials.index.step_sequence import first_at_or_after, nearest_steps
from sagemaker_debug_ext.trials.index.trial_index import TrialIndex
from sagemaker_debug_ext.vocabulary import ModeKeys

NAMES = ("a", "b", "c/d:0")
STORED = (*NAMES, reduction_tensor_name("mean", False, "a"), reduction_tensor_name("l2", True, "b"))
WORKERS = ("worker_0", "worker_1", "worker_10")


def tensor_of(stored):
    return stored.rpartition("/")[2] if stored.startswith("smdebug/") else stored


@st.composite
def index_files(draw):
    step = draw(st.integers(0, 6))
    worker = draw(st.sampled_from(WORKERS))
    names = draw(st.lists(st.sampled_from(STORED), unique=True, max_size=4))
    shapes = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=2))
    start = draw(st.integers(0, 2**40))
    file = IndexFile(
        draw(st.sampled_from(ModeKeys)),
        draw(st.integers(0, 4)),
        event_key(step, worker) if names else None,
        {name: Location(start + 100 * n, 100) for n, name in enumerate(names)},
        {name: SavedShape((step, len(name)), f"original {name}") for name in shapes},
    )
    return step, worker, file


def has(file, name):
    return name in {tensor_of(stored) for stored in file.tensors} or name in file.shapes


def matches(file, mode, step, mode_step):
    return step == mode_step if mode is ModeKeys.GLOBAL else (file.mode, file.mode_step) == (mode, mode_step)


def fill(files):
    index, model = TrialIndex(), {}
    for step, worker, file in files:
        index.add(step, worker, IndexEntry.of(file))
        model[step, worker] = file
    return index, model


some_files = st.lists(index_files(), max_size=15)
fewer = settings(max_examples=40)  # one of them fills the index with up to 15 files


@fewer
@given(some_files)
def test_index_when_filled_in_any_order_then_knows_the_steps_of_the_model(files):
    """Steps, modes and workers are those of the files added last for each step and worker."""
    index, model = fill(files)
    assert list(index.steps()) == sorted({step for step, _ in model})
    for mode in ModeKeys:
        if mode is not ModeKeys.GLOBAL:
            assert list(index.steps(mode)) == sorted({file.mode_step for file in model.values() if file.mode is mode})
        assert index.last_step(mode) == max(index.steps(mode), default=None)
        for mode_step in range(5):
            expected = {step for (step, _), file in model.items() if matches(file, mode, step, mode_step)}
            assert index.global_steps(mode, mode_step) == sorted(expected)
    assert index.modes() == [
        m for m in ModeKeys if m is not ModeKeys.GLOBAL and any(f.mode is m for f in model.values())
    ]
    assert index.workers() == sorted({worker for _, worker in model})
    for step in range(7):
        writers = sorted(worker for other, worker in model if other == step)
        assert index.writers(step) == writers
        assert index.num_writers(step) == len(writers)
        first = model[step, writers[0]] if writers else None
        assert index.mode_step(step) == (first and (first.mode, first.mode_step))
        for worker in WORKERS:
            assert index.has_later_step(worker, step) == any(w == worker and s > step for s, w in model)


@fewer
@given(some_files)
def test_index_when_filled_in_any_order_then_knows_the_tensors_of_the_model(files):
    """Names, and the steps of each tensor, are those of the files added last for each step and worker."""
    index, model = fill(files)
    assert index.tensor_names() == sorted({name for name in NAMES for file in model.values() if has(file, name)})
    for name in (*NAMES, "unknown"):
        assert index.has_tensor(name) == any(has(file, name) for file in model.values())
        shapes = {file.shapes[name].original_name for file in model.values() if name in file.shapes}
        assert index.original_name(name) == (shapes.pop() if shapes else None)
    for mode in ModeKeys:
        of_mode = {key: file for key, file in model.items() if mode in (ModeKeys.GLOBAL, file.mode)}
        assert index.tensor_names_of_mode(mode) == sorted({n for n in NAMES for f in of_mode.values() if has(f, n)})
        for name in NAMES:
            found = {}
            for (step, _), file in sorted(of_mode.items(), reverse=True):
                if has(file, name):
                    found[step if mode is ModeKeys.GLOBAL else file.mode_step] = step
            assert index.steps_of_tensor(name, mode) == sorted(found.items())


@fewer
@given(some_files)
def test_index_when_files_are_counted_by_layout_then_as_one_by_one(files):
    """Steps of files with some tensors, by mode and worker, last steps of workers, and sizes of records."""
    index, model = fill(files)
    assert index.last_steps() == {w: max(s for s, other in model if other == w) for w in sorted({w for _, w in model})}
    for name in NAMES:
        layouts = [layout for layout in index.layouts() if name in layout.slots]
        for worker in (None, *WORKERS):
            expected: dict[ModeKeys, set[int]] = {}
            for (step, writer), file in model.items():
                if has(file, name) and worker in (None, writer):
                    expected.setdefault(file.mode, set()).add(step)
            found = index.steps_of_layouts(layouts, worker)
            assert {mode: steps.tolist() for mode, steps in found.items()} == {
                m: sorted(s) for m, s in expected.items()
            }
        num_bytes = sum(index.bytes_of_tensors(layout, {name}) * len(layout.rows) for layout in index.layouts())
        assert num_bytes == sum(100 for file in model.values() for stored in file.tensors if tensor_of(stored) == name)
    modes = {file.mode for file in model.values()}
    assert index.only_mode is None or modes == {index.only_mode}


@fewer
@given(some_files)
def test_index_when_filled_in_any_order_then_finds_the_records_of_the_model(files):
    """Every record and shape is found by tensor, mode, step and worker, and nothing else is."""
    index, model = fill(files)
    for mode in ModeKeys:
        for mode_step in range(7):
            at_step = {
                (worker, step): file
                for (step, worker), file in sorted(model.items())
                if matches(file, mode, step, mode_step)
            }
            names = sorted({name for name in NAMES for file in at_step.values() if has(file, name)})
            assert index.tensor_names_at(mode_step, mode) == names
            for name in NAMES:
                check_found(index, name, mode_step, mode, at_step)


def check_found(index, name, mode_step, mode, at_step):
    found = index.find(name, mode_step, mode)
    expected = {worker: (step, file) for (worker, step), file in at_step.items() if has(file, name)}
    assert list(found) == sorted(expected)
    for worker, (step, file) in expected.items():
        saved = found[worker]
        records = {None: saved.value, **saved.reductions}
        stored = {None: name} | {(op, ab): reduction_tensor_name(op, ab, name) for op, ab in saved.reductions}
        for key, record in records.items():
            if record is not None:
                end = max(start + length for start, length in file.tensors.values())
                place = file.tensors[stored[key]]
                assert record == StoredRecord(file.event_file, place, stored[key], step, worker, end)
                assert index.record(stored[key], step, worker) == record
        listed = {stored_name for stored_name in file.tensors if tensor_of(stored_name) == name}
        assert {record.name for record in records.values() if record} == listed
        assert saved.shape == file.shapes.get(name)


def test_files_when_they_list_the_same_names_then_share_them():
    """A thousand files with the same names hold the names once."""
    index = TrialIndex()
    for step in range(1000):
        names = [f"layer{n}" for n in range(20)]
        file = IndexFile(ModeKeys.TRAIN, step, "events/x", dict.fromkeys(names, Location(0, 9)))
        index.add(step, "worker_0", IndexEntry.of(file))
    assert len(index._layouts) == 1


def test_record_when_unknown_then_none():
    """A record that no file lists is not found."""
    index, _ = fill([(3, "worker_0", IndexFile(ModeKeys.TRAIN, 0, "events/x", {"a": Location(0, 1)}))])
    assert index.record("a", 3, "worker_1") is None
    assert index.record("b", 3, "worker_0") is None


@pytest.mark.parametrize("mode", ["TRAIN", 1, None])
def test_mode_when_not_one_of_the_enumeration_then_refused(mode):
    """A mode's name or number is not silently taken for an unknown mode."""
    with pytest.raises(SMDebugTypeError, match=r"mode must be one of ModeKeys\.TRAIN"):
        TrialIndex().steps(mode)


@given(st.lists(st.integers(0, 20), unique=True), st.integers(-1, 21))
def test_first_at_or_after_when_searched_then_is_the_smallest_not_before(steps, step):
    """The search gives what a plain loop gives."""
    assert first_at_or_after(sorted(steps), step) == min(
        (candidate for candidate in steps if candidate >= step), default=None
    )


@pytest.mark.parametrize(
    ("step", "near"), [(-1, (0,)), (0, (10,)), (4, (0, 10)), (10, (0, 20)), (20, (10,)), (99, (20,))]
)
def test_nearest_steps_when_asked_for_then_those_before_and_after(step, near):
    """The step itself is not near to itself."""
    assert nearest_steps([0, 10, 20], step) == near
    assert nearest_steps([], step) == ()
