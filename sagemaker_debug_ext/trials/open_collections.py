"""Find the collections of a trial, and wait for a starting job to write them."""

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
"""Default time to wait for the collections files of a job that has begun to write."""


def wait_for_collections(
    backend: Backend, problems: Problems, polling: Polling, wait_seconds: float | None
) -> CollectionsSnapshot:
    """Return a trial's collections once the files of all workers are there.

    Args:
        backend: The back end that holds the trial.
        problems: Records the files that are missing or cannot be read.
        polling: How to poll.
        wait_seconds: How long to wait. None waits for `DEFAULT_WAIT_SECONDS` if a job has begun to write there, and
            otherwise not at all.

    Returns:
        The collections. If the job has ended, or has saved nothing for an hour, files of some or all workers may be
        missing; they are recorded as problems.

    Raises:
        TrialNotFoundError: There is no trial.
        MissingCollectionFiles: Collections files are still missing after `wait_seconds`, or the job has ended without
            any step.
    """
    ended = has_ended(backend)  # checked before listing, so that the list holds every file written before the marker
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
    """Return the collections found so far, of a job that will not write more of them."""
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
