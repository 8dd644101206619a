"""`Selection`: the tensors that a rule reads, by collection, name pattern or role."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import attrs

from sagemaker_debug_ext.config.collection import compile_pattern
from sagemaker_debug_ext.rules.reading.tensor_roles import PARAMETERS, Role, naming_scheme_of, pattern_of

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial


def _compiled(patterns: Iterable[str] | None) -> tuple[re.Pattern[str], ...]:
    return tuple(compile_pattern(pattern, "tensor_regex") for pattern in patterns or ())


def _as_tuple(names: Iterable[str] | None) -> tuple[str, ...]:
    return tuple(names or ())


def _as_roles(roles: Iterable[Role] | None) -> tuple[Role, ...]:
    return tuple(roles or ())


@attrs.frozen(cache_hash=True)
class Selection:
    """Tensors that are in any of the collections, or whose name matches any of the patterns or roles.

    Args:
        collections: Names of collections; one that the trial does not have selects nothing.
        patterns: Regular expressions, searched unanchored in tensor names.
        roles: Roles of tensors, which stand for the name patterns of the framework that wrote the trial.

    Raises:
        SMDebugValueError: A pattern is no regular expression.
    """

    collections: tuple[str, ...] = attrs.field(default=(), converter=_as_tuple)
    patterns: tuple[re.Pattern[str], ...] = attrs.field(default=(), converter=_compiled)
    roles: tuple[Role, ...] = attrs.field(default=(), converter=_as_roles)

    def __bool__(self) -> bool:
        return bool(self.collections or self.patterns or self.roles)

    @property
    def is_everything(self) -> bool:
        """Whether every tensor is selected."""
        return self in (ALL_TENSORS, ALL_WITHOUT_GAPS)

    def united_with(self, other: Selection) -> Selection:
        """Return the union of both selections."""
        return Selection(
            collections=(*self.collections, *other.collections),
            patterns=[pattern.pattern for pattern in (*self.patterns, *other.patterns)],
            roles=(*self.roles, *other.roles),
        )

    def among(self, names: Collection[str], trial: Trial) -> list[str]:
        """Return the selected names among names of tensors of a trial, in their order."""
        known = trial.collections()
        groups = [known[name] for name in self.collections if name in known and name not in PARAMETERS]
        parameters = [known[name] for name in self.collections if name in known and name in PARAMETERS]
        patterns = self.patterns_in(trial)
        scheme = naming_scheme_of(trial)
        found = [
            name
            for name in names
            if any(pattern.search(name) for pattern in patterns)
            or any(group.matches(name) for group in groups)
            or (any(group.matches(name) for group in parameters) and not scheme.is_of_layer(name))
        ]
        has_inputs = not {Role.MODEL_INPUT, Role.FURTHER_INPUT}.isdisjoint(self.roles)
        return scheme.raw_inputs(found, names, trial) if has_inputs else found

    def patterns_in(self, trial: Trial) -> tuple[re.Pattern[str], ...]:
        """Return the patterns, including those of the roles in a trial."""
        if not self.roles:
            return self.patterns
        return (*self.patterns, *(re.compile(pattern_of(role, trial)) for role in self.roles))

    def __str__(self) -> str:
        if self.is_everything:
            return "any tensor"
        parts = [f"collection {name!r}" for name in self.collections]
        parts += [f"names with {pattern.pattern!r}" for pattern in self.patterns]
        parts += [role.value for role in self.roles]
        return " or ".join(parts) or "nothing"


def chosen_or(patterns: Iterable[str] | None, *roles: Role, collections: Iterable[str] = ()) -> Selection:
    """Return a selection by patterns, or by roles and collections if no patterns are given."""
    return Selection(patterns=patterns) if patterns else Selection(roles=roles, collections=collections)


ALL_TENSORS = Selection(patterns=("",))
"""Every tensor of a step."""

ALL_WITHOUT_GAPS = Selection(patterns=("^(?!trees/(Split|Yes|No|Missing|Category)$)",))
"""Every tensor but the columns of tree tables in which NaN marks leaf nodes."""


@attrs.frozen
class TensorRequirement:
    """Tensors that a rule reads for one purpose.

    Args:
        purpose: Purpose of the tensors, in a word or two.
        selection: The tensors.
        is_required: Whether the rule needs them. If none of its requirements is required, it needs one of them.
        takes_reductions: Whether saved reductions may replace the values.
    """

    purpose: str
    selection: Selection
    is_required: bool = True
    takes_reductions: bool = False
