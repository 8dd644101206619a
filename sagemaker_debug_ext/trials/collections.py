"""The collections of a trial: read from its collections files, held by a `CollectionManager`."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Mapping
from typing import Any, Final

import attrs

from sagemaker_debug_ext._printable import printable_name
from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.errors import IndexReaderException, SMDebugTypeError, SMDebugValueError, did_you_mean
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.backends.base import Backend
from sagemaker_debug_ext.store.format.keys import COLLECTIONS_PREFIX, parse_collections_key
from sagemaker_debug_ext.store.format.manifest import CollectionsFile, read_collections
from sagemaker_debug_ext.trials.pattern_search import PatternSearch, is_cheap
from sagemaker_debug_ext.trials.problems import Problems

LOG = logging.getLogger(__name__)

_KEY_SUFFIX: Final = "_collections.json"
_NUM_WORKERS: Final = "num_workers"


class TrialCollection(Collection):
    """A collection of a trial's file, whose patterns are searched in bounded time; see `PatternSearch`."""

    pattern_search = PatternSearch(
        lambda pattern, reason: LOG.warning("the pattern %.200r is not searched: %s", pattern, reason)
    )

    def _check_pattern(self, pattern: str) -> None:
        if is_cheap(pattern):
            super()._check_pattern(pattern)

    def _search(self, pattern: str, tensor_name: str) -> bool:
        return self.pattern_search.search(pattern, tensor_name)


class CollectionManager:
    """The collections of a trial, by name.

    Args:
        collections: Initial collections by name.
        create_default: Has no effect, because only hooks have default collections.
    """

    def __init__(self, collections: Mapping[str, Collection] | None = None, create_default: bool = False) -> None:
        del create_default
        self.collections = dict(collections or {})
        self._meta: dict[str, Any] = {}

    def create_collection(self, name: str, cls: type[Collection] = Collection) -> None:
        """Add an empty collection of a class, unless there is one of that name."""
        if name not in self.collections:
            self.collections[name] = cls(name)

    def get(self, name: str, create: bool = True) -> Collection:
        """Return a collection.

        Args:
            name: Its name.
            create: Whether to add the collection if it is unknown.

        Raises:
            SMDebugValueError: The collection is unknown and `create` is False.
        """
        if name not in self.collections:
            if not create:
                known = ", ".join(sorted(self.collections)) or "none"
                raise SMDebugValueError(f"there is no collection {name!r} (known: {known})")
            self.create_collection(name)
        return self.collections[name]

    def add(self, collection: Collection | str) -> None:
        """Add a collection, replacing one of the same name; or an empty one with the given name if there is none."""
        if isinstance(collection, str):
            self.create_collection(collection)
        else:
            self.collections[collection.name] = collection

    def get_collections(self) -> dict[str, Collection]:
        """Return name → collection."""
        return self.collections

    def set_num_workers(self, num_workers: int) -> None:
        """Set how many workers write to the trial."""
        self._meta[_NUM_WORKERS] = num_workers

    def get_num_workers(self) -> int:
        """Return how many workers write to the trial."""
        return int(self._meta.get(_NUM_WORKERS, 1))

    def update_meta(self, meta: Mapping[str, Any]) -> None:
        """Set the metadata of the collections file."""
        self._meta.update(meta)

    def export(self, out_dir: str | os.PathLike[str], filename: str) -> None:
        """Write a collections file into the trial at `out_dir`; `filename` ends in ``_collections.json``."""
        open_backend(out_dir).write(COLLECTIONS_PREFIX + filename, (self._content().to_json().encode(),))

    def to_json_dict(self) -> dict[str, Any]:
        """Return the collections in the form of a collections file."""
        return self._content().to_json_dict()

    def _content(self) -> CollectionsFile:
        return CollectionsFile(
            {name: collection.to_json_dict() for name, collection in self.collections.items()}, self.get_num_workers()
        )

    @classmethod
    def load(
        cls, filename: str | os.PathLike[str], collection_class: type[Collection] = TrialCollection
    ) -> CollectionManager:
        """Read a collections file into collections of a class.

        Raises:
            SMDebugValueError: It is no collections file.
        """
        with open(filename, encoding="utf-8") as file:
            return cls._from_file(CollectionsFile.from_json(file.read(), os.fspath(filename)), collection_class)

    @classmethod
    def load_from_string(cls, text: str, collection_class: type[Collection] = TrialCollection) -> CollectionManager:
        """Read the text of a collections file into collections of a class.

        Raises:
            SMDebugValueError: It is no collections file.
        """
        return cls._from_file(CollectionsFile.from_json(text, "the text"), collection_class)

    @classmethod
    def _from_file(cls, file: CollectionsFile, collection_class: type[Collection]) -> CollectionManager:
        manager = cls({name: collection_class.from_dict(params) for name, params in file.collections.items()})
        manager.set_num_workers(file.num_workers)
        return manager

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CollectionManager):
            return NotImplemented
        return self.collections == other.collections

    __hash__ = None  # type: ignore[assignment]  # the collections change

    def __repr__(self) -> str:
        return f"CollectionManager({', '.join(sorted(self.collections))})"


@attrs.frozen
class CollectionsSnapshot:
    """The content of a trial's collections files.

    Args:
        collections: Collections with the settings of the first worker and the tensor names of all workers.
        workers: The workers that wrote a collections file, sorted by file name.
        num_workers: Number of workers that write, according to the first readable file.
    """

    collections: tuple[TrialCollection, ...]
    workers: tuple[str, ...]
    num_workers: int

    @property
    def is_complete(self) -> bool:
        """Whether the files of all workers have been found."""
        return len(self.workers) >= self.num_workers


def find_collections(backend: Backend, problems: Problems) -> CollectionsSnapshot | None:
    """Read all collections files of a trial; None if there are none.

    Damaged files and invalid settings are recorded as problems. If no file can be read, there are no collections, and
    the number of workers is the number of files.
    """
    files: dict[str, CollectionsFile] = {}
    workers: list[str] = []
    for info in backend.list(COLLECTIONS_PREFIX):
        if not info.key.endswith(_KEY_SUFFIX):
            continue
        try:
            workers.append(parse_collections_key(info.key))
            files[info.key] = read_collections(backend, info.key)
        except IndexReaderException as foreign:
            problems.note(info.key, foreign.message)
        except (SMDebugValueError, OSError) as error:
            problems.note(info.key, str(error))
        else:
            problems.forget(info.key)
    if not workers:
        return None
    num_workers = next((file.num_workers for file in files.values()), len(workers))
    return CollectionsSnapshot(_merge(files, problems), tuple(workers), num_workers)


def _merge(files: Mapping[str, CollectionsFile], problems: Problems) -> tuple[TrialCollection, ...]:
    merged: dict[str, TrialCollection] = {}
    for key, file in files.items():
        reasons: list[str] = []
        for params in file.collections.values():
            collection = _build(params, reasons)
            merged.setdefault(collection.name, collection).tensor_names |= collection.tensor_names
        if reasons:
            problems.note(key, "; ".join(reasons))
    return tuple(merged.values())


def _build(params: Mapping[str, Any], reasons: list[str]) -> TrialCollection:
    """Build a collection without its invalid settings."""
    try:
        return TrialCollection.from_dict(params)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        reasons.append(f"collection {params['name']!r}: {error}")
    names = params.get("tensor_names")
    collection = TrialCollection(
        params["name"],
        tensor_names=[name for name in names if isinstance(name, str)] if isinstance(names, list) else (),
    )
    patterns = params.get("include_regex")
    for pattern in patterns if isinstance(patterns, list) else ():
        with contextlib.suppress(SMDebugTypeError, SMDebugValueError):
            collection.include([pattern])
    return collection


class TrialCollections:
    """The collections of a trial, read again when its job has saved new tensors or has ended.

    Args:
        backend: The back end that holds the trial.
        problems: Records the files that cannot be read.
        found: The collections found when the trial was opened.

    Attributes:
        manager: The collections by name.
        worker_set: Names of the workers that wrote a collections file.
    """

    def __init__(self, backend: Backend, problems: Problems, found: CollectionsSnapshot) -> None:
        self._backend = backend
        self._problems = problems
        self._pattern_search = PatternSearch(
            lambda pattern, reason: problems.note(f"collections (pattern {pattern[:200]!r})", f"not searched: {reason}")
        )
        self._has_seen_end = False
        self._num_names: int | None = None
        self.manager = CollectionManager()
        self.manager.set_num_workers(found.num_workers)
        self.worker_set = set(found.workers)
        self._add(found)

    def read_with_new_tensors(self, num_names: int) -> None:
        """Read the collections again if the number of tensor names has changed since the last call.

        Hooks write their collections before the first step of a new tensor.
        """
        known, self._num_names = self._num_names, num_names
        if known is not None and known != num_names:
            self._read()

    def read_at_end(self) -> bool:
        """Read the collections a last time after the end of the job; return False if this was done before."""
        if self._has_seen_end:
            return False
        self._has_seen_end = True
        self._read()
        return True

    def get(self, name: str, trial_name: str, create: bool = False) -> Collection:
        """Return a collection; if it is unknown, an empty one, which is added if `create` is true."""
        known = self.manager.get_collections()
        if name not in known:
            names = ", ".join(sorted(known)) or "none"
            hint = did_you_mean(name, known)
            LOG.warning("trial %r has no collection %r, only %s%s", trial_name, name, printable_name(names), hint)
            return self.manager.get(name) if create else Collection(name)
        return known[name]

    def _read(self) -> None:
        found = find_collections(self._backend, self._problems)
        if found is not None:
            self.worker_set.update(found.workers)
            self._add(found)
            if found.is_complete:
                self._problems.forget(COLLECTIONS_PREFIX)

    def _add(self, found: CollectionsSnapshot) -> None:
        """Add new collections and members. Changes that a user made to a collection are kept."""
        for collection in found.collections:
            collection.pattern_search = self._pattern_search
            known = self.manager.get_collections().setdefault(collection.name, collection)
            known.tensor_names |= collection.tensor_names
