"""The arguments of a hook, and the parameters of its configuration file: one entry each.

Names, types and meaning are those of the store format, section 9.1. Hooks of this package alone read `dry_run`,
`flight_recorder`, `handle_sigterm`, `memory_limit_bytes`, `spill_limit_bytes`, `statistics` and `when_full`. Save
settings may carry a mode in front, such as ``train.save_interval``. Parameters arrive rendered; pipeline variables are
not checked.
"""

from __future__ import annotations

import functools
import numbers
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from sagemaker_debug_ext.config import text_forms
from sagemaker_debug_ext.config._fields import Parameters, warn_or_raise
from sagemaker_debug_ext.config.reductions import ReductionConfig, check_statistics
from sagemaker_debug_ext.config.saving import SaveConfig, SaveConfigMode
from sagemaker_debug_ext.config.text_forms import TextForm
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError, brief, did_you_mean
from sagemaker_debug_ext.vocabulary import ModeKeys

DEFAULT_OUT_DIR: Final = "/opt/ml/output/tensors"

DEFAULT_MEMORY_LIMIT_BYTES: Final = 1 << 30
"""1 GiB: some steps of a model of a hundred million parameters."""

DEFAULT_SPILL_LIMIT_BYTES: Final = 8 << 30
"""8 GiB: some hundred steps of a model of ten million parameters."""

FULL_POLICIES: Final = ("block", "drop", "spill")
"""What a hook can do when the memory limit is reached."""

MODE_PREFIXES: Final = tuple(f"{mode.name.lower()}." for mode in ModeKeys)

_NUMPY_BOOLEANS: Final = frozenset({("numpy", "bool"), ("numpy", "bool_")})
"""Module and name of NumPy's boolean, which is no number to Python; this layer does not import NumPy."""

_TEXT_FORM: Final = "text_form"


# --- arguments --------------------------------------------------------------------------------------------------------


def to_flag(value: Any, what: str) -> bool:
    """Return a boolean of Python or NumPy, or the number 0 or 1, as a bool.

    Args:
        value: The value.
        what: Name of the argument.

    Raises:
        SMDebugTypeError: The value is anything else. Texts are refused because "false" would count as true.
    """
    kind = type(value)
    is_flag = isinstance(value, numbers.Integral) or (kind.__module__, kind.__name__) in _NUMPY_BOOLEANS
    if is_flag and value in (0, 1):
        return bool(value)
    raise SMDebugTypeError(f"{what} must be True or False (got {brief(value)})")


def to_count(value: Any, what: str, least: int) -> int:
    """Return a whole number as an int; ``1e9`` is one.

    Args:
        value: The number.
        what: Name of the argument.
        least: Smallest number allowed.

    Raises:
        SMDebugTypeError: The value is not a whole number.
        SMDebugValueError: It is less than `least`.
    """
    if not _is_whole(value):
        raise SMDebugTypeError(f"{what} must be a whole number of at least {least} (got {brief(value)})")
    if value < least:
        raise SMDebugValueError(f"{what} must be a whole number of at least {least} (got {brief(value)})")
    return int(value)


def _is_whole(value: object) -> bool:
    if isinstance(value, numbers.Rational):
        return isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return isinstance(value, numbers.Real) and float(value).is_integer()


def to_path(value: object, what: str) -> str:
    """Return a path as text.

    Raises:
        SMDebugTypeError: The value is not a path.
        SMDebugValueError: It is blank.
    """
    text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise SMDebugTypeError(f"{what} must be a path (got {brief(value)})")
    if not text.strip():
        raise SMDebugValueError(f"{what} must be a path (got {brief(value)})")
    return text


def to_names(value: Iterable[str] | None, what: str) -> tuple[str, ...]:
    """Return names as a tuple, an empty one for None.

    Args:
        value: The names.
        what: Name of the argument.

    Raises:
        SMDebugTypeError: The value is a single text or not iterable, or one of the names is not a text.
    """
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise SMDebugTypeError(f"{what} must be a list of texts (got {brief(value)})")
    names = list(value)
    if not all(isinstance(name, str) for name in names):
        raise SMDebugTypeError(f"{what} must hold texts only (got {brief(names)})")
    return tuple(names)


def _to_patterns(value: str | Sequence[str] | None) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    return to_names(value, "include_regex")


def _to_collections(value: Iterable[str] | None) -> tuple[str, ...]:
    return to_names(value, "include_collections")


def _to_statistics(value: Iterable[str] | None) -> tuple[str, ...]:
    return check_statistics(to_names(value, "statistics"))


def _to_save_all(value: Any) -> bool:
    """Return a flag that scripts for smdebug may also give as any number, as None, or as the text of a boolean."""
    if value is None or isinstance(value, numbers.Real):
        return bool(value)
    words = {"true": True, "false": False}
    return words[value.lower()] if isinstance(value, str) and value.lower() in words else to_flag(value, "save_all")


def _to_tensorboard_dir(value: str | os.PathLike[str] | None) -> str | None:
    return None if value is None else to_path(value, "tensorboard_dir")


def _to_save_config(value: SaveConfig | SaveConfigMode | Mapping[Any, Any] | None) -> SaveConfig | None:
    return SaveConfig.parse(value)


def _flag(name: str, default: bool, form: TextForm | None = text_forms.BOOLEAN) -> Any:
    return attrs.field(default=default, converter=functools.partial(to_flag, what=name), metadata=_text_form(form))


def _count(name: str, default: int, least: int) -> Any:
    convert = functools.partial(to_count, what=name, least=least)
    return attrs.field(default=default, converter=convert, metadata=_text_form(text_forms.count(least)))


def _text_form(form: TextForm | None) -> dict[str, TextForm]:
    return {} if form is None else {_TEXT_FORM: form}


def _is_reduction_config(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is not None and not isinstance(value, ReductionConfig):
        raise SMDebugTypeError(f"{attribute.name} must be a ReductionConfig or None (got {brief(value)})")


def _is_policy(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value not in FULL_POLICIES:
        raise SMDebugValueError(f"{attribute.name} must be 'block', 'drop' or 'spill' (got {value!r})")


@attrs.frozen(kw_only=True)
class HookOptions:
    """The arguments of a hook; `BaseHook` describes their meaning.

    The metadata of an argument holds its text form if the configuration file has it among ``HookParameters``.

    Raises:
        SMDebugTypeError: An argument has the wrong type.
        SMDebugValueError: An argument has no meaning.
    """

    out_dir: Any = DEFAULT_OUT_DIR
    """A path, or a back end of the store, which this layer does not know."""

    export_tensorboard: bool = _flag("export_tensorboard", False)
    tensorboard_dir: str | None = attrs.field(
        default=None, converter=_to_tensorboard_dir, metadata=_text_form(text_forms.PATH)
    )
    dry_run: bool = _flag("dry_run", False)
    reduction_config: ReductionConfig | None = attrs.field(default=None, validator=_is_reduction_config)
    save_config: SaveConfig | None = attrs.field(default=None, converter=_to_save_config)
    include_regex: tuple[str, ...] = attrs.field(
        default=(), converter=_to_patterns, metadata=_text_form(text_forms.PATTERNS)
    )
    include_collections: tuple[str, ...] = attrs.field(default=(), converter=_to_collections)
    save_all: bool = attrs.field(default=False, converter=_to_save_all, metadata=_text_form(text_forms.BOOLEAN))
    include_workers: str = attrs.field(default="one", metadata=_text_form(text_forms.WORKERS))
    """``all``; everything else means ``one``, as it does to the original."""

    strict: bool = _flag("strict", False, form=None)
    memory_limit_bytes: int = _count("memory_limit_bytes", DEFAULT_MEMORY_LIMIT_BYTES, least=1)
    statistics: tuple[str, ...] = attrs.field(
        default=(), converter=_to_statistics, metadata=_text_form(text_forms.STATISTICS)
    )
    when_full: str = attrs.field(
        default="block", validator=_is_policy, metadata=_text_form(text_forms.choice(FULL_POLICIES))
    )
    flight_recorder: int = _count("flight_recorder", 0, least=0)
    spill_limit_bytes: int = _count("spill_limit_bytes", DEFAULT_SPILL_LIMIT_BYTES, least=1)
    handle_sigterm: bool = _flag("handle_sigterm", True)
    overwrite: bool = _flag("overwrite", False, form=None)

    @property
    def writes_tensorboard(self) -> bool:
        """Whether TensorBoard files are wanted; a folder for them alone asks for them."""
        return self.export_tensorboard or self.tensorboard_dir is not None


# --- parameters -------------------------------------------------------------------------------------------------------

HOOK_ARGUMENTS: Final[Mapping[str, TextForm]] = {
    field.name: field.metadata[_TEXT_FORM] for field in attrs.fields(HookOptions) if _TEXT_FORM in field.metadata
}
"""The arguments of a hook that are parameters of its configuration file, with their text forms."""

_SHARED_PARAMETERS: Final[Mapping[str, TextForm]] = {
    **{prefix + key: form for prefix in ("", *MODE_PREFIXES) for key, form in text_forms.SAVE_SETTINGS.items()},
    "include_regex": text_forms.PATTERNS,
    "reductions": text_forms.REDUCTIONS,
    "save_raw_tensor": text_forms.BOOLEAN,
    "save_shape": text_forms.BOOLEAN,
}

COLLECTION_PARAMETERS: Final[Mapping[str, TextForm]] = {**_SHARED_PARAMETERS, "save_histogram": text_forms.BOOLEAN}
"""The parameters of a collection, with their text forms."""

HOOK_PARAMETERS: Final[Mapping[str, TextForm]] = {**_SHARED_PARAMETERS, **HOOK_ARGUMENTS}
"""The parameters of a hook, with their text forms."""


def check_parameters(parameters: Parameters, known: Mapping[str, TextForm], where: str, strict: bool) -> None:
    """Raise if a value is one that a hook could not use, and warn of unknown names, which the hook ignores.

    Args:
        parameters: The parameters, rendered.
        known: `COLLECTION_PARAMETERS` or `HOOK_PARAMETERS`.
        where: What they belong to, for error messages.
        strict: Raise if a name is unknown.

    Raises:
        SMDebugValueError: A value is not allowed, an end step lies at or before its start step, or, if `strict`, a
            name is not among those of `known`.
    """
    for name, value in parameters.items():
        if name not in known:
            warn_or_raise(_unknown_name(name, known, where), strict)
        elif isinstance(value, str):
            known[name].check(value, f"{name} of {where}")
    for prefix in ("", *MODE_PREFIXES):
        start, end = parameters.get(f"{prefix}start_step"), parameters.get(f"{prefix}end_step")
        if isinstance(start, str) and isinstance(end, str) and int(end) <= int(start):
            raise SMDebugValueError(
                f"{where}: {prefix}end_step is exclusive and must lie after {prefix}start_step (got {start}, {end})"
            )


def _unknown_name(name: str, known: Mapping[str, TextForm], where: str) -> str:
    plain = sorted(parameter for parameter in known if "." not in parameter)
    save_keys = ", ".join(text_forms.SAVE_SETTINGS)
    return (
        f"parameters of {where} must be among {', '.join(plain)}; {save_keys} also with "
        f"{', '.join(MODE_PREFIXES)} in front (got {name!r}){did_you_mean(name, tuple(known))}"
    )
