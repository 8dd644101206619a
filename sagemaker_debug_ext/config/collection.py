"""The named group of tensors that hooks fill and trials show: `Collection`.

Unlike the other classes of this package, a collection is mutable: scripts add patterns before training starts, and the
hook adds the names of the tensors it has seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from sagemaker_debug_ext.config.reductions import ReductionConfig
from sagemaker_debug_ext.config.saving import SaveConfig
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError

_C = TypeVar("_C", bound="Collection")


def compile_pattern(pattern: str, where: str) -> re.Pattern[str]:
    """Compile a regular expression given by a user.

    Raises:
        SMDebugTypeError: The pattern is neither a string nor compiled.
        SMDebugValueError: The pattern does not compile; the message names its place, `where`, and the problem.
    """
    if not isinstance(pattern, (str, re.Pattern)):
        raise SMDebugTypeError(f"{where} must hold regular expressions (got {pattern!r})")
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError, FutureWarning) as error:  # nested deeply, huge counts, odd sets
        raise SMDebugValueError(f"{where} must hold regular expressions (got {pattern!r}: {error})") from error


class Collection:
    """A named group of tensors with its own save and reduction settings.

    A tensor is a member if its name is listed, or if any pattern is found in its name (`re.search`).

    Args:
        name: Name of the collection.
        include_regex: Patterns searched in tensor names.
        tensor_names: Names of members.
        reduction_config: Reductions to save of the members; None uses the hook's.
        save_config: Steps at which to save the members; None uses the hook's.
        save_histogram: Whether TensorBoard output shows histograms of the members.

    Raises:
        SMDebugTypeError: An argument has the wrong type.
        SMDebugValueError: A pattern is not a valid regular expression.
    """

    def __init__(
        self,
        name: str,
        include_regex: Iterable[str] | None = None,
        tensor_names: Iterable[str] | None = None,
        reduction_config: ReductionConfig | None = None,
        save_config: SaveConfig | Mapping[Any, Any] | None = None,
        save_histogram: bool = True,
    ) -> None:
        self.name = name
        self.include_regex: list[str] = []
        self.include(list(include_regex or ()))
        self._tensor_names: set[str] = set(tensor_names or ())
        self.reduction_config = reduction_config
        self.save_config = save_config
        self.save_histogram = save_histogram

    @property
    def tensor_names(self) -> set[str]:
        """The listed names; other tensors may be members by a pattern."""
        return self._tensor_names

    @tensor_names.setter
    def tensor_names(self, names: set[str] | list[str]) -> None:
        if not isinstance(names, (set, list)):
            raise SMDebugTypeError(f"tensor_names must be a set or a list (got {names!r})")
        self._tensor_names = set(names)

    @property
    def reduction_config(self) -> ReductionConfig | None:
        """Reductions to save of the members; None uses the hook's setting."""
        return self._reduction_config

    @reduction_config.setter
    def reduction_config(self, config: ReductionConfig | None) -> None:
        if config is not None and not isinstance(config, ReductionConfig):
            raise SMDebugTypeError(f"reduction_config must be a ReductionConfig or None (got {config!r})")
        self._reduction_config = config

    @property
    def save_config(self) -> SaveConfig | None:
        """Steps at which to save the members; None uses the hook's setting."""
        return self._save_config

    @save_config.setter
    def save_config(self, config: Any) -> None:
        self._save_config = SaveConfig.parse(config)

    def include(self, pattern: str | Sequence[str]) -> None:
        """Add a pattern, or several.

        Raises:
            SMDebugTypeError: `pattern` is neither a string nor a list of strings.
            SMDebugValueError: A pattern is not a valid regular expression.
        """
        patterns = [pattern] if isinstance(pattern, str) else pattern
        if not isinstance(patterns, (list, tuple)) or not all(isinstance(item, str) for item in patterns):
            raise SMDebugTypeError(f"include() accepts a pattern or a list of patterns (got {pattern!r})")
        for item in patterns:
            self._check_pattern(item)
        self.include_regex.extend(patterns)

    def _check_pattern(self, pattern: str) -> None:
        compile_pattern(pattern, f"include_regex of collection {self.name!r}")

    def matches(self, tensor_name: str) -> bool:
        """Return whether a tensor of that name belongs to the collection."""
        return tensor_name in self._tensor_names or any(self._search(item, tensor_name) for item in self.include_regex)

    def _search(self, pattern: str, tensor_name: str) -> bool:
        return re.search(pattern, tensor_name) is not None

    def add_tensor_name(self, tname: str) -> None:
        """Add `tname` to the listed names."""
        self._tensor_names.add(tname)

    def remove_tensor_name(self, tname: str) -> None:
        """Remove `tname` from the listed names; it may still match a pattern."""
        self._tensor_names.discard(tname)

    def has_tensor_name(self, tname: str) -> bool:
        """Return whether `tname` is listed; patterns are ignored."""
        return tname in self._tensor_names

    def to_json_dict(self) -> dict[str, Any]:
        """Return the collection in the form of the collections file (store format, section 5)."""
        return {
            "name": self.name,
            "include_regex": list(self.include_regex),
            "tensor_names": sorted(self._tensor_names),
            "reduction_config": self.reduction_config.to_json_dict() if self.reduction_config else None,
            "save_config": self.save_config.to_json_dict() if self.save_config else None,
            "save_histogram": self.save_histogram,
        }

    def to_json(self) -> str:
        """Return `to_json_dict` as JSON text."""
        return json.dumps(self.to_json_dict())

    @classmethod
    def from_dict(cls: type[_C], params: Mapping[str, Any]) -> _C:
        """Build from the form of `to_json_dict`; unknown keys are ignored because newer writers may add some."""
        save_config = params.get("save_config")
        return cls(
            name=params["name"],
            include_regex=params.get("include_regex") or (),
            tensor_names=params.get("tensor_names") or (),
            reduction_config=ReductionConfig.from_dict(params.get("reduction_config")),
            save_config=SaveConfig.from_dict(save_config) if save_config else None,
            save_histogram=params.get("save_histogram", True),
        )

    @classmethod
    def from_json(cls, text: str) -> Collection:
        """Build from the JSON text of `to_json`."""
        return cls.from_dict(json.loads(text))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Collection):
            return NotImplemented
        return self.to_json_dict() == other.to_json_dict()

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"Collection({self.name!r}, include_regex={self.include_regex}, {len(self._tensor_names)} tensor names)"
