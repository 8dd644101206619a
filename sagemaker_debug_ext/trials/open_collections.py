"""Find the collections of a trial, and wait for a starting job to write them."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Sequence
from typing import Final

from sagemaker_debug_ext.errors import MissingCollectionFiles, TrialNotFoundError
from sagemaker_debug_ext.store.backends.base import Backend, ObjectInfo
from sagemaker_debug_ext.store.format.keys import (
    CLAIM_KEY,
    COLLECTIONS_PREFIX,
    EVENTS_PREFIX,
    INDEX_PREFIX,
    try_parse_index_key,
)
from sagemaker_debug_ext.store.job_end import has_ended
from sagemaker_debug_ext.store.open_writers import settle_own
from sagemaker_debug_ext.trials.collections import CollectionsSnapshot, find_collections
from sagemaker_debug_ext.trials.problems import Problems
from sagemaker_debug_ext.trials.waiting import DEFAULT_SILENCE_SECONDS, Polling

LOG = logging.getLogger(__name__)

_NO_FILES: Final = "there are no collections, index or event files"
_NOTHING_SAVED: Final = "the hook of this thread has saved nothing yet"


def wait_for_collections(
    backend: Backend, problems: Problems, polling: Polling, wait_seconds: float | None
) -> CollectionsSnapshot:
    """Return a trial's collections once the files of all workers are there.

    A wait is logged once, as a warning, because a script or a notebook cell stands still meanwhile.

    Args:
        backend: The back end that holds the trial.
        problems: Records the files that are missing or cannot be read.
        polling: How to poll.
        wait_seconds: How long to wait. None waits until the trial has been silent for `DEFAULT_SILENCE_SECONDS`.

    Returns:
        The collections. If the job has ended, or has saved nothing for an hour, files of some or all workers may be
        missing; they are recorded as problems.

    Raises:
        TrialNotFoundError: There is no trial.
        MissingCollectionFiles: Collections files are still missing after `wait_seconds`, or the job has ended without
            any step.
    """
    is_written_here = settle_own(backend.url)
    ended = has_ended(backend)  # checked before listing, so that the list holds every file written before the marker
    found = find_collections(backend, problems)

    if found is None and is_written_here:
        wait_seconds = 0  # other workers may still write, but none is the first to

    def is_settled() -> bool:
        return ended or (found is not None and found.is_complete)

    def look() -> bool:
        nonlocal ended, found
        ended = has_ended(backend)
        found = find_collections(backend, problems)
        return is_settled()

    if not is_settled() and wait_seconds != 0:
        if wait_seconds is None:
            silent_seconds = _silent_seconds(backend.list(INDEX_PREFIX))
            wait_seconds = max(0.0, DEFAULT_SILENCE_SECONDS + 1 - silent_seconds)  # 1 more, because two clocks differ
        if wait_seconds:
            LOG.warning(
                "waiting up to %s for the trial at %s: %s; interrupt to stop, or pass wait_seconds",
                _duration(wait_seconds), backend.url, _missing(found, _has_begun(backend)),
            )  # fmt: skip
            polling.wait_until(look, wait_seconds)
    if found is not None and found.is_complete:
        return found
    if found is None and not ended and not _has_begun(backend):
        raise TrialNotFoundError(backend.url, _NOTHING_SAVED if is_written_here else _NO_FILES)
    if ended:
        reason = "the job has ended"
    else:
        is_own = found is None and is_written_here
        reason = _NOTHING_SAVED if is_own else f"no more came within {wait_seconds:g} seconds (see wait_seconds)"
    return _settle_for(found, backend, problems, reason, ended)


def _has_begun(backend: Backend) -> bool:
    return backend.exists(CLAIM_KEY) or any(backend.list(prefix) for prefix in (INDEX_PREFIX, EVENTS_PREFIX))


def _silent_seconds(index: Sequence[ObjectInfo]) -> float:
    """Return how long ago the youngest index file was written; 0 if that is unknown."""
    youngest_at = max((info.modified_at for info in index), default=0.0)
    return time.time() - youngest_at if youngest_at else 0.0


def _missing(found: CollectionsSnapshot | None, has_begun: bool) -> str:
    """Return which files are missing, as text."""
    if found is not None:
        there = ", ".join(found.workers)
        return f"{len(found.workers)} of {found.num_workers} workers' collections files are there ({there})"
    return "the trial has no collections file" if has_begun else "no job has written to it"


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if 120 <= seconds < math.inf else f"{seconds:g} seconds"


def _settle_for(
    found: CollectionsSnapshot | None, backend: Backend, problems: Problems, reason: str, ended: bool
) -> CollectionsSnapshot:
    """Return the collections found so far, of a job that will not write more of them."""
    missing = f"{_missing(found, has_begun=True)}, and {reason}"
    index = backend.list(INDEX_PREFIX)
    step_files = [file for info in index if (file := try_parse_index_key(info.key))]
    if not step_files or not (ended or _silent_seconds(index) > DEFAULT_SILENCE_SECONDS):
        raise MissingCollectionFiles(missing)
    problems.note(COLLECTIONS_PREFIX, missing)
    if found is not None:
        return found
    workers = tuple(sorted({file.worker for file in step_files}))
    return CollectionsSnapshot((), workers, len(workers))
