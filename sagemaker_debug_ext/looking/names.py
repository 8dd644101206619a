"""Names of tensors: the path that several share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_SEPARATORS: Final = "./_"


def shared_path(names: Sequence[str]) -> str:
    """Return the longest path that all names start with, including its last separator; a single name is returned whole.

    Example:
        >>> shared_path(["net.fc1.weight", "net.fc1.bias"])
        'net.fc1.'
    """
    if not names:
        return ""
    first, last = min(names), max(names)  # all names between them share what these two do
    if first == last:
        return first
    common = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[: max(first.rfind(separator, 0, common) for separator in _SEPARATORS) + 1]
