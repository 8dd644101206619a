"""Reductions to save instead of, or in addition to, a tensor: `ReductionConfig`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import attrs

from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError, did_you_mean
from sagemaker_debug_ext.vocabulary import NORMS, REDUCTIONS, STATISTICS

_ABS: Final = "abs_"
_NORM: Final = "_norm"

REDUCTION_SPELLINGS: Final = tuple(
    prefix + name for prefix in ("", _ABS) for name in (*REDUCTIONS, *(norm + _NORM for norm in NORMS))
)
"""All reductions in the spelling of hook and collection parameters, such as ``mean`` or ``abs_l2_norm``."""


class Reduction(NamedTuple):
    """A reduction of a tensor to one number: an operation on the values or on their absolute values."""

    name: str
    abs: bool = False

    @property
    def spelling(self) -> str:
        """The name in configuration strings, where norms end in ``_norm``."""
        return (_ABS if self.abs else "") + self.name + (_NORM if self.name in NORMS else "")

    @classmethod
    def parse(cls, spelling: str) -> Reduction:
        """Parse one name of `REDUCTION_SPELLINGS`.

        Raises:
            SMDebugValueError: The name is not one of them.
        """
        if spelling not in REDUCTION_SPELLINGS:
            hint = did_you_mean(spelling, REDUCTION_SPELLINGS)
            raise SMDebugValueError(
                f"reductions must be among {', '.join(REDUCTION_SPELLINGS)} (got {spelling!r}){hint}"
            )
        bare = spelling.removeprefix(_ABS)
        return cls(bare.removesuffix(_NORM), spelling.startswith(_ABS))


def parse_reductions(text: str) -> tuple[Reduction, ...]:
    """Parse a comma-separated list such as ``"min, abs_max, l1_norm"``; blanks and empty items are dropped."""
    return tuple(Reduction.parse(item.strip()) for item in text.split(",") if item.strip())


def check_statistics(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names without duplicates.

    Raises:
        SMDebugValueError: A name is not one of `STATISTICS`.
    """
    for name in names:
        if name not in STATISTICS:
            hint = did_you_mean(name, STATISTICS)
            raise SMDebugValueError(f"statistics must be among {', '.join(STATISTICS)} (got {name!r}){hint}")
    return tuple(dict.fromkeys(names))


def _names(value: Sequence[str] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        raise SMDebugTypeError(f"reductions and norms must be lists of names (got the string {value!r})")
    return tuple(value)


def _among(allowed: tuple[str, ...]) -> Any:
    def check(_: object, attribute: attrs.Attribute[Any], value: tuple[str, ...]) -> None:
        for name in value:
            if name not in allowed:
                hint = did_you_mean(name, allowed)
                raise SMDebugValueError(f"{attribute.name} must be among {', '.join(allowed)} (got {name!r}){hint}")

    return check


def _is_bool(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, bool):
        raise SMDebugValueError(f"{attribute.name} must be True or False (got {value!r})")


@attrs.frozen
class ReductionConfig:
    """Reductions to save of each tensor.

    If a configuration is given, the tensor itself is saved only with `save_raw_tensor`.

    Args:
        reductions: Names of `sagemaker_debug_ext.vocabulary.REDUCTIONS`.
        abs_reductions: The same for the absolute values.
        norms: Names of `sagemaker_debug_ext.vocabulary.NORMS`.
        abs_norms: The same for the absolute values.
        save_raw_tensor: Save the tensor as well.
        save_shape: Save the tensor's shape.

    Raises:
        SMDebugValueError: A name is not allowed, or a flag is not a boolean.
    """

    reductions: tuple[str, ...] = attrs.field(default=None, converter=_names, validator=_among(REDUCTIONS))
    abs_reductions: tuple[str, ...] = attrs.field(default=None, converter=_names, validator=_among(REDUCTIONS))
    norms: tuple[str, ...] = attrs.field(default=None, converter=_names, validator=_among(NORMS))
    abs_norms: tuple[str, ...] = attrs.field(default=None, converter=_names, validator=_among(NORMS))
    save_raw_tensor: bool = attrs.field(default=False, validator=_is_bool)
    save_shape: bool = attrs.field(default=False, validator=_is_bool)

    def __iter__(self) -> Iterator[Reduction]:
        """Yield each reduction once, in the order of the collections file (store format, section 5)."""
        yield from (Reduction(name) for name in self.reductions)
        yield from (Reduction(name) for name in self.norms)
        yield from (Reduction(name, abs=True) for name in self.abs_reductions)
        yield from (Reduction(name, abs=True) for name in self.abs_norms)

    @classmethod
    def from_reductions(
        cls, reductions: Sequence[Reduction], save_raw_tensor: bool = False, save_shape: bool = False
    ) -> ReductionConfig:
        """Build from `Reduction` values."""

        def pick(allowed: tuple[str, ...], absolute: bool) -> list[str]:
            return [item.name for item in reductions if item.name in allowed and item.abs == absolute]

        return cls(
            reductions=pick(REDUCTIONS, False),
            abs_reductions=pick(REDUCTIONS, True),
            norms=pick(NORMS, False),
            abs_norms=pick(NORMS, True),
            save_raw_tensor=save_raw_tensor,
            save_shape=save_shape,
        )

    @classmethod
    def from_dict(cls, params: Mapping[str, Any] | None) -> ReductionConfig | None:
        """Build from the form of `to_json_dict`; None stays None."""
        if params is None:
            return None
        return cls.from_reductions(
            parse_reductions(params.get("reductions") or ""),
            save_raw_tensor=params.get("save_raw_tensor", False),
            save_shape=params.get("save_shape", False),
        )

    @classmethod
    def from_json(cls, text: str) -> ReductionConfig | None:
        """Build from the JSON text of `to_json`."""
        return cls.from_dict(json.loads(text))

    def to_json_dict(self) -> dict[str, Any]:
        """Return the settings in the form of the collections file (store format, section 5)."""
        return {
            "save_raw_tensor": self.save_raw_tensor,
            "reductions": ",".join(reduction.spelling for reduction in self),
            "save_shape": self.save_shape,
        }

    def to_json(self) -> str:
        """Return `to_json_dict` as JSON text."""
        return json.dumps(self.to_json_dict())
