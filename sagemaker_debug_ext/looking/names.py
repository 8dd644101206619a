"""Names of tensors: the path that several share."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Final

_AFTER_SEPARATOR: Final = re.compile(r"(?<=[./_])")


def shared_path(names: Sequence[str]) -> str:
    """Return the longest path that all names start with, including its last separator; a single name is returned whole.

    Example:
        >>> shared_path(["net.fc1.weight", "net.fc1.bias"])
        'net.fc1.'
    """
    distinct = list(dict.fromkeys(names))
    if len(distinct) < 2:
        return distinct[0] if distinct else ""
    parts = [_AFTER_SEPARATOR.split(name) for name in distinct]
    shared = itertools.takewhile(lambda same: len(set(same)) == 1, zip(*parts, strict=False))
    return "".join(same[0] for same in shared)
