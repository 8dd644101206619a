"""The end of a job: the end marker, and workers that finish one by one."""

from sagemaker_debug_ext.store import job_end
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.store.writer import TrialWriter


def test_end_marker_is_an_empty_object():
    """The end marker says that the job has ended."""
    backend = MemoryBackend()
    assert not job_end.has_ended(backend)
    TrialWriter(backend).end()
    assert job_end.has_ended(backend)
    assert backend.read("training_job_end.ts") == b""


def test_end_marker_that_is_there_stays_as_it_is():
    """Several may end a job, the platform among them: none touches what another has written."""
    backend = MemoryBackend()
    backend.write("training_job_end.ts", (b"by another",))
    job_end.write_end(backend)
    job_end.finish(backend, "worker_0", 1)
    assert backend.read("training_job_end.ts") == b"by another"


def test_the_last_worker_to_finish_ends_the_job():
    """A worker that is done early does not make readers stop looking for what the others still write."""
    backend = MemoryBackend()
    job_end.finish(backend, "worker_0", 2)
    assert not job_end.has_ended(backend)
    job_end.unfinish(backend, "worker_0")
    job_end.finish(backend, "worker_1", 2)
    assert not job_end.has_ended(backend)
    job_end.finish(backend, "worker_0", 2)
    assert job_end.has_ended(backend)
    assert [info.key for info in backend.list()] == ["training_job_end.ts"]


def test_a_worker_without_peers_ends_the_job_by_itself():
    """One worker needs no agreement."""
    backend = MemoryBackend()
    job_end.finish(backend, "worker_0", 1)
    assert [info.key for info in backend.list()] == ["training_job_end.ts"]
