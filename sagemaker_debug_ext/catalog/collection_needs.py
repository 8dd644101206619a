"""Which tensors each built-in rule looks at, as data: collections, and parameters that name collections or patterns."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

EVERYTHING: Final = "everything"
"""In place of a collection: whatever is saved."""

ANY_REDUCTION: Final = "any"
"""In place of a reduction: one of them, whichever it is."""


def _tuple(value: object) -> tuple[str, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else ()


@attrs.frozen(kw_only=True)
class RuleFeed:
    """What one rule looks at.

    Args:
        collections: Collections that it always looks at.
        collection_parameters: Parameters of the rule that name collections.
        pattern_parameters: Parameters that hold patterns of tensors' names.
        switched: Boolean parameter → collection that it adds.
        also: Collections that it looks at as well, and can do without.
        otherwise: What it looks at when the parameters name nothing: a collection, or `EVERYTHING`; None: it gives up.
        needs_all: Whether each of its parameters has to be fed; else one is enough.
        needs_one_of: Parameters of which one has to be set for the rule to fire.
        needs_other_trial: Whether it compares with another trial.
        reductions: Reductions that serve it in place of tensors.
        default_patterns_of: Frameworks whose names the default patterns are; empty: all.
        note: What else a user should know.
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
    """Return what a rule looks at; None for a rule of which it is not known, such as one of another package."""
    entry = _document()["rules"].get(rule)
    return RuleFeed(**entry) if entry else None


def example_tensor_names(collection: str) -> tuple[str, ...]:
    """Return names as tensors of a built-in collection have them; empty for other collections."""
    return tuple(_document()["example_names"].get(collection, ()))
