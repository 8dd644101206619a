"""Conversion of shapes of a botocore service model to JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

Schema: TypeAlias = dict[str, Any]

DRIFTING: Final = "knownValues"
"""Custom keyword for enumerations that grow with botocore releases, so that unknown values may be valid."""

_JAVA_CLASSES: Final = {r"\p{Alnum}": "a-zA-Z0-9", r"\p{L}": r"\w", r"\p{N}": r"\d", r"\p{Z}": r"\s"}
"""Java character class in the model's patterns → equivalent inside a Python character class."""

_ANYTHING: Final = (".*", r"[\S\s]*")
"""Patterns that match every string."""

_JSON_TYPES: Final = {
    "integer": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "boolean": "boolean",
}
"""Simple type of the model → JSON type. Timestamps and bytes have no counterpart and are not checked."""


def to_schema(name: str, shapes: Mapping[str, Any]) -> Schema:
    """Convert a shape of a service model to a JSON Schema. Patterns are in Python's syntax.

    Schemas of members are inlined because resolving references would dominate the validation time.

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
    """Convert a pattern of the model, which must match the whole value, to Python's syntax; None if impossible."""
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
