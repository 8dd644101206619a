"""Explanation, before a job is submitted, of which collections its rules will see, how often, and what is missing.

The explanation uses no data. Whether a pattern matches tensor names is known for built-in collections only; for other
collections a match is assumed, and the feed is marked as uncertain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from sagemaker_debug_ext.catalog.collection_needs import (
    ANY_REDUCTION,
    EVERYTHING,
    RuleFeed,
    example_tensor_names,
    get_rule_feed,
)
from sagemaker_debug_ext.catalog.registry import (
    FRAMEWORKS,
    builtin_collection_patterns,
    default_collections,
    get_rule_spec,
    rule_names,
)
from sagemaker_debug_ext.catalog.specs import RuleSpec, other_trials
from sagemaker_debug_ext.config.actions import ActionList, StopTraining
from sagemaker_debug_ext.config.collection_config import CollectionConfig
from sagemaker_debug_ext.config.hook import DebuggerHookConfig
from sagemaker_debug_ext.config.rules import ProfilerRule, Rule
from sagemaker_debug_ext.config.saving import DEFAULT_SAVE_INTERVAL, SAVE_KEYS
from sagemaker_debug_ext.errors import InvalidCollectionConfiguration
from sagemaker_debug_ext.requests.from_sdk import hook_from_sdk, rules_from_sdk
from sagemaker_debug_ext.requests.hook import merge_collections, resolve_hook
from sagemaker_debug_ext.vocabulary import BUILTIN_COLLECTIONS, SCALAR_COLLECTIONS

if TYPE_CHECKING:
    from sagemaker_debug_ext.config.self_managed import SelfManaged

_TRUE: Final = ("True", "true")
_XGBOOST_SAVE_INTERVAL: Final = 10
_WATCHERS: Final = {
    "container": ("the training container", "the job's role"),
    "here": ("`sagemaker-debug self-managed watch`, which you call,", "your own role"),
    "processing": ("a processing job", "its role, rule_role_arn"),
    "pod": ("a container beside that of training", "the role of the pod"),
    "actor": ("an actor of Ray", "the role of the cluster"),
}
"""The watcher of each place, and whose rights it has."""

_METRICS_END: Final = {"pytorch": (2, 0), "tensorflow": (2, 11)}
"""First version of a framework for which the service no longer collects framework metrics."""


@attrs.frozen(kw_only=True)
class Feed:
    """A collection that a rule inspects.

    Args:
        collection: Name of the collection.
        saved: Description of the steps at which its tensors are saved.
        is_certain: Whether the rule certainly finds tensors in it; False if that depends on a pattern of the user.
    """

    collection: str
    saved: str
    is_certain: bool = True


@attrs.frozen(kw_only=True)
class RuleExplanation:
    """The tensors that one rule will see.

    Args:
        name: Name of the rule within the job.
        rule: Class name of the rule; None for a rule with its own image.
        feeds: The saved collections that the rule inspects.
        problems: Reasons why the rule can never evaluate, each with a remedy; empty if it can.
        notes: What else to know.
    """

    name: str
    rule: str | None
    feeds: tuple[Feed, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def can_evaluate(self) -> bool:
        """Whether the rule can evaluate."""
        return not self.problems


@attrs.frozen(kw_only=True)
class JobExplanation:
    """The tensors that the rules of a job will see.

    Args:
        rules: One entry for each rule, in order.
        saved: The saved collections, with the steps at which they are saved.
        notes: Notes on the configuration as a whole.
    """

    rules: tuple[RuleExplanation, ...]
    saved: tuple[Feed, ...]
    notes: tuple[str, ...] = ()

    @property
    def can_all_evaluate(self) -> bool:
        """Whether every rule can evaluate."""
        return all(rule.can_evaluate for rule in self.rules)

    def to_json(self) -> str:
        """Return the explanation as a JSON object; its keys are the fields."""
        return json.dumps(attrs.asdict(self))

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield "saved: " + (", ".join(f"{feed.collection} ({feed.saved})" for feed in self.saved) or "nothing")
        for note in self.notes:
            yield f"  note: {note}"
        for rule in self.rules:
            verdict = "can evaluate" if rule.can_evaluate else "will never evaluate"
            yield f"{rule.name}: {verdict}"
            for feed in rule.feeds:
                yield f"  sees {feed.collection}{'' if feed.is_certain else ' if names match'}: {feed.saved}"
            yield from (f"  problem: {problem}" for problem in rule.problems)
            yield from (f"  note: {note}" for note in rule.notes)


def explain(
    debugger_hook_config: Any = None,
    rules: Any = None,
    framework: str | None = None,
    framework_version: str | None = None,
    self_managed: SelfManaged | None = None,
) -> JobExplanation:
    """Explain which tensors the rules of a job will see.

    Example:
        >>> from sagemaker_debug_ext import Rule, rule_configs
        >>> print(explain(rules=[Rule.sagemaker(rule_configs.vanishing_gradient())], framework="pytorch"))
        saved: gradients (every 500 steps), losses (every 500 steps)
        VanishingGradient: can evaluate
          sees gradients: every 500 steps

    Args:
        debugger_hook_config: See `debugger_request`.
        rules: See `debugger_request`.
        framework: ``pytorch``, ``tensorflow``, ``mxnet`` or ``xgboost``; None if it is not known. For other frameworks,
            whose hooks scripts must create themselves, nothing more is known.
        framework_version: Its version, such as ``2.1.0``.
        self_managed: How the job is watched without the service; None if the service watches it.

    Raises:
        SMDebugTypeError: A setting has the wrong type.
        RequestValidationError: Collections contradict each other.
    """
    hook = resolve_hook(hook_from_sdk(debugger_hook_config))
    chosen = rules_from_sdk(rules)
    known = framework.lower() if framework is not None and framework.lower() in FRAMEWORKS else None
    saving = _Saving.of(hook, [rule for rule in chosen if isinstance(rule, Rule)], known)
    return JobExplanation(
        rules=tuple(
            _explain_rule(rule, saving)
            if isinstance(rule, Rule)
            else _explain_profiler_rule(rule, known, framework_version)
            for rule in chosen
        ),
        saved=tuple(saving.feed(name) for name in saving.names),
        notes=(*saving.notes(), *_watching_notes(self_managed, chosen)),
    )


@attrs.frozen(kw_only=True)
class _Saving:
    """The saved collections and their configuration."""

    has_hook: bool
    framework: str | None
    hook_parameters: Mapping[str, Any]
    configured: Mapping[str, CollectionConfig]
    names: tuple[str, ...]

    @classmethod
    def of(cls, hook: DebuggerHookConfig | None, rules: Sequence[Rule], framework: str | None) -> _Saving:
        if hook is None:
            return cls(has_hook=False, framework=framework, hook_parameters={}, configured={}, names=())
        merged = merge_collections(hook, rules)
        configured = {item.name: item for item in merged if isinstance(item.name, str)}
        default = default_collections(framework) if framework else ("losses",)
        everything = ("all",) if hook.hook_parameters.get("save_all") in _TRUE else ()
        own = ("default",) if "include_regex" in hook.hook_parameters else ()
        names = tuple(dict.fromkeys([*configured, *default, *everything, *own]))
        return cls(
            has_hook=True,
            framework=framework,
            hook_parameters=hook.hook_parameters,
            configured=configured,
            names=names,
        )

    def parameters(self, name: str) -> Mapping[str, Any]:
        """Return the parameters of a collection, including the hook's settings."""
        own = self.configured[name].parameters if name in self.configured else {}
        return {**self.hook_parameters, **own}

    def feed(self, name: str, is_certain: bool = True) -> Feed:
        return Feed(
            collection=name, saved=_saved_in_words(self.parameters(name), self.framework), is_certain=is_certain
        )

    def has(self, collection: str) -> bool:
        """Return whether the tensors of a collection are saved, under its name or as part of ``all``."""
        return collection in self.names or "all" in self.names

    def is_reduced(self, name: str) -> tuple[str, ...] | None:
        """Return the reductions saved instead of a collection's tensors; None if the tensors are saved."""
        parameters = self.parameters(name)
        text = parameters.get("reductions")
        if name in SCALAR_COLLECTIONS or not isinstance(text, str) or parameters.get("save_raw_tensor") in _TRUE:
            return None
        return tuple(item.strip() for item in text.split(","))

    def matching(self, pattern: str) -> Iterator[Feed]:
        """Yield the saved collections in which a pattern matches, or may match, tensors."""
        for name in self.names:
            own = self.parameters(name).get("include_regex") if name in self.configured or name == "default" else None
            examples = example_tensor_names(name)
            if name == "all" or own == pattern or any(re.search(pattern, example) for example in examples):
                yield self.feed(name)
            elif own is not None or name not in BUILTIN_COLLECTIONS:
                yield self.feed(name, is_certain=False)

    def notes(self) -> Iterator[str]:
        for name, config in self.configured.items():
            if name not in BUILTIN_COLLECTIONS and "include_regex" not in config.parameters:
                yield f"{InvalidCollectionConfiguration(name)}, unless the script adds tensors to it"
        if "all" in self.configured and any(
            "save_" in key or "_step" in key for key in self.configured["all"].parameters
        ):
            yield "save settings of collection 'all' do not apply to other collections; for these use hook_parameters"


def _watching_notes(options: SelfManaged | None, rules: Sequence[Rule | ProfilerRule]) -> Iterator[str]:
    """Yield where the rules of a self-managed job are evaluated, and what that takes."""
    if options is None or not rules:
        return
    watcher, role = _WATCHERS[options.place]
    requests = "" if options.ship == "folder" else ", with two requests to S3 each time"
    yield f"rules run in {watcher}, which looks for steps {round(3_600 / options.poll_seconds)} times an hour{requests}"
    if any(_stops(rule) for rule in rules if isinstance(rule, Rule)):
        needs = f"StopTraining needs sagemaker:StopTrainingJob for {role}"
        yield needs if options.stop == "direct" else f"with stop={options.stop!r}, no right to stop jobs is needed"


def _stops(rule: Rule) -> bool:
    """Return whether a rule stops its job."""
    actions = rule.actions.actions if isinstance(rule.actions, ActionList) else (rule.actions,)
    return any(isinstance(action, StopTraining) for action in actions)


def _saved_in_words(parameters: Mapping[str, Any], framework: str | None) -> str:
    default = _XGBOOST_SAVE_INTERVAL if framework == "xgboost" else DEFAULT_SAVE_INTERVAL
    interval = parameters.get("save_interval", default)
    words = [f"every {interval} steps" if isinstance(interval, (str, int)) else "as the pipeline says"]
    for key, value in parameters.items():
        mode, _, setting = key.rpartition(".")
        if setting in SAVE_KEYS and (mode or setting != "save_interval"):
            words.append(f"{key} {value if isinstance(value, str) else '(pipeline)'}")
    return ", ".join(words)


def _explain_rule(rule: Rule, saving: _Saving) -> RuleExplanation:
    invoked = rule.rule_to_invoke
    name = str(rule.name) if isinstance(rule.name, str) else "(pipeline)"
    if not saving.has_hook:
        problem = "the job has no hook, so nothing is saved; leave out debugger_hook_config=False, or the rule"
        return RuleExplanation(name=name, rule=_text(invoked), problems=(problem,))
    if not isinstance(invoked, str) or not rule.built_in or invoked not in rule_names():
        wanted = [str(item.name) for item in rule.collection_configs if isinstance(item.name, str)]
        note = "only the code of a custom rule knows which tensors it inspects"
        return RuleExplanation(name=name, rule=_text(invoked), feeds=tuple(map(saving.feed, wanted)), notes=(note,))
    spec = get_rule_spec(invoked)
    feed = get_rule_feed(invoked)
    if feed is None:
        return RuleExplanation(name=name, rule=invoked, notes=("only its package knows which tensors it inspects",))
    return _RuleExplainer(spec=spec, feed=feed, rule=rule, saving=saving).explain(name)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


@attrs.frozen(kw_only=True)
class _RuleExplainer:
    """Compares the tensors that one built-in rule inspects with the saved ones."""

    spec: RuleSpec
    feed: RuleFeed
    rule: Rule
    saving: _Saving

    def explain(self, name: str) -> RuleExplanation:
        feeds, problems = self._feeds()
        problems = [*self._framework_problems(), *self._parameter_problems(), *problems]
        notes = [self.feed.note] if self.feed.note else []
        notes += [f"without {name!r} it evaluates less" for name in self.feed.also if not self.saving.has(name)]
        if not problems and not feeds:
            problems.append("none of the tensors that it inspects are saved")
        if not problems and all(self._is_useless(feed.collection) for feed in feeds):
            problems.append(
                "only reductions are saved of the tensors that it inspects; add save_raw_tensor, or the reduction "
                f"{' or '.join(self.feed.reductions) or '(none serves this rule)'}"
            )
        unique = {item.collection: item for item in feeds}
        return RuleExplanation(
            name=name,
            rule=self.spec.name,
            feeds=tuple(unique.values()),
            problems=tuple(dict.fromkeys(problems)),
            notes=tuple(notes),
        )

    def _value(self, parameter: str) -> Any:
        """Return a parameter's typed value; a pipeline variable unchanged."""
        value = self.rule.rule_parameters.get(parameter)
        if value is not None and not isinstance(value, str):
            return value
        spec = self.spec.parameter(parameter)
        return spec.default if value is None else spec.parse(value, self.spec.name)

    def _is_useless(self, collection: str) -> bool:
        reductions = self.saving.is_reduced(collection)
        if reductions is None or ANY_REDUCTION in self.feed.reductions:
            return False
        return not set(reductions) & set(self.feed.reductions)

    def _framework_problems(self) -> Iterator[str]:
        framework = self.saving.framework
        if framework is not None and framework not in self.spec.frameworks:
            yield f"it watches jobs of {', '.join(self.spec.frameworks)}, not of {framework}; leave it out"
            return
        foreign = self.feed.default_patterns_of
        if foreign and framework is not None and framework not in foreign:
            for parameter in self.feed.pattern_parameters:
                if parameter not in self.rule.rule_parameters:
                    yield (
                        f"its default {parameter} names tensors of {', '.join(foreign)}; set {parameter}, and "
                        "collections_to_save with the same pattern as include_regex"
                    )

    def _parameter_problems(self) -> Iterator[str]:
        if self.feed.needs_other_trial and not other_trials(self.rule.rule_parameters):
            yield "it compares with another trial; give other_trials_s3_input_paths"
        one_of = self.feed.needs_one_of
        if one_of and all(self._value(parameter) is None for parameter in one_of):
            yield f"it has no limit to compare with; set {' or '.join(one_of)}"

    def _feeds(self) -> tuple[list[Feed], list[str]]:
        """Return the feeds of the rule, and the problems of missing ones."""
        sources = [self._of_collection(name) for name in self._fixed_collections()]
        sources += [self._of_parameter(parameter) for parameter in self._given_parameters()]
        if not sources:
            return self._otherwise()
        feeds = [feed for found, _ in sources for feed in found]
        missing = [problem for found, problem in sources if not found]
        # One source is enough, unless the rule compares them with each other.
        problems = missing if self.feed.needs_all or not feeds else []
        feeds += [self.saving.feed(name) for name in self.feed.also if self.saving.has(name)]
        return feeds, problems

    def _fixed_collections(self) -> Iterator[str]:
        yield from self.feed.collections
        yield from (name for switch, name in self.feed.switched.items() if self._value(switch) is not False)

    def _given_parameters(self) -> Iterator[str]:
        for parameter in (*self.feed.collection_parameters, *self.feed.pattern_parameters):
            if self._value(parameter) not in (None, ()):
                yield parameter

    def _otherwise(self) -> tuple[list[Feed], list[str]]:
        if self.feed.otherwise == EVERYTHING:
            return [self.saving.feed(name) for name in self.saving.names], []
        if self.feed.otherwise is not None:
            feeds, problem = self._of_collection(self.feed.otherwise)
            return feeds, [] if feeds else [problem]
        parameters = (*self.feed.collection_parameters, *self.feed.pattern_parameters)
        return [], [f"it does not know which tensors to inspect; set {' or '.join(parameters)}"]

    def _of_collection(self, name: str) -> tuple[list[Feed], str]:
        if self.saving.has(name):
            return [self.saving.feed(name)], ""
        framework = self.saving.framework
        if framework is not None and name in BUILTIN_COLLECTIONS and name not in builtin_collection_patterns(framework):
            return [], f"hooks of {framework} have no collection {name!r}"
        return [], f"collection {name!r} is not saved; add CollectionConfig({name!r}) to collections_to_save"

    def _of_parameter(self, parameter: str) -> tuple[list[Feed], str]:
        value = self._value(parameter)
        if not isinstance(value, (str, tuple)):
            # A pipeline variable: its value is known only when the pipeline runs.
            return [self.saving.feed(name, is_certain=False) for name in self.saving.names], "nothing is saved"
        words = (value,) if isinstance(value, str) else value
        if parameter in self.feed.collection_parameters:
            found = [self._of_collection(str(word)) for word in words]
            return [feed for feeds, _ in found for feed in feeds], next((text for _, text in found if text), "")
        feeds = [feed for word in words for feed in self.saving.matching(str(word))]
        joined = ",".join(map(str, words))
        return feeds, (
            f"no saved collection has tensors called {joined!r} ({parameter}); add a CollectionConfig with "
            f"include_regex {joined!r} to collections_to_save"
        )


def _explain_profiler_rule(rule: ProfilerRule, framework: str | None, version: str | None) -> RuleExplanation:
    name = str(rule.name) if isinstance(rule.name, str) else "(pipeline)"
    invoked = _text(rule.rule_to_invoke)
    explanation = RuleExplanation(name=name, rule=invoked)
    if not rule.built_in or invoked not in rule_names() or not get_rule_spec(str(invoked)).needs_framework_metrics:
        return explanation
    end = _METRICS_END.get(framework or "")
    number = re.match(r"(\d+)\.(\d+)", version or "")
    if end is not None and number is not None and (int(number[1]), int(number[2])) >= end:
        limit = ".".join(map(str, end))
        problem = f"it reads framework metrics, which the service does not collect for {framework} {limit} and later"
        return attrs.evolve(explanation, problems=(f"{problem}; leave it out",))
    return attrs.evolve(explanation, notes=("it reads framework metrics, which only old containers collect",))
