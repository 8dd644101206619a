"""The parameters that a hook reads from its configuration file, and the checks of their values.

Names, types and meanings follow the store format, section 9.1. `dry_run`, `flight_recorder`, `handle_sigterm`,
`memory_limit_bytes`, `spill_limit_bytes`, `statistics` and `when_full` are read by the hooks of this package only; they
set the arguments of the same names. Save settings may have a mode as prefix, such as ``train.save_interval``. Values
are already rendered; pipeline variables are not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from sagemaker_debug_ext.config._fields import Parameters
from sagemaker_debug_ext.config.collection import compile_pattern
from sagemaker_debug_ext.config.reductions import check_statistics, parse_reductions
from sagemaker_debug_ext.config.saving import SAVE_KEYS, SaveConfigMode
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError, did_you_mean
from sagemaker_debug_ext.vocabulary import ModeKeys

MODE_PREFIXES: Final = tuple(f"{mode.name.lower()}." for mode in ModeKeys)

BOOLEAN_SPELLINGS: Final = ("True", "true", "False", "false")
"""The only spellings of a boolean that the container reads."""

FULL_POLICIES: Final = ("block", "drop", "spill")
"""What a hook can do when the queue of pending writes is full."""

_Check: TypeAlias = Callable[[str, str], None]


def _check_boolean(text: str, where: str) -> None:
    if text not in BOOLEAN_SPELLINGS:
        raise SMDebugValueError(f"{where} must be a boolean: one of {', '.join(BOOLEAN_SPELLINGS)} (got {text!r})")


def _check_patterns(text: str, where: str) -> None:
    for pattern in split_patterns(text, where):
        compile_pattern(pattern, where)


def _check_reductions(text: str, where: str) -> None:
    try:
        parse_reductions(text)
    except SMDebugValueError as error:
        raise SMDebugValueError(f"{where}: {error}") from error


def _check_statistics(text: str, where: str) -> None:
    try:
        check_statistics(text.replace(" ", "").split(","))
    except SMDebugValueError as error:
        raise SMDebugValueError(f"{where}: {error}") from error


def _check_policy(text: str, where: str) -> None:
    if text not in FULL_POLICIES:
        raise SMDebugValueError(f"{where} must be one of {', '.join(FULL_POLICIES)} (got {text!r})")


def _check_count(least: int) -> _Check:
    def check(text: str, where: str) -> None:
        if not text.isdecimal() or int(text) < least:
            raise SMDebugValueError(f"{where} must be a whole number, at least {least} (got {text!r})")

    return check


def _check_workers(text: str, where: str) -> None:
    if text not in ("one", "all"):
        raise SMDebugValueError(f"{where} must be 'one' or 'all' (got {text!r})")


def _check_steps(text: str, where: str) -> None:
    try:
        steps = [int(step) for step in text.split(",")]
    except ValueError:
        steps = [-1]
    if min(steps) < 0:
        raise SMDebugValueError(f"{where} must be step numbers joined by commas (got {text!r})")


def _check_save_number(key: str) -> _Check:
    def check(text: str, where: str) -> None:
        try:
            SaveConfigMode.from_dict({key: text})
        except (SMDebugTypeError, SMDebugValueError) as error:
            raise SMDebugValueError(f"{where}: {error}") from error

    return check


def _accept(text: str, where: str) -> None:
    """Accept any string."""


_SAVE_CHECKS: Final[Mapping[str, _Check]] = {
    key: _check_steps if key == "save_steps" else _check_save_number(key) for key in SAVE_KEYS
}

_SHARED_CHECKS: Final[Mapping[str, _Check]] = {
    **_SAVE_CHECKS,
    **{prefix + key: check for prefix in MODE_PREFIXES for key, check in _SAVE_CHECKS.items()},
    "include_regex": _check_patterns,
    "reductions": _check_reductions,
    "save_raw_tensor": _check_boolean,
    "save_shape": _check_boolean,
}

COLLECTION_PARAMETERS: Final[Mapping[str, _Check]] = {**_SHARED_CHECKS, "save_histogram": _check_boolean}
"""The parameters of a collection, and the check of each value."""

HOOK_PARAMETERS: Final[Mapping[str, _Check]] = {
    **_SHARED_CHECKS,
    "dry_run": _check_boolean,
    "export_tensorboard": _check_boolean,
    "flight_recorder": _check_count(0),
    "handle_sigterm": _check_boolean,
    "include_workers": _check_workers,
    "memory_limit_bytes": _check_count(1),
    "save_all": _check_boolean,
    "spill_limit_bytes": _check_count(1),
    "statistics": _check_statistics,
    "tensorboard_dir": _accept,
    "when_full": _check_policy,
}
"""The parameters of a hook, and the check of each value."""


def check_parameters(parameters: Parameters, checks: Mapping[str, _Check], where: str) -> None:
    """Raise if a name is unknown or a hook could not use a value.

    Args:
        parameters: The rendered parameters.
        checks: `COLLECTION_PARAMETERS` or `HOOK_PARAMETERS`.
        where: Owner of the parameters, for error messages.

    Raises:
        SMDebugValueError: A name is not in `checks`, a value is not allowed, or an end step is not after its start
            step.
    """
    for name, value in parameters.items():
        if name not in checks:
            raise SMDebugValueError(_unknown_name(name, checks, where))
        if isinstance(value, str):
            checks[name](value, f"{name} of {where}")
    for prefix in ("", *MODE_PREFIXES):
        start, end = parameters.get(f"{prefix}start_step"), parameters.get(f"{prefix}end_step")
        if isinstance(start, str) and isinstance(end, str) and int(end) <= int(start):
            raise SMDebugValueError(
                f"{where}: {prefix}end_step is exclusive and must lie after {prefix}start_step (got {start}, {end})"
            )


def _unknown_name(name: str, checks: Mapping[str, _Check], where: str) -> str:
    plain = sorted(known for known in checks if "." not in known)
    return (
        f"parameters of {where} must be among {', '.join(plain)}; {', '.join(SAVE_KEYS)} also with "
        f"{', '.join(MODE_PREFIXES)} in front (got {name!r}){did_you_mean(name, tuple(checks))}"
    )


def split_patterns(text: str, where: str) -> list[str]:
    """Split regular expressions at commas as the container does; blanks and empty items are dropped.

    Raises:
        SMDebugValueError: A pattern contains a comma, at which the container would split it.
    """
    if any(text[at] == "," and depth for at, depth in _depths(text)):
        raise SMDebugValueError(
            f"{where} must not have a comma inside a pattern, because the container splits it at every comma; "
            f"write 'a|b' for a choice and repeat the item for a count (got {text!r})"
        )
    return [pattern.strip() for pattern in text.split(",") if pattern.strip()]


def _depths(text: str) -> Iterator[tuple[int, int]]:
    """Yield each position of a pattern with its bracket depth; an escape sequence counts as one position."""
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
