"""Whole steps: written, found through the index, read back; damage is named, never returned as a value."""

import errno

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import CorruptRecordError, IndexReaderException, SMDebugValueError
from sagemaker_debug_ext.store import reader
from sagemaker_debug_ext.store.backends import LocalBackend, MemoryBackend
from sagemaker_debug_ext.store.format.index import Location, SavedShape
from sagemaker_debug_ext.store.format.keys import event_key, index_key
from sagemaker_debug_ext.store.format.messages import encode_record
from sagemaker_debug_ext.store.writer import NamedNumbers, NamedShape, NamedTensor, StepData, TrialWriter
from sagemaker_debug_ext.testing import strategies
from sagemaker_debug_ext.vocabulary import ModeKeys


def step_data(values, step=3, shapes=()):
    tensors = [NamedTensor(name, np.asarray(value), 1.0) for name, value in values]
    return StepData(step, ModeKeys.TRAIN, step, tensors, list(shapes))


def read_all(backend, key):
    index = reader.read_index(backend, key)
    return {name: reader.read_tensor(backend, index.event_file, at, name) for name, at in index.tensors.items()}


@given(
    st.lists(st.tuples(strategies.tensor_names, strategies.arrays()), max_size=6), strategies.steps, strategies.workers
)
def test_step_is_read_back_as_written(values, step, worker):
    """Every tensor of a step comes back; of equal names the last one."""
    backend = MemoryBackend()
    written = TrialWriter(backend, worker).write_step(step_data(values, step))
    assert written == sum(info.size for info in backend.list())
    if not values:
        assert backend.list() == []
        return
    found = read_all(backend, index_key(step, worker))
    expected = dict(values)
    assert set(found) == set(expected)
    for name, value in found.items():
        assert value.dtype == expected[name].dtype
        assert value.tobytes() == expected[name].tobytes()


def test_equal_names_are_stored_once():
    """Only the value that counts takes space."""
    backend = MemoryBackend()
    TrialWriter(backend).write_step(step_data([("x", np.zeros(1000)), ("x", np.ones(2))]))
    assert len(backend.read(event_key(3, "worker_0"))) < 200


def test_step_with_shapes_only_has_no_event_file():
    """Shapes live in the index alone."""
    backend = MemoryBackend()
    TrialWriter(backend).write_step(step_data([], shapes=[NamedShape("w", (2, 3), "w:0")]))
    (info,) = backend.list()
    index = reader.read_index(backend, info.key)
    assert index.event_file is None
    assert index.shapes == {"w": SavedShape((2, 3), "w:0")}


def test_writing_a_step_again_replaces_it():
    """Nothing of the first version remains."""
    backend = MemoryBackend()
    writer = TrialWriter(backend)
    writer.write_step(step_data([("a", 1), ("b", 2)]))
    writer.write_step(step_data([("c", 3)]))
    assert list(read_all(backend, index_key(3, "worker_0"))) == ["c"]


@pytest.mark.parametrize("room", [0, 1])
def test_rewriting_a_step_that_fails_leaves_no_index_into_other_records(tmp_path, room):
    """A step that was whole is whole or gone afterwards, never an index that points into new records."""
    TrialWriter(LocalBackend(tmp_path)).write_step(step_data([("a", 1), ("b", 2)]))
    with pytest.raises(OSError, match="No space"):
        TrialWriter(FullBackend(tmp_path, room)).write_step(step_data([("c", np.zeros(9)), ("a", 3)]))
    assert reader.list_index(LocalBackend(tmp_path)) == []
    TrialWriter(LocalBackend(tmp_path)).write_step(step_data([("c", 4)]))
    assert {
        name: value.tolist() for name, value in read_all(LocalBackend(tmp_path), index_key(3, "worker_0")).items()
    } == {"c": 4}


def test_visible_steps_are_those_of_the_worker_itself(tmp_path):
    """Steps of other workers, foreign files and half-written ones do not count."""
    backend = LocalBackend(tmp_path)
    TrialWriter(backend, "worker_1").write_step(step_data([("a", 1)], step=1))
    writer = TrialWriter(backend, "worker_0")
    writer.write_step(step_data([("a", 1)], step=1005))
    backend.write("index/000000000/readme.json", (b"",))
    assert writer.visible_steps == {1005} == TrialWriter(backend).visible_steps


def test_worker_name_is_checked_before_anything_is_written():
    """A name that no file can carry fails at once."""
    with pytest.raises(SMDebugValueError, match="worker"):
        TrialWriter(MemoryBackend(), "../worker")


class FullBackend(LocalBackend):
    """A disk that is full from the n-th object on."""

    def __init__(self, root, room):
        super().__init__(root)
        self.room = room

    def write(self, key, parts):
        if self.room == 0:
            super().write(key, _FailingParts(parts))
        self.room -= 1
        super().write(key, parts)


class _FailingParts(list):
    """Parts that break off half way, as a full disk does."""

    def __iter__(self):
        yield bytes(self[0])
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("room", [0, 1])
def test_step_when_the_disk_is_full_leaves_nothing_visible(tmp_path, room):
    """Whether records or index fail to be written: no index entry, no temporary file."""
    with pytest.raises(OSError, match="No space"):
        TrialWriter(FullBackend(tmp_path, room)).write_step(step_data([("x", np.zeros(10))]))
    assert reader.list_index(LocalBackend(tmp_path)) == []
    assert not list(tmp_path.rglob("*.tmp"))


def test_stale_temporary_file_of_a_crash_is_overwritten(tmp_path):
    """What a killed process left half written does not end up in the next step's file."""
    stale = tmp_path / (index_key(3, "worker_0") + ".tmp")
    stale.parent.mkdir(parents=True)
    stale.write_text("{'half': ")
    backend = LocalBackend(tmp_path)
    TrialWriter(backend).write_step(step_data([("x", 1)]))
    assert list(read_all(backend, index_key(3, "worker_0"))) == ["x"]
    assert not stale.exists()


def test_list_index_shows_index_files_only():
    """Other files below the index are passed over."""
    backend = MemoryBackend()
    TrialWriter(backend).write_step(step_data([("x", 1)]))
    backend.write("index/000000000/readme.txt", (b"",))
    assert [info.key for info in reader.list_index(backend)] == [index_key(3, "worker_0")]


def test_read_index_when_gone_says_so():
    """A file that vanished is an index error that names it."""
    with pytest.raises(IndexReaderException, match="is gone"):
        reader.read_index(MemoryBackend(), index_key(0, "worker_0"))


class TestReadTensorOfDamage:
    @pytest.fixture
    def backend(self):
        backend = MemoryBackend()
        TrialWriter(backend).write_step(step_data([("x", np.arange(4.0)), ("y", np.arange(3))]))
        return backend

    @pytest.fixture
    def places(self, backend):
        return reader.read_index(backend, index_key(3, "worker_0")).tensors

    def test_missing_event_file(self, backend, places):
        """A missing file is told apart from a damaged one."""
        backend.delete(event_key(3, "worker_0"))
        with pytest.raises(FileNotFoundError):
            reader.read_tensor(backend, event_key(3, "worker_0"), places["x"], "x")

    def test_every_truncation_is_noticed(self, backend, places):
        """Wherever the file ends early, the tensor behind the cut is reported, the one before it still read."""
        key = event_key(3, "worker_0")
        whole = backend.read(key)
        for length in range(len(whole)):
            backend.write(key, (whole[:length],))
            with pytest.raises(CorruptRecordError, match="byte"):
                reader.read_tensor(backend, key, places["y"], "y")
            if length >= places["y"].start:
                assert reader.read_tensor(backend, key, places["x"], "x").tolist() == [0.0, 1.0, 2.0, 3.0]

    @pytest.mark.parametrize(
        ("entry", "shift", "match"),
        [("x", 1, "checksum of the record's length"), ("y", 0, "'y'")],
        ids=["between records", "another tensor's record"],
    )
    def test_index_pointing_elsewhere_is_noticed(self, backend, places, entry, shift, match):
        """A place that is not a record's, or another tensor's, never gives a value."""
        place = Location(places[entry].start + shift, places[entry].length)
        with pytest.raises(CorruptRecordError, match=match):
            reader.read_tensor(backend, event_key(3, "worker_0"), place, "x")

    def test_enormous_length_is_not_allocated(self, backend, places):
        """A damaged length is bounded by what is there."""
        with pytest.raises(CorruptRecordError, match="cut off"):
            reader.read_tensor(backend, event_key(3, "worker_0"), Location(0, 2**60), "x")


@given(st.lists(st.tuples(strategies.tensor_names, strategies.arrays()), min_size=1, max_size=4))
def test_steps_that_look_alike_are_read_back_each_with_its_own(values):
    """What is worked out once for steps of one kind does not mix up their numbers, times and contents."""
    backend = MemoryBackend()
    writer = TrialWriter(backend)
    for step in (0, 7, 8, 127, 128, 129, 999, 1000, 1001):
        changed = [(name, np.zeros_like(value) if step % 2 else value) for name, value in values]
        writer.write_step(step_data(changed, step))
        again = MemoryBackend()
        TrialWriter(again).write_step(step_data(changed, step))
        for key in (event_key(step, "worker_0"), index_key(step, "worker_0")):
            assert backend.read(key) == again.read(key)


def test_numbers_are_tensors_without_dimension():
    """Numbers given together are stored one by one, and the last of a name counts."""
    backend = MemoryBackend()
    data = step_data([("a", np.ones(3)), ("x", np.ones(3))])
    data.numbers.append(NamedNumbers(("x", "y"), np.array([1.5, 2.5], np.float32), (3.0, 4.0)))
    TrialWriter(backend).write_step(data)
    found = read_all(backend, index_key(3, "worker_0"))
    assert {name: (value.shape, value.dtype.name, value.sum()) for name, value in found.items()} == {
        "a": ((3,), "float64", 3.0),
        "x": ((), "float32", 1.5),
        "y": ((), "float32", 2.5),
    }


@given(
    st.lists(
        st.tuples(strategies.tensor_names, strategies.arrays()), min_size=1, max_size=4, unique_by=lambda it: it[0]
    ),
    st.sampled_from(list(ModeKeys)),
    st.integers(0, 300),
)
def test_records_of_a_step_are_those_of_its_tensors_one_by_one(values, mode, mode_step):
    """Putting a step together from its template gives the very bytes that encoding each record gives."""
    backend = MemoryBackend()
    numbers = np.array([1.5, -2.5], np.float32)
    data = StepData(300, mode, mode_step, [NamedTensor(name, value, 7.25) for name, value in values])
    data.numbers.append(NamedNumbers(("number/x", "number/y"), numbers, (1.0, 2.0)))
    TrialWriter(backend).write_step(data)
    entries = [*values, ("number/x", numbers[0]), ("number/y", numbers[1])]
    times = [7.25] * len(values) + [1.0, 2.0]
    expected = [
        b"".join(encode_record(name, np.asarray(value), 300, mode, mode_step, time))
        for (name, value), time in zip(entries, times, strict=True)
    ]
    assert backend.read(event_key(300, "worker_0")) == b"".join(expected)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_writer_when_a_dtype_is_new_to_the_original_then_says_so_once(dtype, caplog):
    """Who saves what smdebug cannot read learns which tensor it is and what to do, once for a trial."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    small = np.ones(3, getattr(ml_dtypes, dtype))
    backend = MemoryBackend()
    for worker in ("worker_0", "worker_1"):
        writer = TrialWriter(backend, worker)
        for step in range(3):
            tensors = [NamedTensor("w", np.ones(step + 1), 0.0), NamedTensor("half", small, 0.0)]
            writer.write_step(StepData(step, ModeKeys.TRAIN, step, tensors))
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    for said in ("'half'", dtype, "float32", "ml_dtypes", backend.url):
        assert said in record.getMessage()
