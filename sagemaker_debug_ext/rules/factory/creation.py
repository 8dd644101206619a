"""Make rules from names and parameters, as a request gives them: `create_rule` and `create_custom_rule`."""

from __future__ import annotations

import contextlib
import inspect
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from sagemaker_debug_ext.catalog import get_rule_spec, list_rule_specs
from sagemaker_debug_ext.errors import SMDebugCustomerError, SMDebugTypeError, SMDebugValueError, did_you_mean
from sagemaker_debug_ext.rules._validation import check_trial, copy_parameters, list_trials
from sagemaker_debug_ext.rules.action import ActionHandler, Actions
from sagemaker_debug_ext.rules.base import Rule
from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.factory.loading import load_rule_class, load_rule_file
from sagemaker_debug_ext.rules.factory.reference import RuleReference
from sagemaker_debug_ext.rules.isolation import IsolatedRule, Isolation, check_json

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

OFFERED: Final = ("action_str", "other_trials", "clock")
"""Arguments that are passed to any class that takes them."""

_NEEDS_PROFILE: Final = (
    "evaluates profiler data, with sagemaker-debug profile show or create_profiler_rule of "
    "sagemaker_debug_ext.profiler.rules, not a trial"
)


def create_rule(
    rule_name: str,
    base_trial: Trial,
    parameters: Mapping[str, Any] | None = None,
    other_trials: Sequence[Trial] | None = (),
    clock: Callable[[], float] = time.time,
    *,
    action_handlers: Mapping[str, ActionHandler] | None = None,
    isolation: Isolation | None = None,
) -> Rule:
    """Make a rule of the catalog.

    Args:
        rule_name: Its name, such as ``VanishingGradient``.
        base_trial: The trial to check.
        parameters: Its parameters, typed or as text; also ``action_json``, and the paths ``other_trial_0``, ….
        other_trials: Further trials; when not given, those that the parameters name are opened.
        clock: Tells the time in seconds, for rules that watch it.
        action_handlers: What carries out actions, by name; see `rules.action.Actions`.
        isolation: Run the rule in a process of its own, with these limits; in this process when not given. `clock` is
            this process's then.

    Raises:
        SMDebugValueError: No such rule, or none that runs here; an unknown parameter; a value that is not allowed.
        SMDebugTypeError: An argument, or the value of a parameter, is of a type that it cannot have.
        InsufficientInformationForRuleInvocation: The parameters do not say what to look at.

    Example:
        >>> rule = create_rule("LossNotDecreasing", trial, {"num_steps": "20"})
        >>> invoke_rule(rule)
    """
    if not isinstance(rule_name, str):
        raise SMDebugTypeError(f"rule_name must be the name of a rule of the catalog (got {rule_name!r})")
    rule_class = find_rule_class(rule_name)
    reference = RuleReference(rule=rule_name, parameters=copy_parameters(parameters))
    if isolation is not None:
        return _isolate(reference, base_trial, other_trials, isolation, action_handlers)
    own = reference.own_parameters
    if not issubclass(rule_class, BuiltinRule):  # built-in rules parse their parameters themselves
        own = get_rule_spec(rule_name).parse_parameters(reference.parameters)
    return _make(rule_class, reference, own, base_trial, other_trials, clock, action_handlers)


def find_rule_class(rule_name: str, source: str | Path | None = None) -> type[Rule]:
    """Return the class of a rule of the catalog, or of a rule in a Python file.

    Raises:
        SMDebugValueError: No such rule, or none that runs here; no such file or class.
        SMDebugTypeError: The class is no rule.
        SMDebugCustomerError: The file cannot be run.
    """
    if source is not None:
        return load_rule_file(source, rule_name)
    spec = get_rule_spec(rule_name)
    if spec.rule_class is None:
        names = [spec.name for spec in list_rule_specs() if spec.rule_class]
        reason = _NEEDS_PROFILE if spec.kind == "profiler" else "runs in SageMaker only"
        raise SMDebugValueError(f"rule {rule_name!r} {reason}; rules over trials are {', '.join(names)}")
    return load_rule_class(spec.rule_class)


def create_custom_rule(
    source: str | Path,
    rule_to_invoke: str,
    base_trial: Trial,
    parameters: Mapping[str, Any] | None = None,
    other_trials: Sequence[Trial] | None = (),
    clock: Callable[[], float] = time.time,
    *,
    action_handlers: Mapping[str, ActionHandler] | None = None,
    isolation: Isolation | None = None,
    smdebug_alias: bool = False,
) -> Rule:
    """Make a rule from a class in a Python file.

    Args:
        source: The file.
        rule_to_invoke: Name of the class, a subclass of `Rule`.
        base_trial: The trial to check.
        parameters: Arguments of the class, passed as they are: a request holds text only, which the class has to turn
            into what it needs. Also ``action_json``, and the paths ``other_trial_0``, ….
        other_trials: Further trials; when not given, those that the parameters name are opened.
        clock: Passed to the class if it has an argument of that name.
        action_handlers: What carries out actions, by name; see `rules.action.Actions`.
        isolation: Run the rule in a process of its own, with these limits, as is wise with code that is not yours; in
            this process when not given.
        smdebug_alias: Let the file import this package as ``smdebug``.

    Raises:
        SMDebugValueError: No such file or class, an unknown parameter, or one that is missing.
        SMDebugTypeError: The class is no rule, or an argument is of a type that it cannot have.
        SMDebugCustomerError: The file cannot be run, or the class does not call the constructor of `Rule`.
    """
    if not isinstance(source, (str, os.PathLike)):
        raise SMDebugTypeError(f"source must be the path of a Python file (got {source!r})")
    if not isinstance(rule_to_invoke, str):
        raise SMDebugTypeError(f"rule_to_invoke must be the name of a class in source (got {rule_to_invoke!r})")
    path = str(Path(source).expanduser().absolute())
    reference = RuleReference(rule=rule_to_invoke, parameters=copy_parameters(parameters), source=path)
    if isolation is not None:
        return _isolate(reference, base_trial, other_trials, isolation, action_handlers, smdebug_alias=smdebug_alias)
    with _alias() if smdebug_alias else contextlib.nullcontext():
        rule_class = load_rule_file(source, rule_to_invoke)
    return _make(rule_class, reference, reference.own_parameters, base_trial, other_trials, clock, action_handlers)


def make_rule(reference: RuleReference, base_trial: Trial) -> Rule:
    """Make the rule of a reference over a trial, in this process."""
    if reference.source is None:
        return create_rule(reference.rule, base_trial, reference.parameters)
    return create_custom_rule(reference.source, reference.rule, base_trial, reference.parameters)


def _make(
    rule_class: type[Rule],
    reference: RuleReference,
    own_parameters: Mapping[str, Any],
    base_trial: Trial,
    other_trials: Sequence[Trial] | None,
    clock: Callable[[], float],
    action_handlers: Mapping[str, ActionHandler] | None,
) -> Rule:
    """Make the rule, then give it its actions, because constructors of custom rules seldom pass them on."""
    check_trial(base_trial, "base_trial")  # here, because a custom class may not pass it to the constructor of Rule
    trials = list_trials(other_trials) or [_open_trial(path) for path in reference.other_trial_paths]
    rule = rule_class(base_trial, **_arguments(rule_class, own_parameters, trials, clock))
    if not hasattr(rule, "rule_name"):
        raise SMDebugCustomerError(f"the constructor of {rule_class.__name__} must call super().__init__(base_trial)")
    rule.give_actions(Actions(reference.actions, rule.rule_name, handlers=action_handlers))
    return rule


def _isolate(
    reference: RuleReference,
    base_trial: Trial,
    other_trials: Sequence[Trial] | None,
    isolation: Isolation,
    action_handlers: Mapping[str, ActionHandler] | None,
    *,
    smdebug_alias: bool = False,
) -> Rule:
    """Make the rule in a process of its own; its actions stay in this process."""
    if not isinstance(isolation, Isolation):
        raise SMDebugTypeError(f"isolation must be an Isolation, such as Isolation() (got {isolation!r})")
    check_trial(base_trial, "base_trial")
    paths = {f"other_trial_{number}": trial.path for number, trial in enumerate(list_trials(other_trials))}
    parameters = {**reference.without_actions().parameters, **paths}
    sent = attrs.evolve(reference, parameters=check_json(parameters, reference.rule))
    rule = IsolatedRule(base_trial, sent, isolation, smdebug_alias=smdebug_alias)
    rule.give_actions(Actions(reference.actions, rule.rule_name, handlers=action_handlers))
    return rule


def _alias() -> contextlib.AbstractContextManager[None]:
    from sagemaker_debug_ext.compat import smdebug_alias  # noqa: PLC0415 - few files need it

    return smdebug_alias()


def _open_trial(path: Any) -> Trial:
    from sagemaker_debug_ext.trials import create_trial  # noqa: PLC0415 - few rules read other trials

    return create_trial(path, wait_seconds=0)


def _arguments(
    rule_class: type[Rule], own: Mapping[str, Any], other_trials: Sequence[Trial], clock: Callable[[], float]
) -> dict[str, Any]:
    """Return the keyword arguments of the rule's class, after the trial.

    Raises:
        SMDebugValueError: The class takes no argument of that name, or needs one that is not there.
    """
    declared = list(inspect.signature(rule_class).parameters.values())[1:]
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in declared)
    names = [
        parameter.name
        for parameter in declared
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    ]
    for name in own:
        if name not in names and not takes_any:
            known = ", ".join(name for name in names if name not in OFFERED) or "none"
            hint = did_you_mean(name, names)
            raise SMDebugValueError(f"parameters of {rule_class.__name__}: {known} (got {name!r}){hint}")
    if other_trials and "other_trials" not in names:
        paths = [trial.path for trial in other_trials]
        raise SMDebugValueError(f"rule {rule_class.__name__} takes no other_trials (got {paths!r})")
    offered = {"action_str": "", "other_trials": other_trials or None, "clock": clock}
    arguments = {**{name: value for name, value in offered.items() if name in names}, **own}
    missing = [
        parameter.name for parameter in declared if parameter.name in names and parameter.default is parameter.empty
    ]
    missing = [name for name in missing if name not in arguments]
    if missing:
        raise SMDebugValueError(f"rule {rule_class.__name__} needs the parameters {', '.join(missing)}")
    return arguments
