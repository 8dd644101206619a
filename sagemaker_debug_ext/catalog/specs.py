"""Specification of a rule, `RuleSpec`, and of its parameters, `ParameterSpec`.

Values of parameters are strings in requests and typed in scripts; this module converts both to typed values (built-in
rules, section 2.2).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast

import attrs

from sagemaker_debug_ext.config._fields import is_pipeline_variable, render_value, warn_or_raise
from sagemaker_debug_ext.config.collection import compile_pattern
from sagemaker_debug_ext.config.collection_config import CollectionConfig
from sagemaker_debug_ext.config.text_forms import split_patterns
from sagemaker_debug_ext.errors import SMDebugValueError, did_you_mean

ParameterValue: TypeAlias = "bool | int | float | str | tuple[str, ...] | tuple[float, ...] | None"
ParameterType: TypeAlias = Literal["bool", "int", "float", "str", "str_list", "regex_list", "float_list"]
RuleKind: TypeAlias = Literal["debugger", "profiler"]

COMMON_PARAMETERS: Final = ("base_trial", "rule_to_invoke", "action_json")
"""Parameters that every rule may receive in addition to its own."""

_OTHER_TRIAL: Final = re.compile(r"other_trial_(\d+)")
_BOOLEANS: Final = {"True": True, "true": True, "False": False, "false": False}


def _parse_bool(value: object, where: str) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _BOOLEANS:
        return _BOOLEANS[value]
    hint = did_you_mean(value, _BOOLEANS)
    raise SMDebugValueError(f"{where} must be a boolean: one of {', '.join(_BOOLEANS)} (got {value!r}){hint}")


def _parse_int(value: object, where: str) -> int:
    try:
        return int(cast("str", render_value(value, where)))
    except ValueError as error:
        raise SMDebugValueError(f"{where} must be a whole number (got {value!r})") from error


def _parse_float(value: object, where: str) -> float:
    try:
        number = float(cast("str", render_value(value, where)))
    except ValueError as error:
        raise SMDebugValueError(f"{where} must be a number (got {value!r})") from error
    if math.isnan(number):
        raise SMDebugValueError(f"{where} must be a number that can be compared (got {value!r})")
    return number


def _parse_str(value: object, where: str) -> str:
    return cast("str", render_value(value, where))


def _parse_str_list(value: object, where: str) -> tuple[str, ...]:
    items = _parse_str(value, where).split(",")
    return tuple(item.strip() for item in items if item.strip())


def _parse_regex_list(value: object, where: str) -> tuple[str, ...]:
    patterns = split_patterns(_parse_str(value, where), where)
    return tuple(compile_pattern(pattern, where).pattern for pattern in patterns)


def _parse_float_list(value: object, where: str) -> tuple[float, ...]:
    return tuple(_parse_float(item, where) for item in _parse_str_list(value, where))


_PARSERS: Final[Mapping[ParameterType, Callable[[object, str], ParameterValue]]] = {
    "bool": _parse_bool,
    "int": _parse_int,
    "float": _parse_float,
    "str": _parse_str,
    "str_list": _parse_str_list,
    "regex_list": _parse_regex_list,
    "float_list": _parse_float_list,
}


def _is_unset(value: object) -> bool:
    return value is None or (isinstance(value, (str, list, tuple)) and (len(value) == 0 or value == "None"))


@attrs.frozen(kw_only=True)
class ParameterSpec:
    """One parameter of a rule.

    Args:
        name: Name of the parameter.
        type: Type of the values; lists may be given as strings with commas.
        doc: Description.
        default: Typed default value; None means unset.
        required: Whether the parameter must be given.
        min: Minimum, inclusive; for lists: of each item.
        max: Maximum, inclusive.
        exclusive_min: Lower bound, exclusive.
        exclusive_max: Upper bound, exclusive.
        choices: The allowed values, if they are limited.
        unit: Unit of the value.
        aliases: Alternative names of the parameter.
    """

    name: str
    type: ParameterType
    doc: str
    default: ParameterValue = None
    required: bool = False
    min: float | None = None
    max: float | None = None
    exclusive_min: float | None = None
    exclusive_max: float | None = None
    choices: tuple[str, ...] = ()
    unit: str | None = None
    aliases: tuple[str, ...] = ()

    def parse(self, value: object, rule: str = "") -> ParameterValue:
        """Convert a string or typed value to a typed value; None, ``""`` and ``"None"`` result in the default.

        Args:
            value: The value.
            rule: Name of the rule, for error messages.

        Raises:
            SMDebugTypeError: The value has a type that no parameter has.
            SMDebugValueError: The value has not the parameter's type or is out of range, or the parameter is required
                and unset.
        """
        where = f"parameter {self.name!r} of rule {rule}" if rule else f"parameter {self.name!r}"
        parsed = None if _is_unset(value) else _PARSERS[self.type](value, where)
        if parsed is None or parsed == ():
            if self.required:
                raise SMDebugValueError(f"{where} must be given (got {value!r})")
            return self.default
        if not self._allows(parsed):
            hint = did_you_mean(value, self.choices)
            raise SMDebugValueError(f"{where} must be {self.range} (got {value!r}){hint}")
        return parsed

    @property
    def range(self) -> str:
        """Description of the allowed values; empty if all are allowed."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        bounds = {
            "at least": self.min,
            "above": self.exclusive_min,
            "at most": self.max,
            "below": self.exclusive_max,
        }
        return " and ".join(f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None)

    def _allows(self, parsed: ParameterValue) -> bool:
        if self.choices:
            return parsed in self.choices
        items = parsed if isinstance(parsed, tuple) else (parsed,)
        return all(self._in_range(item) for item in items if isinstance(item, (int, float)))

    def _in_range(self, number: float) -> bool:
        return (
            (self.min is None or number >= self.min)
            and (self.max is None or number <= self.max)
            and (self.exclusive_min is None or number > self.exclusive_min)
            and (self.exclusive_max is None or number < self.exclusive_max)
        )

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> ParameterSpec:
        """Build from an entry of the catalog."""
        fields: dict[str, Any] = dict(entry)
        fields["choices"] = tuple(entry.get("choices", ()))
        fields["aliases"] = tuple(entry.get("aliases", ()))
        default = fields.pop("default", None)
        spec = cls(**fields)
        return attrs.evolve(spec, default=attrs.evolve(spec, required=False).parse(default))

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of the catalog; the inverse of `from_dict`."""
        return _without_defaults(self)


@attrs.frozen(kw_only=True)
class RuleSpec:
    """The specification of a rule.

    Args:
        name: Class name of the rule, which is also its name in a request.
        kind: ``debugger`` for rules on tensors, ``profiler`` for rules on metrics.
        doc: Description of the problem that the rule finds.
        parameters: Parameters of the rule.
        function: Name in `sagemaker_debug_ext.rule_configs`; empty if the rule is not in that module.
        rule_class: ``module:Class`` of the rule's code; None if the rule runs in the service only.
        frameworks: Frameworks whose jobs the rule can watch.
        fires: Whether the rule can fire; False for rules that only write a report.
        application_rule: Whether the rule applies to one kind of model only.
        needs_framework_metrics: Whether the rule reads framework metrics, which only old containers collect.
        collections: Default collections, which are saved unless the user specifies others.
        at_least_one_of: Groups of parameters, one of which must be given. Rules check this when they run, as SageMaker
            does.
    """

    name: str
    kind: RuleKind
    doc: str
    parameters: tuple[ParameterSpec, ...] = ()
    function: str = ""
    rule_class: str | None = None
    frameworks: tuple[str, ...] = ()
    fires: bool = True
    application_rule: bool = False
    needs_framework_metrics: bool = False
    collections: tuple[CollectionConfig, ...] = ()
    at_least_one_of: tuple[tuple[str, ...], ...] = ()

    def parameter(self, name: str) -> ParameterSpec:
        """Return the parameter with the given name or alias.

        Raises:
            SMDebugValueError: There is no such parameter.
        """
        for spec in self.parameters:
            if name == spec.name or name in spec.aliases:
                return spec
        if not self.parameters:
            raise SMDebugValueError(f"rule {self.name} takes no parameters (got {name!r})")
        names = tuple(spec.name for spec in self.parameters)
        raise SMDebugValueError(
            f"parameters of rule {self.name} must be among {', '.join(names)} (got {name!r}){did_you_mean(name, names)}"
        )

    def check_parameters(self, parameters: Mapping[str, object], strict: bool = True) -> None:
        """Raise if the rule does not accept a name or value. Missing parameters are not checked.

        Parameters common to all rules, and pipeline variables, are skipped.

        Args:
            parameters: Name → value.
            strict: Raise if a name is unknown, instead of a warning.

        Raises:
            SMDebugTypeError: A value has a type that no parameter has.
            SMDebugValueError: A value has the wrong type or is out of range, or, if `strict`, a name is unknown.
        """
        for name, value in _own(parameters).items():
            try:
                spec = self.parameter(name)
            except SMDebugValueError as error:
                warn_or_raise(str(error), strict)
                continue
            if not is_pipeline_variable(value) and not _is_unset(value):
                spec.parse(value, self.name)

    def parse_parameters(self, parameters: Mapping[str, object]) -> dict[str, ParameterValue]:
        """Return typed values of all parameters, including defaults, in the order of the spec's `parameters`.

        The paths ``other_trial_0``, … are collected in the list ``other_trials`` if the rule has this parameter and it
        is not given.

        Raises:
            SMDebugTypeError: A value has a type that no parameter has.
            SMDebugValueError: A name is unknown, a value has the wrong type or is out of range, or a required parameter
                is missing.
        """
        given: dict[str, object] = {"other_trials": other_trials(parameters)}
        given.update({self.parameter(name).name: value for name, value in _own(parameters).items()})
        return {spec.name: spec.parse(given.get(spec.name), self.name) for spec in self.parameters}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> RuleSpec:
        """Build from an entry of the catalog."""
        fields: dict[str, Any] = dict(entry)
        fields["parameters"] = tuple(map(ParameterSpec.from_dict, entry["parameters"]))
        fields["frameworks"] = tuple(entry.get("frameworks", ()))
        fields["at_least_one_of"] = tuple(map(tuple, entry.get("at_least_one_of", ())))
        fields["collections"] = tuple(
            CollectionConfig(name, parameters) for name, parameters in entry.get("collections", {}).items()
        )
        return cls(**fields)

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of the catalog; the inverse of `from_dict`."""
        entry = _without_defaults(self)
        entry["parameters"] = [spec.to_dict() for spec in self.parameters]
        if self.collections:
            entry["collections"] = {str(item.name): dict(item.parameters) for item in self.collections}
        return entry


class RuleConfig(dict[str, Any]):
    """A base configuration for `Rule.sagemaker`: a dictionary with a reference to its rule.

    It equals the dictionary that the SDK returns.
    """

    def __init__(self, spec: RuleSpec) -> None:
        rule = {"RuleConfigurationName": spec.name, "RuleParameters": {"rule_to_invoke": spec.name}}
        super().__init__({"DebugRuleConfiguration": rule})
        if spec.collections:
            self["CollectionConfigurations"] = [
                {"CollectionName": item.name, "CollectionParameters": dict(item.parameters)}
                for item in spec.collections
            ]
        self.spec = spec

    def check_parameters(self, parameters: Mapping[str, object], strict: bool = True) -> None:
        """Raise if the rule does not accept a name or value; see `RuleSpec.check_parameters`."""
        self.spec.check_parameters(parameters, strict)

    def __reduce__(self) -> tuple[type[RuleConfig], tuple[RuleSpec], None, None, Any]:
        return RuleConfig, (self.spec,), None, None, iter(self.items())


def other_trials(parameters: Mapping[str, object]) -> list[object]:
    """Return the values of ``other_trial_0``, ``other_trial_1``, … in the order of their numbers."""
    numbered = [(int(match[1]), value) for name, value in parameters.items() if (match := _OTHER_TRIAL.fullmatch(name))]
    return [value for _, value in sorted(numbered, key=lambda item: item[0])]


def _own(parameters: Mapping[str, object]) -> dict[str, object]:
    return {
        name: value
        for name, value in parameters.items()
        if name not in COMMON_PARAMETERS and not _OTHER_TRIAL.fullmatch(name)
    }


def _without_defaults(spec: ParameterSpec | RuleSpec) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    for field in attrs.fields(type(spec)):
        value = getattr(spec, field.name)
        if value != field.default or field.default is attrs.NOTHING:
            entry[field.name] = _listed(value) if isinstance(value, tuple) else value
    return entry


def _listed(value: Iterable[Any]) -> list[Any]:
    return [_listed(item) if isinstance(item, Sequence) and not isinstance(item, str) else item for item in value]
