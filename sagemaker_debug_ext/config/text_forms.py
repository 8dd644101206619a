"""The text forms of parameters: how a submitter may write a value, and how the container reads it.

AWS passes every parameter as text. A submitter's text must be one that the original container reads too, so its check
is strict. The hook reads what the file holds and accepts JSON values and any case of a boolean as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from sagemaker_debug_ext.config.collection import compile_pattern
from sagemaker_debug_ext.config.reductions import Reduction, check_statistics, parse_reductions
from sagemaker_debug_ext.config.saving import SaveConfigMode
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError

BOOLEAN_SPELLINGS: Final = ("True", "true", "False", "false")
"""The only spellings of a boolean that the original container reads."""


class TextForm(NamedTuple):
    """How one kind of value is written as text.

    Args:
        check: Raises SMDebugValueError if a submitter's text is not allowed; called with the text and its place.
        parse: Returns the value of a member of the configuration file; raises SMDebugValueError without the place,
            which the caller adds.
    """

    check: Callable[[str, str], None]
    parse: Callable[[object], Any]


# --- booleans, texts and choices --------------------------------------------------------------------------------------


def _check_boolean(text: str, where: str) -> None:
    if text not in BOOLEAN_SPELLINGS:
        raise SMDebugValueError(f"{where} must be a boolean: one of {', '.join(BOOLEAN_SPELLINGS)} (got {text!r})")


def _parse_boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = value.strip().lower() if isinstance(value, str) else None
    if text not in ("true", "false"):
        raise SMDebugValueError(f"must be true or false (got {value!r})")
    return text == "true"


def parse_text(value: object) -> str:
    """Return a text without the blanks around it.

    Raises:
        SMDebugValueError: The value is not a text, or is blank.
    """
    if not isinstance(value, str) or not value.strip():
        raise SMDebugValueError(f"must be a text (got {value!r})")
    return value.strip()


def _accept(text: str, where: str) -> None:
    """Accept any text."""


def _check_workers(text: str, where: str) -> None:
    if text not in ("one", "all"):
        raise SMDebugValueError(f"{where} must be 'one' or 'all' (got {text!r})")


def choice(allowed: tuple[str, ...]) -> TextForm:
    """Return the form of a value that is one of `allowed`."""

    def check(text: str, where: str) -> None:
        if text not in allowed:
            raise SMDebugValueError(f"{where} must be one of {', '.join(allowed)} (got {text!r})")

    def parse(value: object) -> str:
        if value not in allowed:
            raise SMDebugValueError(f"must be one of {', '.join(allowed)} (got {value!r})")
        return str(value)

    return TextForm(check, parse)


# --- numbers ----------------------------------------------------------------------------------------------------------


def _parse_int(value: object, least: int) -> int:
    number = value
    if isinstance(value, str):
        try:
            number = int(value)
        except ValueError:
            number = None
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise SMDebugValueError(f"must be a whole number, at least {least} (got {value!r})")
    return number


def count(least: int) -> TextForm:
    """Return the form of a whole number of at least `least`."""

    def check(text: str, where: str) -> None:
        if not text.isdecimal() or int(text) < least:
            raise SMDebugValueError(f"{where} must be a whole number, at least {least} (got {text!r})")

    return TextForm(check, lambda value: _parse_int(value, least))


def _save_number(key: str, least: int) -> TextForm:
    def check(text: str, where: str) -> None:
        try:
            SaveConfigMode.from_dict({key: text})
        except (SMDebugTypeError, SMDebugValueError) as error:
            raise SMDebugValueError(f"{where}: {error}") from error

    return TextForm(check, lambda value: _parse_int(value, least))


def _check_steps(text: str, where: str) -> None:
    try:
        steps = [int(step) for step in text.split(",")]
    except ValueError:
        steps = [-1]
    if min(steps) < 0:
        raise SMDebugValueError(f"{where} must be step numbers joined by commas (got {text!r})")


def _parse_steps(value: object) -> tuple[int, ...]:
    return tuple(_parse_int(item, least=0) for item in _items(value))


# --- lists ------------------------------------------------------------------------------------------------------------


def _items(value: object) -> list[object]:
    """Split a comma-separated text; return a JSON list unchanged."""
    if isinstance(value, str):
        return [item.strip() for item in value.split(",") if item.strip()]
    if isinstance(value, int) and not isinstance(value, bool):
        return [value]
    if not isinstance(value, list):
        raise SMDebugValueError(f"must be a comma-separated text (got {value!r})")
    return value


def _check_reductions(text: str, where: str) -> None:
    try:
        parse_reductions(text)
    except SMDebugValueError as error:
        raise SMDebugValueError(f"{where}: {error}") from error


def _parse_reductions(value: object) -> tuple[Reduction, ...]:
    return parse_reductions(",".join(str(item) for item in _items(value)))


def _check_statistics(text: str, where: str) -> None:
    try:
        check_statistics(text.replace(" ", "").split(","))
    except SMDebugValueError as error:
        raise SMDebugValueError(f"{where}: {error}") from error


def _parse_statistics(value: object) -> tuple[str, ...]:
    return check_statistics([str(item) for item in _items(value)])


def _check_patterns(text: str, where: str) -> None:
    for pattern in split_patterns(text, where):
        compile_pattern(pattern, where)


def _parse_patterns(value: object) -> tuple[str, ...]:
    patterns = tuple(str(item) for item in _items(value))
    for pattern in patterns:
        compile_pattern(pattern, "it")
    return patterns


def split_patterns(text: str, where: str) -> list[str]:
    """Split regular expressions at their commas as the container does; blanks and empty items are dropped.

    Raises:
        SMDebugValueError: A comma stands inside a pattern, which the split would tear apart.
    """
    if any(text[at] == "," and depth for at, depth in _depths(text)):
        raise SMDebugValueError(
            f"{where} must not have a comma inside a pattern, because the container splits it at every comma; "
            f"write 'a|b' for a choice and repeat the item for a count (got {text!r})"
        )
    return [pattern.strip() for pattern in text.split(",") if pattern.strip()]


def _depths(text: str) -> Iterator[tuple[int, int]]:
    """Yield each position of a pattern with the number of brackets open there; an escape counts as one."""
    closing: list[str] = []
    escaped = False
    for at, character in enumerate(text):
        yield at, len(closing) + escaped
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif closing and character == closing[-1]:
            closing.pop()
        elif character in "([{" and closing[-1:] != ["]"]:
            closing.append({"(": ")", "[": "]", "{": "}"}[character])


BOOLEAN: Final = TextForm(_check_boolean, _parse_boolean)
PATH: Final = TextForm(_accept, parse_text)
PATTERNS: Final = TextForm(_check_patterns, _parse_patterns)
REDUCTIONS: Final = TextForm(_check_reductions, _parse_reductions)
STATISTICS: Final = TextForm(_check_statistics, _parse_statistics)
WORKERS: Final = TextForm(_check_workers, parse_text)

SAVE_SETTINGS: Final = {
    "save_interval": _save_number("save_interval", least=1),
    "save_steps": TextForm(_check_steps, _parse_steps),
    "start_step": _save_number("start_step", least=0),
    "end_step": _save_number("end_step", least=0),
}
"""The four settings of a mode."""
