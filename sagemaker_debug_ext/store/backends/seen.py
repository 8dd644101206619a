"""The versions of the objects of one folder that a watch has reported."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import Final

_DIGESTS: Final = (1 << 64) - 1


class SeenVersions:
    """The version at the last look of each object of one folder, by name.

    Settled objects hardly ever change, and there may be millions of them. They take 8 bytes each: a digest of name and
    version tells whether an object is as it was.
    """

    __slots__ = ("_digests", "_forgotten", "_versions")

    def __init__(self) -> None:
        self._versions: dict[str, str] = {}
        self._digests = array("Q")
        self._forgotten: set[str] = set()

    def update(self, name: str, version: str) -> bool:
        """Note the version of an object; return whether the object is new or has changed."""
        known = self._versions.get(name)
        if known == version or (known is None and self._is_settled(name, version)):
            return False
        self._versions[name] = version
        self._forgotten.discard(name)
        return True

    def forget(self, name: str) -> None:
        """Make an object count as new at the next look."""
        self._versions.pop(name, None)
        self._forgotten.add(name)

    def settle(self) -> None:
        """Keep only digests of the objects that are known."""
        if self._versions:
            self._digests = array("Q", sorted([*self._digests, *map(_digest, self._versions.items())]))
            self._versions = {}

    def _is_settled(self, name: str, version: str) -> bool:
        if not self._digests or name in self._forgotten:
            return False
        digest = _digest((name, version))
        position = bisect_left(self._digests, digest)
        return position < len(self._digests) and self._digests[position] == digest


def _digest(name_and_version: tuple[str, str]) -> int:
    return hash(name_and_version) & _DIGESTS
