"""`Fingerprint`: whether the files of a trial are those that something was made from."""

from __future__ import annotations

import hashlib
from typing import Final

import attrs

from sagemaker_debug_ext.store.backends.base import Backend
from sagemaker_debug_ext.store.format.keys import (
    COLLECTIONS_PREFIX,
    END_KEY,
    EVENTS_PREFIX,
    INDEX_PREFIX,
    PROGRAM_PREFIX,
)

_PLACES: Final = (COLLECTIONS_PREFIX, END_KEY, EVENTS_PREFIX, INDEX_PREFIX, PROGRAM_PREFIX)


@attrs.frozen
class Fingerprint:
    """Digests of all files that a hook writes to a trial.

    Args:
        versions: Digest of the names and of the versions that the back end gives to the files.
        checksums: Digest of the names and checksums, which stays the same when the trial is copied; empty if the back
            end does not give the checksum of each file.
    """

    versions: str
    checksums: str

    @classmethod
    def of(cls, backend: Backend, reads_files: bool = False) -> Fingerprint:
        """Return the fingerprint of a trial.

        Args:
            backend: The back end that holds the trial.
            reads_files: Whether to compute checksums that the back end does not give, unless reading is slow.

        Raises:
            OSError: The back end failed.
        """
        versions, checksums = hashlib.sha256(), hashlib.sha256()
        has_checksums = True
        for info in backend.list():
            if not info.key.startswith(_PLACES):
                continue
            versions.update(f"{info.key}\0{info.version}\n".encode())
            md5 = info.md5
            if not md5 and reads_files and not backend.is_remote:
                md5 = hashlib.md5(backend.read(info.key) or b"", usedforsecurity=False).hexdigest()
            checksums.update(f"{info.key}\0{md5}\n".encode())
            has_checksums = has_checksums and bool(md5)
        return cls(versions.hexdigest(), checksums.hexdigest() if has_checksums else "")

    def is_of_same_files(self, other: Fingerprint) -> bool:
        """Return whether both are of the same files, in the same place or, if checksums are known, of a copy."""
        return self.versions == other.versions or (self.checksums == other.checksums != "")
