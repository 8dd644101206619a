"""Validation of a finished CreateTrainingJob request. One error reports all problems, each with its path.

A request is validated against the shapes of the installed botocore's service model as JSON Schema (members, types,
lengths, patterns, values; botocore itself checks only some of these), and against known requirements of the service
that its model does not contain.

No other module of `requests` needs botocore and jsonschema. Import it where it is used.
"""

from __future__ import annotations

import functools
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, cast

import botocore.loaders
import jsonschema
import jsonschema.protocols

from sagemaker_debug_ext.config._fields import is_pipeline_variable, warned_before
from sagemaker_debug_ext.errors import DebugExtWarning, RequestValidationError, brief, did_you_mean
from sagemaker_debug_ext.requests._model_schema import DRIFTING, Schema, to_schema
from sagemaker_debug_ext.requests._service_rules import service_problems

_REQUEST_SHAPE: Final = "CreateTrainingJobRequest"
_PROCESSING_SHAPE: Final = "CreateProcessingJobRequest"


@functools.cache
def _schema(shape: str = _REQUEST_SHAPE) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a request, built from the installed botocore's model.

    Patterns are in Python's syntax. Enumerations that AWS extends over time, such as instance types, are listed under
    the keyword ``knownValues`` instead of ``enum``.
    """
    model = botocore.loaders.Loader().load_service_model("sagemaker", "service-2")
    schema = to_schema(shape, model["shapes"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": shape, **schema}


def check_processing_job_request(request: Mapping[str, Any]) -> None:
    """Validate a CreateProcessingJob request against the service's model.

    Raises:
        RequestValidationError: The service would reject the request. The error lists all problems.
    """
    check_request(request, _PROCESSING_SHAPE)


def longest_processing_seconds() -> int:
    """Return the longest time limit of a processing job that the service's model knows; newer ones allow more."""
    condition = _schema(_PROCESSING_SHAPE)["properties"]["StoppingCondition"]
    return int(condition["properties"]["MaxRuntimeInSeconds"]["maximum"])


def check_request(request: Mapping[str, Any], shape: str) -> None:
    """Validate a request of any operation against the service's model.

    Args:
        request: The request.
        shape: Name of the request's shape in the model, such as ``CreateHyperParameterTuningJobRequest``.

    Raises:
        RequestValidationError: The service would reject the request. The error lists all problems.
    """
    lines = list(_text_problems(request)) or list(dict.fromkeys(_schema_problems(request, shape)))
    if lines:
        raise RequestValidationError(lines)


def check_training_job_request(request: Mapping[str, Any], region: str | None = None) -> None:
    """Validate a request against the service's model and against known requirements beyond it.

    Pipeline variables are assumed to be valid. Instance types that the installed botocore does not know, and rules
    without a hook, cause a warning.

    Args:
        request: The request.
        region: Region of the job; if it is not given, the images of all rules must be in the same region.

    Raises:
        RequestValidationError: The service would reject the request, or a rule or the hook could not read its
            parameters. The error lists all problems.
    """
    lines = list(_text_problems(request))
    if lines:
        raise RequestValidationError(lines)
    _check(request, _schema_problems(request), region)


def check_types(request: Mapping[str, Any]) -> None:
    """Validate only that the members of a CreateTrainingJob request have the types of the service's model.

    Raises:
        RequestValidationError: A member has another type, an object in a list lacks a member that it needs, or a text
            cannot be stored. The error lists all problems.
    """
    lines = list(_text_problems(request)) or [
        line
        for error in _validator().iter_errors(request)
        if error.validator == "type" or (error.validator == "required" and _is_identifying(error))
        if not is_pipeline_variable(error.instance)
        for line in _describe(_path(error.absolute_path), error)
    ]
    if lines:
        raise RequestValidationError(list(dict.fromkeys(lines)))


_IDENTIFYING: Final = frozenset(
    {"ChannelName", "CollectionName", "DataSource", "RuleConfigurationName", "S3OutputPath", "S3Uri"}
)
"""Members without which an object says nothing."""


def _is_identifying(error: jsonschema.ValidationError) -> bool:
    missing = set(error.validator_value) - set(error.instance)  # type: ignore[arg-type]
    return bool(error.absolute_path and missing & _IDENTIFYING)


_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")
"""NUL and halves of surrogate pairs."""


def _text_problems(value: object, path: str = "") -> Iterator[str]:
    """Yield the texts that neither a file nor the environment of a process can hold, and keys that are no texts."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(key, str):
                yield from _text_problems(key, path)
                yield from _text_problems(item, f"{path}.{key}" if path else key)
            else:
                yield f"{path or 'request'}: names must be texts (got {key!r})"
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _text_problems(item, f"{path}[{number}]")
    elif isinstance(value, str) and _UNSTORABLE.search(value):
        yield f"{path or 'request'}: must not contain NUL or half of a character (got {brief(value)})"


@warned_before()
def check_debugger_members(members: Mapping[str, Any], region: str | None = None) -> None:
    """Validate the Debugger members that `debugger_request` made, without the other members of a request."""
    missing = set(_schema()["required"]) - set(members)
    lines = (line for line in _schema_problems(members) if line not in {_missing("", name) for name in missing})
    _check(members, lines, region)


def _check(request: Mapping[str, Any], schema_problems: Iterable[str], region: str | None) -> None:
    lines = list(dict.fromkeys([*schema_problems, *service_problems(request, region)]))
    if lines:
        raise RequestValidationError(lines)
    if request.get("DebugRuleConfigurations") and "DebugHookConfig" not in request:
        warnings.warn(
            "the request has rules but no DebugHookConfig: they never see data", DebugExtWarning, stacklevel=3
        )


def _known_values(_: Any, allowed: list[str], instance: object, __: Any) -> Iterator[jsonschema.ValidationError]:
    if isinstance(instance, str) and instance not in allowed:
        yield jsonschema.ValidationError(f"unknown value {instance!r}{did_you_mean(instance, allowed)}")


def _is_whole_number(_: object, instance: object) -> bool:
    return isinstance(instance, int) and not isinstance(instance, bool)


def _is_list(_: object, instance: object) -> bool:
    return isinstance(instance, (list, tuple))


_TEXT_LIMITS: Final = frozenset({"type", "minLength", "maxLength", "pattern"})


def _allows(schema: Schema, texts: Iterable[object]) -> bool:
    """Return whether a schema for texts allows all of some texts; False also for schemas with other keywords."""
    if schema.get("type") != "string" or not schema.keys() <= _TEXT_LIMITS:
        return False
    least, most = schema.get("minLength", 0), schema.get("maxLength", math.inf)
    matches = re.compile(schema.get("pattern", "")).search
    return all(isinstance(text, str) and least <= len(text) <= most and matches(text) for text in texts)


def _map_keyword(check: Callable[..., Any], texts_of: Callable[[dict[str, Any]], Iterable[object]]) -> Any:
    """Return a keyword that accepts maps of texts without a validator for each text, which takes most of the time."""

    def find_errors(validator: Any, schema: Any, instance: Any, parent: Schema) -> Any:
        is_map = isinstance(schema, dict) and isinstance(instance, dict) and "properties" not in parent
        return () if is_map and _allows(schema, texts_of(instance)) else check(validator, schema, instance, parent)

    return find_errors


@functools.cache
def _validator(shape: str = _REQUEST_SHAPE) -> jsonschema.protocols.Validator:
    base = jsonschema.Draft202012Validator
    types = base.TYPE_CHECKER.redefine_many({"integer": _is_whole_number, "array": _is_list})
    keywords = {
        DRIFTING: _known_values,
        "propertyNames": _map_keyword(base.VALIDATORS["propertyNames"], dict.keys),
        "additionalProperties": _map_keyword(base.VALIDATORS["additionalProperties"], dict.values),
    }
    kind = jsonschema.validators.extend(base, keywords, type_checker=types)  # type: ignore[no-untyped-call]
    return cast("jsonschema.protocols.Validator", kind(_schema(shape)))


def _schema_problems(request: Mapping[str, Any], shape: str = _REQUEST_SHAPE) -> Iterator[str]:
    found = _validator(shape).iter_errors(request)
    errors = sorted(found, key=lambda error: [str(part) for part in error.absolute_path])
    for error in errors:
        path = _path(error.absolute_path)
        if is_pipeline_variable(error.instance):
            continue
        if error.validator == DRIFTING:
            warnings.warn(f"{path}: {error.message}", DebugExtWarning, stacklevel=4)
            continue
        yield from _describe(path, error)


def _path(parts: Iterable[str | int]) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return path.removeprefix(".")


def _missing(path: str, name: str) -> str:
    return f"{path}.{name}: must be given".removeprefix(".")


def _describe(path: str, error: jsonschema.ValidationError) -> list[str]:
    instance: Any = error.instance
    rule: Any = error.validator_value
    if error.validator == "required":
        return [_missing(path, name) for name in rule if name not in instance]
    if error.validator == "additionalProperties":
        known = tuple(cast("Schema", error.schema)["properties"])
        return [
            f"{path}.{name}: unknown member{did_you_mean(name, known)} (members: {', '.join(known)})".removeprefix(".")
            for name in instance
            if name not in known
        ]
    return [f"{path}: {_EXPECTED[str(error.validator)].format(rule=rule)} (got {_shown(instance)})"]


_EXPECTED: Final = {
    "type": "must be of type {rule}",
    "enum": "must be one of {rule}",
    "pattern": "must match {rule}",
    "minLength": "must have at least {rule} characters",
    "maxLength": "must have at most {rule} characters",
    "minItems": "must have at least {rule} items",
    "maxItems": "must have at most {rule} items",
    "minProperties": "must have at least {rule} entries",
    "maxProperties": "must have at most {rule} entries",
    "minimum": "must be at least {rule}",
    "maximum": "must be at most {rule}",
}


def _shown(value: object) -> str:
    if isinstance(value, (list, tuple, dict)):
        return f"{len(value)}"
    text = repr(value)
    return text if len(text) <= 80 else f"{len(str(value))} characters, {text[:60]}…"
