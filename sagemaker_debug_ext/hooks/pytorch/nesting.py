"""Tensors in what modules take and return."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from torch import Tensor


def tensors_in(values: Any) -> list[Tensor]:
    """Return the tensors in nested tuples, lists, mappings and dataclasses.

    What holds itself is gone through once.
    """
    if isinstance(values, Tensor):
        return [values]
    found: list[Tensor] = []
    if not _collect(values, found, set(), each_once=False):
        found.clear()
        # There may be more ways through it than can be gone: from here on nothing is entered twice.
        _collect(values, found, set(), each_once=True)
    return found


def _collect(values: Any, found: list[Tensor], entered: set[int], each_once: bool) -> bool:
    """Add the tensors in `values`, which is none itself; tell whether nothing held itself.

    Args:
        values: Where to look.
        found: What to add them to.
        entered: The `id` of all that `values` is in.
        each_once: Pass over what has been entered before, instead of what `values` is in.
    """
    members: Iterable[Any]
    if isinstance(values, (tuple, list)):
        members = values
    elif isinstance(values, Mapping):
        members = values.values()
    elif dataclasses.is_dataclass(values) and not isinstance(values, type):
        # A field that is not for `__init__` may be unset.
        members = [getattr(values, field.name, None) for field in dataclasses.fields(values)]
    else:
        return True
    place = id(values)
    if place in entered:
        return each_once
    entered.add(place)
    for member in members:
        if isinstance(member, Tensor):
            found.append(member)
        elif member is not None and not _collect(member, found, entered, each_once):
            return False
    if not each_once:
        entered.discard(place)
    return True
