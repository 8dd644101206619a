"""Converters and validators that several configuration classes share.

AWS accepts almost every setting as a string only, whereas scripts use numbers, booleans and lists. Values are therefore
rendered once, on construction, in the spelling that the container reads, so that equivalent configurations are equal.
"""

from __future__ import annotations

import contextlib
import enum
import numbers
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import NoneType
from typing import Any, Final, Protocol, TypeAlias, cast

import attrs

from sagemaker_debug_ext._s3_urls import SCHEME, check_bucket
from sagemaker_debug_ext.errors import DebugExtWarning, SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.vocabulary import ModeKeys

MAX_TEXT: Final = 256
"""Maximum length of keys and values in a map of parameters, and of names of rules and collections."""

MAX_S3_PATH: Final = 1024
MAX_LOCAL_PATH: Final = 4096

_S3_PATH: Final = re.compile(r"(https|s3)://([^/]+)/?(.*)")


class PipelineVariable(Protocol):
    """A value that a pipeline fills in when it runs, such as a pipeline parameter of the SageMaker SDK.

    Its content is unknown at this point, so it is passed through without rendering or checks.
    """

    @property
    def expr(self) -> Any:
        """The expression that stands for the value in the pipeline definition."""


Text: TypeAlias = "str | PipelineVariable"
"""A string, or a pipeline variable that stands for one."""

Number: TypeAlias = "int | PipelineVariable"
"""An integer, or a pipeline variable that stands for one."""


def is_pipeline_variable(value: object) -> bool:
    """Return whether `value` is a pipeline variable: anything with ``expr`` or ``to_string``.

    The class is checked first because some variables compute ``expr`` on access.
    """
    kind = type(value)
    return hasattr(kind, "expr") or hasattr(kind, "to_string") or "expr" in getattr(value, "__dict__", ())


def _render_item(item: object, where: str) -> str:
    text = render_value(item, where)
    if not isinstance(text, str):
        raise SMDebugTypeError(f"{where} must not hold pipeline variables inside a list (got {item!r})")
    if "," in text:
        raise SMDebugValueError(
            f"{where} must hold items without a comma, because the container splits lists at commas (got {text!r})"
        )
    return text


def _render_scalar(value: object) -> str | None:
    if isinstance(value, ModeKeys):
        return value.name
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "True" if value else "False"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    # Floats of other libraries print themselves, because converting them to float would add spurious digits.
    return repr(float(value)) if isinstance(value, float) else str(value) if isinstance(value, numbers.Real) else None


def render_value(value: object, where: str) -> Text:
    """Render a setting as the string that the container reads.

    Booleans become ``True`` or ``False``, numbers their shortest exact spelling, lists their items joined by commas,
    modes their names. Strings and pipeline variables pass unchanged.

    Args:
        value: The setting.
        where: Name of the setting, for error messages.

    Raises:
        SMDebugTypeError: The value has an unsupported type, or a list holds a pipeline variable.
        SMDebugValueError: An item of a list contains a comma.
    """
    text = _render_scalar(value)
    if text is not None:
        return text
    if is_pipeline_variable(value):
        return cast("PipelineVariable", value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return ",".join(_render_item(item, where) for item in value)
    raise SMDebugTypeError(f"{where} must be a string, a number, a boolean or a list of them (got {value!r})")


class Parameters(Mapping[str, "Text"]):
    """An immutable, hashable mapping of parameter names to rendered values.

    It equals any mapping with the same content. The order of the names is kept, but ignored in comparisons.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Text] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, name: str) -> Text:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        # Hash the strings only, because some pipeline variables are unhashable; equal maps have equal strings.
        return hash(frozenset(item for item in self._values.items() if isinstance(item[1], str)))

    def __repr__(self) -> str:
        return repr(self._values)

    def __reduce__(self) -> tuple[type[Parameters], tuple[dict[str, Text]]]:
        return Parameters, (self._values,)


def render_parameters(values: Mapping[str, Any] | None, where: str) -> Parameters:
    """Render a mapping of settings; settings of None are omitted.

    Args:
        values: Names and settings; None results in an empty mapping.
        where: Owner of the settings, for error messages.

    Raises:
        SMDebugTypeError: `values` is not a mapping, a name is not a string, or a value cannot be rendered.
        SMDebugValueError: A name is empty, or a name or rendered value is longer than `MAX_TEXT`.
    """
    if isinstance(values, Parameters):
        return values
    if values is None:
        return Parameters()
    if not isinstance(values, Mapping):
        raise SMDebugTypeError(f"{where} must be a mapping of names to values (got {values!r})")
    return Parameters(
        {
            _checked_key(key, where): _checked_length(render_value(value, f"{where}[{key!r}]"), f"{where}[{key!r}]")
            for key, value in values.items()
            if value is not None
        }
    )


def _checked_key(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise SMDebugTypeError(f"names in {where} must be strings (got {key!r})")
    if not 1 <= len(key) <= MAX_TEXT:
        raise SMDebugValueError(f"names in {where} must have 1 to {MAX_TEXT} characters (got {len(key)}: {key[:40]!r})")
    return key


def _checked_length(text: Text, where: str) -> Text:
    if isinstance(text, str) and len(text) > MAX_TEXT:
        raise SMDebugValueError(f"{where} must have at most {MAX_TEXT} characters (got {len(text)}: {text[:40]!r}…)")
    return text


def _named(instance: object, attribute: attrs.Attribute[Any]) -> str:
    return f"{type(instance).__name__}.{attribute.name}"


def _text(instance: object, attribute: attrs.Attribute[Any], value: object, longest: int) -> str | None:
    """Return `value` if it is a string of 1 to `longest` characters, None for a pipeline variable; else raise."""
    if isinstance(value, str):
        if not 1 <= len(value) <= longest:
            raise SMDebugValueError(
                f"{_named(instance, attribute)} must have 1 to {longest} characters (got {len(value)}: {value[:40]!r})"
            )
        return value
    if is_pipeline_variable(value):
        return None
    raise SMDebugTypeError(f"{_named(instance, attribute)} must be a string (got {value!r})")


def is_name(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Accept the name of a rule or collection: 1 to 256 characters."""
    _text(instance, attribute, value, MAX_TEXT)


def is_image_uri(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Accept an image URI, or None."""
    if value is not None:
        _text(instance, attribute, value, MAX_TEXT - 1)


def is_text(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Accept any short string, or None."""
    if value is not None:
        _text(instance, attribute, value, MAX_TEXT)


def is_local_path(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Accept a path inside a container, or None."""
    if value is not None:
        _text(instance, attribute, value, MAX_LOCAL_PATH)


def is_s3_path(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Accept a location on S3, or None."""
    text = None if value is None else _text(instance, attribute, value, MAX_S3_PATH)
    if text is None:
        return
    parts = _S3_PATH.fullmatch(text)
    if parts is None:
        raise SMDebugValueError(
            f"{_named(instance, attribute)} must be an S3 location such as 's3://bucket/prefix' (got {text!r})"
        )
    try:
        if text.startswith(SCHEME):
            check_bucket(parts[2], text)
    except SMDebugValueError as error:
        raise SMDebugValueError(f"{_named(instance, attribute)}: {error}") from None


def is_whole_number(least: int) -> Any:
    """Return a validator that accepts integers of at least `least`, pipeline variables and None."""

    def check(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if value is None or is_pipeline_variable(value):
            return
        if isinstance(value, bool) or not isinstance(value, int):
            raise SMDebugTypeError(f"{_named(instance, attribute)} must be a whole number (got {value!r})")
        if value < least:
            raise SMDebugValueError(f"{_named(instance, attribute)} must be at least {least} (got {value!r})")

    return check


def is_instance(*kinds: type[object]) -> Any:
    """Return a validator that accepts instances of `kinds`; include `NoneType` to accept None."""
    names = " or ".join("None" if kind is NoneType else kind.__name__ for kind in kinds)

    def check(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if not isinstance(value, kinds):
            raise SMDebugTypeError(f"{_named(instance, attribute)} must be a {names} (got {value!r})")

    return check


def is_positive_number(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Accept numbers above 0, or None."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise SMDebugTypeError(f"{_named(instance, attribute)} must be a number (got {value!r})")
    if not value > 0:
        raise SMDebugValueError(f"{_named(instance, attribute)} must be above 0 (got {value!r})")


def present(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a request that are set: neither None nor an empty collection."""
    return {name: value for name, value in members.items() if value is not None and value not in ({}, [])}


_HAS_WARNED: Final[ContextVar[bool]] = ContextVar("has_warned", default=False)


@contextlib.contextmanager
def warned_before() -> Iterator[None]:
    """Suppress warnings of unknown settings, because their owner was warned when they were made."""
    token = _HAS_WARNED.set(True)
    try:
        yield
    finally:
        _HAS_WARNED.reset(token)


def warn_or_raise(problem: str, strict: bool) -> None:
    """Warn of a setting that has no effect; raise if `strict`.

    Raises:
        SMDebugValueError: The problem, if `strict`.
    """
    if strict:
        raise SMDebugValueError(problem)
    if not _HAS_WARNED.get():
        warnings.warn(f"a setting is unknown and passed on as it is: {problem}", DebugExtWarning, stacklevel=5)


def is_boolean(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Accept True, False and pipeline variables."""
    if not isinstance(value, bool) and not is_pipeline_variable(value):
        raise SMDebugTypeError(f"{_named(instance, attribute)} must be True or False (got {value!r})")
