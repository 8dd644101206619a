"""What a trial holds besides steps: collections files, end marker, claim (store format, sections 1.3, 1.6, 5)."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Mapping
from typing import Any

import attrs

from sagemaker_debug_ext.errors import IndexReaderException, SMDebugValueError
from sagemaker_debug_ext.store.backends.base import Backend
from sagemaker_debug_ext.store.consolidated import index as consolidated_index
from sagemaker_debug_ext.store.format.keys import (
    COLLECTIONS_PREFIX,
    END_KEY,
    FINISHED_PREFIX,
    mangle_worker,
    parse_collections_key,
)

LOG = logging.getLogger(__name__)


@attrs.frozen
class CollectionsFile:
    """The collections that one worker knew.

    Args:
        collections: Name → the collection's own dictionary, not interpreted here.
        num_workers: How many workers write; a reader waits for as many.
    """

    collections: Mapping[str, Mapping[str, Any]]
    num_workers: int = 1

    def to_json(self) -> str:
        """Return the text of the file."""
        return json.dumps({"collections": self.collections, "_meta": {"num_workers": self.num_workers}})

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> CollectionsFile:
        """Read the text of a file; a missing worker count means one.

        Raises:
            SMDebugValueError: The text is no collections file.
        """
        try:
            content = json.loads(text)
            collections = {_text(value["name"]): dict(value) for value in content["collections"].values()}
            num_workers = int((content.get("_meta") or {}).get("num_workers", 1))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise SMDebugValueError(f"{where}: not a collections file: {error!r}") from error
        if num_workers < 1:
            raise SMDebugValueError(f"{where}: num_workers must be at least 1 (got {num_workers})")
        return cls(collections, num_workers)


def _text(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"a collection's name must be a text (got {name!r})")
    return name


def list_collections(backend: Backend) -> dict[str, str]:
    """Return worker → key of its collections file, sorted by key; other files there are passed over."""
    found = {}
    for info in backend.list(COLLECTIONS_PREFIX):
        with contextlib.suppress(IndexReaderException):
            found[parse_collections_key(info.key)] = info.key
    return found


def read_collections(backend: Backend, key: str) -> CollectionsFile:
    """Read one collections file.

    Raises:
        SMDebugValueError: The file is gone, or is no collections file.
    """
    content = backend.read(key)
    if content is None:
        raise SMDebugValueError(f"{key}: the collections file is gone")
    return CollectionsFile.from_json(bytes(content), key)


def write_end(backend: Backend) -> None:
    """Mark the job as ended; several may do so at the same moment."""
    backend.create(END_KEY)


def finish(backend: Backend, worker: str, num_workers: int) -> None:
    """Note that a worker is done; the last of all of them marks the job as ended.

    Workers end at different times, and a reader that sees the end marker looks no further. If the environment asks for
    it, the last one also writes the consolidated index; that it cannot is no failure.
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
    """Remove the mark of a worker that was killed or started again."""
    backend.delete(_finished_key(worker))


def _finished_key(worker: str) -> str:
    return FINISHED_PREFIX + mangle_worker(worker)


def has_ended(backend: Backend) -> bool:
    """Return whether the job has ended."""
    return backend.exists(END_KEY)
