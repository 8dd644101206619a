"""Type aliases that two or more layers share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, Union

JSONValue: TypeAlias = Union[bool, int, float, str, Sequence["JSONValue"], Mapping[str, "JSONValue"], None]  # noqa: UP007 - recursive
"""What `json` reads and writes."""

JSONObject: TypeAlias = dict[str, JSONValue]
"""A JSON object, as requests and descriptions are."""
