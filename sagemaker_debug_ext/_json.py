"""How numbers that JSON lacks are spelled in JSON, everywhere in this package."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias, Union


def json_number(number: float) -> float | str:
    """Return a number as JSON can hold it: ``NaN``, ``Infinity`` and ``-Infinity`` are texts, as `float` reads them."""
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else f"{'-' if number < 0 else ''}Infinity"


JSONValue: TypeAlias = Union[bool, int, float, str, Sequence["JSONValue"], Mapping[str, "JSONValue"], None]  # noqa: UP007 - recursive
"""What `json` reads and writes."""

JSONObject: TypeAlias = dict[str, JSONValue]
"""A JSON object, as requests and descriptions are."""
