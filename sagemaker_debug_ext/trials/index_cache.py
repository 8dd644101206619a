"""The index of a trial, kept on this machine's disk, so that opening it again reads only what is new.

What is kept is found again by the version that the back end gives to each index file; a file that has been replaced
since does not match, and is read. The cache is a help only: one that is damaged, unwritable or of another version of
this package is passed over.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import tempfile
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.store.index import IndexContent, IndexEntry, SavedShape
from sagemaker_debug_ext.store.keys import join_event_key, join_index_key, mangle_worker
from sagemaker_debug_ext.store.records import masked_crc
from sagemaker_debug_ext.trials.index import SavedFile
from sagemaker_debug_ext.vocabulary import ModeKeys

LOG = logging.getLogger(__name__)

CACHE_VARIABLE: Final = "SAGEMAKER_DEBUG_EXT_CACHE_DIR"
"""Environment variable with the folder of the cache; ``off`` for none."""

_MAGIC: Final = b"sagemaker_debug_ext index 1\n"
_SUFFIX: Final = ".index"
_MAX_CACHES: Final = 200
_LIMIT: Final = 1 << 63
_MODES: Final = tuple(ModeKeys)
_COLUMNS: Final = (
    ("steps", "q"),
    ("workers", "I"),
    ("modes", "B"),
    ("mode_steps", "q"),
    ("contents", "I"),
    ("events", "B"),
)


class CachedFile(NamedTuple):
    """One index file as it was when it was last read."""

    version: str
    step: int
    worker: str
    entry: IndexEntry


def cache_folder() -> Path | None:
    """Return where indexes are kept; None if they are not to be."""
    chosen = os.environ.get(CACHE_VARIABLE, "").strip()
    if chosen.lower() == "off":
        return None
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME", "").strip()
    try:
        return (Path(base) if base else Path.home() / ".cache") / "sagemaker_debug_ext"
    except RuntimeError:  # there is no home folder
        return None


class IndexCache:
    """The kept index of one trial.

    Args:
        folder: Where indexes are kept.
        place: What names the trial's place; see `Backend.cache_key`.
    """

    def __init__(self, folder: Path, place: str) -> None:
        self.path = folder / (hashlib.sha256(place.encode()).hexdigest()[:40] + _SUFFIX)
        self._place = place

    def load(self) -> dict[str, CachedFile]:
        """Return what is kept: key of the index file → what it held. Nothing if there is no sound cache."""
        try:
            return decode_cache(self.path.read_bytes(), self._place)
        except OSError:
            return {}
        except (ValueError, KeyError, IndexError, TypeError, OverflowError) as error:
            LOG.debug("the kept index %s is not used: %s", self.path, error)
            return {}

    def save(self, files: Iterable[SavedFile]) -> None:
        """Keep an index, replacing an earlier one."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=self.path.parent)
            try:
                with open(descriptor, "wb") as file:
                    file.write(encode_cache(files, self._place))
                os.replace(temporary, self.path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise
            self._prune()
        except OSError as error:
            LOG.debug("the index is not kept: %s", error)

    def _prune(self) -> None:
        """Drop the indexes that have not been written for longest, beyond a number."""
        kept = list(self.path.parent.glob("*" + _SUFFIX))
        if len(kept) <= _MAX_CACHES:
            return
        for path in sorted(kept, key=lambda each: each.stat().st_mtime)[:-_MAX_CACHES]:
            path.unlink(missing_ok=True)


class _Table:
    """Numbers values by the order in which they are first seen."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        return self.numbers.setdefault(value, len(self.numbers))


def encode_cache(files: Iterable[SavedFile], place: str) -> bytes:
    """Return the bytes of a cache; files under unusual names, and such without a version, are left out."""
    names, shapes, workers, contents = _Table(), _Table(), _Table(), _Table()
    columns = {name: array(code) for name, code in _COLUMNS}
    versions: list[str] = []
    mangled: dict[str, str] = {}
    for file in files:
        mode, mode_step = file.mode_step
        if file.worker not in mangled:
            mangled[file.worker] = _mangle(file.worker)
        if not _can_be_kept(file, mangled[file.worker]):
            continue
        columns["steps"].append(file.step)
        columns["workers"].append(workers.number(file.worker))
        columns["modes"].append(_MODES.index(mode))
        columns["mode_steps"].append(mode_step)
        columns["contents"].append(contents.number(file.content))
        columns["events"].append(file.event_file is not None)
        versions.append(file.version)
    places = array("Q")
    layouts = []
    for content in contents.numbers:
        layouts.append((names.number(content.names), shapes.number(content.shapes), len(content.places)))
        places.extend(content.places)
    head = {
        "place": place,
        "num_files": len(versions),
        "names": list(names.numbers),
        "shapes": list(shapes.numbers),
        "workers": list(workers.numbers),
        "contents": layouts,
        "versions": versions,
    }
    text = json.dumps(head, separators=(",", ":")).encode()
    parts = [
        len(text).to_bytes(8, "little"),
        text,
        *(column.tobytes() for column in columns.values()),
        places.tobytes(),
    ]
    body = b"".join(parts)
    return _MAGIC + masked_crc(body).to_bytes(4, "little") + body


def _mangle(worker: str) -> str:
    try:
        return mangle_worker(worker)
    except SMDebugValueError:  # no writer of ours
        return ""


def _can_be_kept(file: SavedFile, mangled: str) -> bool:
    usual = join_event_key(file.step, mangled)
    numbers = (file.step, file.mode_step[1])
    return bool(
        file.version and mangled and file.event_file in (None, usual) and all(-_LIMIT <= n < _LIMIT for n in numbers)
    )


def decode_cache(data: bytes, place: str) -> dict[str, CachedFile]:
    """Return what `encode_cache` was given: key of the index file → what it held.

    Raises:
        ValueError: These are not the bytes of a cache of that place; so are KeyError, IndexError, TypeError and
            OverflowError to be taken.
    """
    start = len(_MAGIC) + 4
    body = memoryview(data)[start:]
    if not data.startswith(_MAGIC) or int.from_bytes(data[start - 4 : start], "little") != masked_crc(body):
        raise ValueError("not a kept index, or a damaged one")
    at = 8 + int.from_bytes(body[:8], "little")
    head = json.loads(bytes(body[8:at]))
    if head["place"] != place:
        raise ValueError("the kept index of another place")
    columns: list[array[int]] = []
    for _, code in _COLUMNS:
        column = array(code)
        end = at + head["num_files"] * column.itemsize
        column.frombytes(body[at:end])
        columns.append(column)
        at = end
    contents = _contents(head, body[at:])
    found: dict[str, CachedFile] = {}
    workers = [(worker, mangle_worker(worker)) for worker in head["workers"]]
    for version, step, worker_number, mode, mode_step, number, has_events in zip(
        head["versions"], *columns, strict=True
    ):
        worker, mangled = workers[worker_number]
        event_file = join_event_key(step, mangled) if has_events else None
        entry = IndexEntry(_MODES[mode], mode_step, event_file, contents[number])
        found[join_index_key(step, mangled)] = CachedFile(version, step, worker, entry)
    return found


def _contents(head: dict[str, Any], data: memoryview) -> list[IndexContent]:
    names = [tuple(each) for each in head["names"]]
    shapes = [
        tuple((name, SavedShape(tuple(shape), original)) for name, (shape, original) in each) for each in head["shapes"]
    ]
    contents = []
    at = 0
    for names_number, shapes_number, num_places in head["contents"]:
        places = array("Q")
        places.frombytes(data[at : at + 8 * num_places])
        at += 8 * num_places
        if len(places) != 2 * len(names[names_number]):
            raise ValueError("as many places as names must be kept")
        contents.append(IndexContent(names[names_number], places, shapes[shapes_number]))
    return contents
