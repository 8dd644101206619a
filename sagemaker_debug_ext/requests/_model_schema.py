"""Turns shapes of a botocore service model into JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

Schema: TypeAlias = dict[str, Any]

DRIFTING: Final = "knownValues"
"""Keyword of our own, for values that grow with each release of botocore: a value it does not know may yet exist."""

_JAVA_CLASSES: Final = {r"\p{Alnum}": "a-zA-Z0-9", r"\p{L}": r"\w", r"\p{N}": r"\d", r"\p{Z}": r"\s"}
"""What the model's patterns write in Java's way → the same inside a character class of Python."""

_ANYTHING: Final = (".*", r"[\S\s]*")
"""Patterns that allow every text."""

_JSON_TYPES: Final = {
    "integer": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "boolean": "boolean",
}
"""Simple types of the model → of JSON. Times and bytes have no counterpart and are not checked."""


def to_schema(name: str, shapes: Mapping[str, Any]) -> Schema:
    """Turn a shape of a service model into a JSON Schema. Patterns are in Python's syntax.

    The schemas of members are contained, not referred to: looking references up would take longer than all else.

    Args:
        name: Name of the shape.
        shapes: All shapes of the model, by name.
    """
    shape = shapes[name]
    if shape["type"] == "structure":
        return _structure_schema(shape, shapes)
    if shape["type"] == "list":
        item = to_schema(shape["member"]["shape"], shapes)
        return {"type": "array", "items": item, **_limits(shape, "minItems", "maxItems")}
    if shape["type"] == "map":
        return _map_schema(shape, shapes)
    if shape["type"] == "string":
        return _string_schema(name, shape)
    kind = _JSON_TYPES.get(shape["type"])
    return {"type": kind, **_limits(shape, "minimum", "maximum")} if kind else {}


def _structure_schema(shape: Mapping[str, Any], shapes: Mapping[str, Any]) -> Schema:
    members = {key: to_schema(member["shape"], shapes) for key, member in shape["members"].items()}
    required = {"required": shape["required"]} if shape.get("required") else {}
    return {"type": "object", "properties": members, "additionalProperties": False, **required}


def _map_schema(shape: Mapping[str, Any], shapes: Mapping[str, Any]) -> Schema:
    return {
        "type": "object",
        "propertyNames": to_schema(shape["key"]["shape"], shapes),
        "additionalProperties": to_schema(shape["value"]["shape"], shapes),
        **_limits(shape, "minProperties", "maxProperties"),
    }


def _string_schema(name: str, shape: Mapping[str, Any]) -> Schema:
    schema: Schema = {"type": "string", **_limits(shape, "minLength", "maxLength")}
    if "enum" in shape:
        schema[DRIFTING if name.endswith("InstanceType") else "enum"] = shape["enum"]
    pattern = _to_python(shape["pattern"]) if "pattern" in shape else None
    if pattern is not None:
        schema["pattern"] = pattern
    return schema


def _limits(shape: Mapping[str, Any], least: str, most: str) -> Schema:
    limits = {least: shape.get("min") or None, most: shape.get("max")}
    return {keyword: limit for keyword, limit in limits.items() if limit is not None}


def _to_python(pattern: str) -> str | None:
    """Turn a pattern of the model, which has to match the whole value, into Python's syntax; None if it cannot be."""
    if pattern in _ANYTHING:
        return None
    for java, python in _JAVA_CLASSES.items():
        pattern = pattern.replace(java, python)
    whole = rf"\A(?:{pattern})\Z"
    try:
        re.compile(whole)
    except re.error:
        return None
    return whole
