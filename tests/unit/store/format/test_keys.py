"""Object names: build and parse are inverse, foreign names are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import IndexReaderException, SMDebugValueError
from sagemaker_debug_ext.store.format import keys
from sagemaker_debug_ext.testing import strategies
from sagemaker_debug_ext.vocabulary import NORMS, REDUCTIONS


def test_keys_have_the_padding_of_the_format():
    """Steps are padded to 12 digits, folders of the index to 9, a thousand steps each."""
    assert keys.event_key(1234, "worker_0") == "events/000000001234/000000001234_worker_0.tfevents"
    assert keys.index_key(1234, "worker_0") == "index/000000001/000000001234_worker_0.json"
    assert keys.index_key(2999, "worker_3") == "index/000000002/000000002999_worker_3.json"
    assert keys.collections_key("worker_0") == "collections/000000000/worker_0_collections.json"


@given(strategies.steps, strategies.workers)
def test_parse_is_the_inverse_of_build(step, worker):
    """Step and worker survive the way into a file name and back."""
    assert keys.parse_event_key(keys.event_key(step, worker)) == (step, worker)
    assert keys.parse_index_key(keys.index_key(step, worker)) == (step, worker)
    assert keys.parse_collections_key(keys.collections_key(worker)) == worker


def test_worker_when_folder_has_underscores_is_read_from_the_name_alone():
    """A trial below a path with two underscores keeps its workers' names."""
    assert keys.parse_index_key("runs/my__exp/index/000000000/000000000007_worker_0.json").worker == "worker_0"


def test_device_worker_is_stored_without_separators():
    """A device string loses its separators in a file name and gets them back."""
    worker = "/job:worker/replica:0/task:1/device:GPU:0"
    assert keys.mangle_worker(worker) == "_job-worker_replica-0_task-1_device-GPU-0"
    assert keys.unmangle_worker("_job-worker_replica-0_task-1_device-GPU-0") == worker


@pytest.mark.parametrize("worker", ["", "_hidden", "a/b", "../x", "/etc/../x", "with space", "a\nb"])
def test_worker_that_could_not_be_read_back_is_refused(worker):
    """A name that a file name cannot carry is an error, not a broken file."""
    with pytest.raises(SMDebugValueError, match="worker must be made of"):
        keys.event_key(0, worker)


def test_negative_step_is_refused():
    """Steps count from 0."""
    with pytest.raises(SMDebugValueError, match="must not be negative"):
        keys.index_key(-1, "worker_0")


@pytest.mark.parametrize(
    "key",
    [
        "index/000000000/000000000001_worker_0.json.tmp",
        "index/000000000/000000000001.json",
        "index/000000000/-00000000001_worker_0.json",
        "index/000000000/000000000001_worker_0.csv",
        "index/000000000/readme.json",
        "index/000000000/000000000001_worker_0.tfevents",
        "",
    ],
)
def test_foreign_index_name_is_refused(key):
    """A name of another kind is never taken for an index file."""
    with pytest.raises(IndexReaderException):
        keys.parse_index_key(key)


@pytest.mark.parametrize("key", ["_collections.json", "collections.json", "worker_0.json"])
def test_foreign_collections_name_is_refused(key):
    """A name without a worker is no collections file's."""
    with pytest.raises(IndexReaderException):
        keys.parse_collections_key(key)


@given(st.sampled_from((*REDUCTIONS, *NORMS)), st.booleans(), strategies.tensor_names)
def test_split_reduction_name_is_the_inverse_of_build(reduction, absolute, tensor):
    """Operation, flag and tensor survive the way into a stored name and back."""
    name = keys.reduction_tensor_name(reduction, absolute, tensor)
    assert keys.split_reduction_name(name) == (reduction, absolute, tensor)


@pytest.mark.parametrize(
    "name", ["conv0_weight", "smdebug/reductions/median/x", "smdebug/reductions/mean", "a/smdebug/reductions/mean/x"]
)
def test_split_reduction_name_when_no_reduction_returns_none(name):
    """A tensor whose name merely looks similar stays a tensor."""
    assert keys.split_reduction_name(name) is None
