"""The end of a job: workers finish one by one, and the last one writes the end marker (store format, section 1.6)."""

from __future__ import annotations

import logging

from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.store.backends.base import Backend
from sagemaker_debug_ext.store.consolidated import index as consolidated_index
from sagemaker_debug_ext.store.format.keys import END_KEY, FINISHED_PREFIX, mangle_worker

LOG = logging.getLogger(__name__)


def write_end(backend: Backend) -> None:
    """Mark the job as ended. Several callers may do so at the same time."""
    backend.create(END_KEY)


def finish(backend: Backend, worker: str, num_workers: int) -> None:
    """Mark a worker as finished; the last worker to finish marks the job as ended.

    Workers finish at different times, and readers stop looking for steps once they see the end marker. If the
    environment asks for the consolidated index, the last worker also writes it; a failure to do so is only logged.
    """
    if num_workers > 1:
        backend.create(_finished_key(worker))
        if len(backend.list(FINISHED_PREFIX)) < num_workers:
            return
    write_end(backend)
    for info in backend.list(FINISHED_PREFIX):
        backend.delete(info.key)
    if consolidated_index.is_wanted():
        try:
            consolidated_index.consolidate(backend)
        except OSError:
            LOG.warning("the consolidated index of %s could not be written", backend.url, exc_info=True)


def unfinish(backend: Backend, worker: str) -> None:
    """Remove the mark of a worker that was killed or restarted."""
    backend.delete(_finished_key(worker))


def _finished_key(worker: str) -> str:
    return FINISHED_PREFIX + mangle_worker(worker)


def has_ended(backend: Backend) -> bool:
    """Return whether the job has ended."""
    return backend.exists(END_KEY)


def reopen(backend: Backend) -> None:
    """Remove the end mark of a trial, if there is one, because its job goes on."""
    if has_ended(backend):
        LOG.info("the trial at %s goes on, after it was ended by an interruption of its job", backend.url)
        backend.delete(END_KEY)


def check_not_ended(backend: Backend) -> None:
    """Raise if new tensors must not be written, because they would mix with those of a job that has ended.

    Raises:
        SMDebugRuntimeError: The job has ended.
    """
    if has_ended(backend):
        raise SMDebugRuntimeError(
            f"out_dir must not hold a trial that has ended (got {backend.url!r}): choose another folder, "
            "remove that one, or create the hook with overwrite=True"
        )
