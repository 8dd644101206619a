"""JSON types, and the spelling of numbers that JSON cannot represent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias, Union


def json_number(number: float) -> float | str:
    """Return a JSON-compatible number: NaN and infinities become strings that `float` can parse."""
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else f"{'-' if number < 0 else ''}Infinity"


JSONValue: TypeAlias = Union[bool, int, float, str, Sequence["JSONValue"], Mapping[str, "JSONValue"], None]  # noqa: UP007 - recursive
"""A value that `json` can read and write."""

JSONObject: TypeAlias = dict[str, JSONValue]
"""A JSON object, such as a request or a description."""
