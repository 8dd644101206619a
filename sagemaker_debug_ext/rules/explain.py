"""`explain`: the tensors that a rule reads, and whether a trial has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from sagemaker_debug_ext._json import JSONObject
from sagemaker_debug_ext.errors import did_you_mean
from sagemaker_debug_ext.rules._validation import check_trial
from sagemaker_debug_ext.rules.base import check_rule
from sagemaker_debug_ext.rules.reading.selection import TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import numeric_value
from sagemaker_debug_ext.rules.reading.tensor_roles import NOTHING, naming_scheme_of

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.base import Rule
    from sagemaker_debug_ext.trials import Trial


@attrs.frozen(kw_only=True)
class RequirementMatch:
    """The tensors of a trial that match a `TensorRequirement` of a rule.

    Args:
        purpose: Purpose of the tensors.
        selection: The selection, in words.
        tensors: Names of the tensors found so far, sorted.
        collections: Collections of the trial that they are members of, sorted.
        problem: Why no tensor can be used; empty if one can.
        is_required: Whether the rule needs the tensors.
    """

    purpose: str
    selection: str
    tensors: tuple[str, ...]
    collections: tuple[str, ...]
    problem: str = ""
    is_required: bool = True


@attrs.frozen(kw_only=True)
class Explanation:
    """The tensors that a rule will read in a trial, and why it cannot evaluate them.

    Args:
        rule: The rule's name.
        needs: The tensors by requirement; empty for rules without declared requirements, such as custom rules.
        problems: Why the rule cannot evaluate any step so far; empty if it can.
    """

    rule: str
    needs: tuple[RequirementMatch, ...] = ()
    problems: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.rule}:"]
        for need in self.needs:
            found = f"{len(need.tensors)} tensors, such as {need.tensors[0]!r}" if need.tensors else "no tensor"
            fed = f", of {', '.join(need.collections)}" if need.collections else ""
            lines.append(f"  {need.purpose} ({need.selection}): {found}{fed}")
        lines += [f"  no verdict: {problem}" for problem in self.problems]
        return "\n".join(lines)

    def to_json_dict(self) -> JSONObject:
        """Return the explanation as a JSON object."""
        found: dict[str, Any] = attrs.asdict(self, value_serializer=lambda _, __, value: _as_list(value))
        return found

    @classmethod
    def from_json_dict(cls, described: Mapping[str, Any]) -> Explanation:
        """Return the explanation that `to_json_dict` described."""
        needs = tuple(
            RequirementMatch(**{**need, "tensors": tuple(need["tensors"]), "collections": tuple(need["collections"])})
            for need in described["needs"]
        )
        return cls(rule=described["rule"], needs=needs, problems=tuple(described["problems"]))


def _as_list(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def explain(rule: Rule, trial: Trial | None = None) -> Explanation:
    """Return the tensors that a rule will read, before it evaluates the first step.

    The result for a running job may change as it saves more. Tensors that the hook has announced in its collections
    count as saved.

    Args:
        rule: The rule.
        trial: The trial; that of the rule when not given.

    Raises:
        SMDebugTypeError: `rule` is no rule, or `trial` no trial.

    Example:
        >>> print(explain(create_rule("DeadRelu", trial)))
        DeadRelu:
          tensors (names with '.*relu_output'): no tensor
          no verdict: no tensor has a name with '.*relu_output'; ...
    """
    check_rule(rule, "rule")
    opened = rule.base_trial if trial is None else trial
    check_trial(opened, "trial")
    needs = tuple(_match(need, opened) for need in _needs_of(rule))
    return Explanation(rule=rule.rule_name, needs=needs, problems=tuple(_problems(needs, rule)))


def _needs_of(rule: Rule) -> Iterable[TensorRequirement]:
    declared = getattr(rule, "needs", None)
    return declared() if callable(declared) else ()


def _problems(needs: Iterable[RequirementMatch], rule: Rule) -> list[str]:
    found = [need.problem for need in needs if need.problem and need.is_required]
    optional = [need for need in needs if not need.is_required]
    if not any(need.is_required for need in needs) and optional and all(need.problem for need in optional):
        found += [need.problem for need in optional]
    parameters: Mapping[str, Any] = getattr(rule, "parameters", {})
    limits = [name for name in ("max_threshold", "min_threshold") if name in parameters]
    if limits and all(parameters[name] is None for name in limits):
        found.append(f"neither {' nor '.join(limits)} is given, so nothing is checked")
    return found


def _match(need: TensorRequirement, trial: Trial) -> RequirementMatch:
    saved = trial.tensor_names()
    announced = {name for group in trial.collections().values() for name in group.tensor_names}
    names = need.selection.among(sorted({*saved, *announced}), trial)
    groups = sorted(
        group.name
        for group in trial.collections().values()
        if any(group.matches(name) for name in names) and group.name not in ("all", "default")
    )
    return RequirementMatch(
        purpose=need.purpose,
        selection=str(need.selection),
        tensors=tuple(names),
        collections=() if need.selection.is_everything else tuple(groups),
        problem=_problem(need, trial, names),
        is_required=need.is_required,
    )


def _problem(need: TensorRequirement, trial: Trial, names: list[str]) -> str:
    if names:
        return "" if need.takes_reductions else _only_reductions(trial, names)
    if need.selection.is_everything:
        return "the trial has no tensors so far; is the hook attached to the model?"
    reasons = [_missing_collection(name, trial) for name in need.selection.collections]
    scheme = naming_scheme_of(trial)
    unknown = [role.value for role in need.selection.roles if scheme.patterns[role] is NOTHING]
    if unknown:
        reasons.append(f"the hook of {scheme.framework} saves no {' or '.join(unknown)}")
    wanted = [pattern for pattern in need.selection.patterns_in(trial) if pattern.pattern != NOTHING]
    if wanted:
        patterns = " or ".join(repr(pattern.pattern) for pattern in wanted)
        known = trial.tensor_names()
        example = f"; names look like {known[0]!r}" if known else ""
        reasons.append(
            f"no tensor has a name with {patterns}; save such tensors with a collection that includes them, or give "
            f"the rule another pattern{example}"
        )
    return "; ".join(reasons)


def _missing_collection(name: str, trial: Trial) -> str:
    if name in trial.collections():
        return f"nothing was saved of collection {name!r}; add it to the collections that the hook saves"
    known = sorted(trial.collections())
    return (
        f"the trial has no collection {name!r}, only {', '.join(known) or 'none'}{did_you_mean(name, known)}; add it "
        "to the collections that the hook saves"
    )


def _only_reductions(trial: Trial, names: list[str]) -> str:
    """Return a problem if the first saved tensor has reductions only, because the others were saved likewise."""
    name = next((name for name in names if trial.has_tensor(name)), None)
    steps = trial.tensor(name).steps()[:1] if name else []
    if name is None or not steps or numeric_value(trial, name, steps[0]) is not None:
        return ""
    if not trial.tensor(name).reduction_values(steps[0]):
        return ""
    return f"of {name!r} only reductions were saved, and the rule needs values; save_raw_tensor saves them too"
