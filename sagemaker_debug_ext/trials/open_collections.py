"""Find out whether there is a trial at a place, and wait for a starting job to describe itself."""

from __future__ import annotations

import time
from typing import Final

from sagemaker_debug_ext.errors import MissingCollectionFiles, TrialNotFoundError
from sagemaker_debug_ext.store.backends.base import Backend
from sagemaker_debug_ext.store.format.keys import (
    CLAIM_KEY,
    COLLECTIONS_PREFIX,
    EVENTS_PREFIX,
    INDEX_PREFIX,
    try_parse_index_key,
)
from sagemaker_debug_ext.store.job_end import has_ended
from sagemaker_debug_ext.trials.collections import CollectionsSnapshot, find_collections
from sagemaker_debug_ext.trials.problems import Problems
from sagemaker_debug_ext.trials.waiting import DEFAULT_SILENCE_SECONDS, Polling

DEFAULT_WAIT_SECONDS: Final = 10.0
"""How long to wait for the collections files of a job that has written something, unless told otherwise."""


def wait_for_collections(
    backend: Backend, problems: Problems, polling: Polling, wait_seconds: float | None
) -> CollectionsSnapshot:
    """Return a trial's collections once the files of all workers are there.

    Args:
        backend: Where the trial lies.
        problems: Where to note what cannot be read.
        polling: How to wait.
        wait_seconds: How long to wait; None for `DEFAULT_WAIT_SECONDS` if a trial has begun there, else not at all.

    Returns:
        The collections. Of a job that has ended, or that has saved nothing for an hour, they may be those of some
        workers only, or none: what is missing is noted as a problem.

    Raises:
        TrialNotFoundError: Nothing of a trial is there.
        MissingCollectionFiles: Collections files are missing, and the time is over, or the job has ended without any
            step.
    """
    ended = has_ended(backend)  # before the files are listed: what was written before the marker is then seen
    found = find_collections(backend, problems)

    def look() -> bool:
        nonlocal ended, found
        if not ended and not (found and found.is_complete):
            ended = has_ended(backend)
            found = find_collections(backend, problems)
        return ended or (found is not None and found.is_complete)

    if wait_seconds is None:
        wait_seconds = DEFAULT_WAIT_SECONDS if found or _has_begun(backend) else 0
    polling.wait_until(look, wait_seconds)
    if found is not None and found.is_complete:
        return found
    if found is None and not ended and not _has_begun(backend):
        raise TrialNotFoundError(backend.url, "there are no collections, index or event files")
    reason = "the job has ended" if ended else f"no more came within {wait_seconds:g} seconds (see wait_seconds)"
    return _settle_for(found, backend, problems, reason, ended)


def _has_begun(backend: Backend) -> bool:
    return backend.exists(CLAIM_KEY) or any(backend.list(prefix) for prefix in (INDEX_PREFIX, EVENTS_PREFIX))


def _settle_for(
    found: CollectionsSnapshot | None, backend: Backend, problems: Problems, reason: str, ended: bool
) -> CollectionsSnapshot:
    """Return what there is of the collections of a job that will not write more of them."""
    missing = f"the trial has no collections file, and {reason}"
    if found is not None:
        there = ", ".join(found.workers)
        missing = (
            f"{len(found.workers)} of {found.num_workers} workers' collections files are there ({there}), and {reason}"
        )
    index = backend.list(INDEX_PREFIX)
    step_files = [file for info in index if (file := try_parse_index_key(info.key))]
    youngest_at = max((info.modified_at for info in index), default=0.0)
    is_dead = youngest_at and time.time() - youngest_at > DEFAULT_SILENCE_SECONDS
    if not step_files or not (ended or is_dead):
        raise MissingCollectionFiles(missing)
    problems.note(COLLECTIONS_PREFIX, missing)
    if found is not None:
        return found
    workers = tuple(sorted({file.worker for file in step_files}))
    return CollectionsSnapshot((), workers, len(workers))
