"""Collections files: which collections each worker knew (store format, section 5)."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

import attrs

from sagemaker_debug_ext.errors import IndexReaderException, SMDebugValueError
from sagemaker_debug_ext.store.backends.base import Backend
from sagemaker_debug_ext.store.format.keys import COLLECTIONS_PREFIX, parse_collections_key


@attrs.frozen
class CollectionsFile:
    """Content of a collections file, written by one worker.

    Args:
        collections: Name → dictionary of the collection, not interpreted here.
        num_workers: Number of workers that write; a reader waits for the files of all of them.
    """

    collections: Mapping[str, Mapping[str, Any]]
    num_workers: int = 1

    def to_json_dict(self) -> dict[str, Any]:
        """Return the content of the file."""
        return {"collections": self.collections, "_meta": {"num_workers": self.num_workers}}

    def to_json(self) -> str:
        """Return the text of the file."""
        return json.dumps(self.to_json_dict())

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> CollectionsFile:
        """Parse the text of a file; a missing number of workers means one.

        Raises:
            SMDebugValueError: The text is not a collections file.
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
    """Return worker → key of its collections file, sorted by key; other files are ignored."""
    found = {}
    for info in backend.list(COLLECTIONS_PREFIX):
        with contextlib.suppress(IndexReaderException):
            found[parse_collections_key(info.key)] = info.key
    return found


def read_collections(backend: Backend, key: str) -> CollectionsFile:
    """Read one collections file.

    Raises:
        SMDebugValueError: The file does not exist or is not a collections file.
    """
    content = backend.read(key)
    if content is None:
        raise SMDebugValueError(f"{key}: the collections file is gone")
    return CollectionsFile.from_json(bytes(content), key)
