"""Delete a trial from its folder."""

from __future__ import annotations

from sagemaker_debug_ext.store.backends import Backend
from sagemaker_debug_ext.store.format.keys import (
    COLLECTIONS_PREFIX,
    CONSOLIDATED_KEY,
    END_KEY,
    EVENTS_PREFIX,
    FINISHED_PREFIX,
    INDEX_PREFIX,
    PROGRAM_PREFIX,
    SUMMARY_KEY,
)


def erase_trial(backend: Backend) -> None:
    """Delete the files of a trial, and leave other files where they are.

    The index goes first, so that no reader finds a step whose values are gone, and the mark of the end goes last. An
    interrupted call can be repeated.

    Args:
        backend: The folder of the trial, which the caller has claimed.

    Raises:
        OSError: A file cannot be deleted.
    """
    backend.delete(SUMMARY_KEY)
    backend.delete(CONSOLIDATED_KEY)
    for prefix in (INDEX_PREFIX, EVENTS_PREFIX, COLLECTIONS_PREFIX, PROGRAM_PREFIX, FINISHED_PREFIX):
        for info in backend.list(prefix):
            backend.delete(info.key)
    backend.delete(END_KEY)
