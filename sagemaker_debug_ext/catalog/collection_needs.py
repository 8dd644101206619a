"""The tensors that each built-in rule inspects: collections, and parameters that name collections or patterns."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

EVERYTHING: Final = "everything"
"""Placeholder for a collection: all saved tensors."""

ANY_REDUCTION: Final = "any"
"""Placeholder for a reduction: any reduction."""


def _tuple(value: object) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else ()


@attrs.frozen(kw_only=True)
class RuleFeed:
    """The tensors that one rule inspects.

    Args:
        collections: Collections that the rule always inspects.
        collection_parameters: Parameters of the rule that name collections.
        pattern_parameters: Parameters that hold patterns of tensor names.
        switched: Boolean parameter → collection that it adds.
        also: Optional collections.
        otherwise: Collection, or `EVERYTHING`, to inspect if the parameters name none; None: the rule cannot run.
        needs_all: Whether every parameter must match saved tensors; otherwise one is enough.
        needs_one_of: Parameters, at least one of which must be set for the rule to fire.
        needs_other_trial: Whether the rule compares with another trial.
        reductions: Reductions that the rule accepts instead of tensors.
        default_patterns_of: Frameworks whose tensor names the default patterns match; empty: all.
        note: Further information for the user.
    """

    collections: tuple[str, ...] = attrs.field(default=(), converter=_tuple)
    collection_parameters: tuple[str, ...] = attrs.field(default=(), converter=_tuple)
    pattern_parameters: tuple[str, ...] = attrs.field(default=(), converter=_tuple)
    switched: Mapping[str, str] = attrs.field(factory=dict)
    also: tuple[str, ...] = attrs.field(default=(), converter=_tuple)
    otherwise: str | None = None
    needs_all: bool = False
    needs_one_of: tuple[str, ...] = attrs.field(default=(), converter=_tuple)
    needs_other_trial: bool = False
    reductions: tuple[str, ...] = attrs.field(default=(), converter=_tuple)
    default_patterns_of: tuple[str, ...] = attrs.field(default=(), converter=_tuple)
    note: str = ""


@functools.cache
def _document() -> Mapping[str, Any]:
    path = Path(__file__).with_name("feeds.json")
    document: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def get_rule_feed(rule: str) -> RuleFeed | None:
    """Return the tensors that a rule inspects; None if they are unknown, as for a rule of another package."""
    entry = _document()["rules"].get(rule)
    return RuleFeed(**entry) if entry else None


def example_tensor_names(collection: str) -> tuple[str, ...]:
    """Return example names of tensors in a built-in collection; empty for other collections."""
    return tuple(_document()["example_names"].get(collection, ()))
