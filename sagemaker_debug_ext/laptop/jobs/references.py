"""References in the definition of a pipeline: to parameters, to the execution, and to what earlier steps have made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sagemaker_debug_ext.errors import SMDebugValueError

_PART: Final = re.compile(r"\.?(?P<name>[^.\[\]]+)|\['(?P<key>[^']*)'\]|\[(?P<number>\d+)\]")
_JOIN: Final = "Std:Join"


def resolve(value: Any, roots: Mapping[str, Any]) -> Any:
    """Return JSON data in which references are replaced by their values.

    Args:
        value: Data of a definition.
        roots: What references may begin with: ``Parameters``, ``Execution`` and ``Steps``.

    Raises:
        SMDebugValueError: A reference leads nowhere.
    """
    if isinstance(value, Mapping):
        if value.keys() == {"Get"}:
            return look_up(str(value["Get"]), roots)
        if value.keys() == {_JOIN}:
            join = value[_JOIN]
            return join["On"].join(str(resolve(part, roots)) for part in join["Values"])
        return {key: resolve(item, roots) for key, item in value.items()}
    if isinstance(value, list):
        return [resolve(item, roots) for item in value]
    return value


def look_up(path: str, roots: Mapping[str, Any]) -> Any:
    """Return what a reference such as ``Steps.Train.ModelArtifacts.S3ModelArtifacts`` refers to.

    A key in brackets selects the object of a list that has this name.

    Raises:
        SMDebugValueError: The reference leads nowhere.
    """
    value: Any = roots
    try:
        for part in _PART.finditer(path):
            value = _enter(value, part)
    except (KeyError, IndexError, TypeError) as error:
        raise SMDebugValueError(f"{path!r} must refer to something that exists (unknown: {error})") from error
    return value


def _enter(value: Any, part: re.Match[str]) -> Any:
    if part["number"] is not None:
        return value[int(part["number"])]
    name = part["name"] or part["key"]
    if isinstance(value, list):
        found = [item for item in value if _has_name(item, name)]
        if not found:
            raise KeyError(name)
        return found[0]
    return value[name]


def _has_name(item: Any, name: str) -> bool:
    return isinstance(item, Mapping) and any(key.endswith("Name") and item[key] == name for key in item)


def references(value: Any) -> Iterator[str]:
    """Yield the paths of all references in JSON data."""
    if isinstance(value, Mapping):
        if value.keys() == {"Get"}:
            yield str(value["Get"])
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)
