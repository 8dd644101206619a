"""Requirements of the service, the rule evaluator and the hook that the service's model does not contain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sagemaker_debug_ext.catalog.images import BUILTIN_REPOSITORY, parse_image_uri
from sagemaker_debug_ext.catalog.registry import get_rule_spec
from sagemaker_debug_ext.config.actions import parse_actions
from sagemaker_debug_ext.config.collection_config import CollectionConfig
from sagemaker_debug_ext.config.hook import DebuggerHookConfig
from sagemaker_debug_ext.config.outputs import TensorBoardOutputConfig
from sagemaker_debug_ext.config.profiler import SYSTEM_MONITOR_INTERVALS_MILLIS
from sagemaker_debug_ext.requests._problems import Problems
from sagemaker_debug_ext.requests.rules import check_image_region

_RULE_MEMBERS = {"DebugRuleConfigurations": "debugger", "ProfilerRuleConfigurations": "profiler"}


def service_problems(request: Mapping[str, Any], region: str | None) -> tuple[str, ...]:
    """Return the problems of a request, each with its path. Members with a wrong shape are skipped.

    Args:
        request: The request.
        region: Region of the job, if known.
    """
    problems = Problems()
    with problems.below("DebugHookConfig"):
        _check_hook(_mapping(request.get("DebugHookConfig")))
    for member, kind in _RULE_MEMBERS.items():
        with problems.below(member):
            _check_rules(_mappings(request.get(member)), kind, region)
    with problems.below("TensorBoardOutputConfig.LocalPath"):
        path = _mapping(request.get("TensorBoardOutputConfig")).get("LocalPath")
        TensorBoardOutputConfig(container_local_output_path=path)
    _check_profiler(request, problems)
    return problems.lines


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [_mapping(item) for item in value] if isinstance(value, (list, tuple)) else []


def _repeated(items: Sequence[Mapping[str, Any]], key: str) -> Iterator[tuple[int, str]]:
    """Yield the index and name of each item whose name is already used by an earlier one."""
    count: Counter[str] = Counter()
    for index, item in enumerate(items):
        name = item.get(key)
        if isinstance(name, str):
            count[name] += 1
            if count[name] > 1:
                yield index, name


def _check_hook(hook: Mapping[str, Any]) -> None:
    problems = Problems()
    with problems.below("HookParameters"):
        DebuggerHookConfig(hook_parameters=_mapping(hook.get("HookParameters")))
    collections = _mappings(hook.get("CollectionConfigurations"))
    for index, collection in enumerate(collections):
        with problems.below(f"CollectionConfigurations[{index}].CollectionParameters"):
            CollectionConfig(
                collection.get("CollectionName") or "unnamed", _mapping(collection.get("CollectionParameters"))
            )
    for index, name in _repeated(collections, "CollectionName"):
        problems.add(f"CollectionConfigurations[{index}].CollectionName", f"names must be unique (got {name!r} again)")
    problems.raise_if_any()


def _check_rules(rules: Sequence[Mapping[str, Any]], kind: str, region: str | None) -> None:
    problems = Problems()
    images = [
        parse_image_uri(uri) if isinstance(uri := rule.get("RuleEvaluatorImage"), str) else None for rule in rules
    ]
    home = region or next((image.region for image in images if image), None)
    for index, (rule, image) in enumerate(zip(rules, images, strict=True)):
        path = f"[{index}]"
        built_in = image is not None and image.repository == BUILTIN_REPOSITORY
        parameters = _mapping(rule.get("RuleParameters"))
        if image is not None:
            with problems.below(f"{path}.RuleEvaluatorImage"):
                check_image_region(rule["RuleEvaluatorImage"], home)
        with problems.below(f"{path}.RuleParameters.action_json"):
            if isinstance(parameters.get("action_json"), str):
                parse_actions(parameters["action_json"])
        if built_in:
            _check_built_in(path, rule, parameters, kind, problems)
    for index, name in _repeated(rules, "RuleConfigurationName"):
        problems.add(f"[{index}].RuleConfigurationName", f"names must be unique (got {name!r} again)")
    problems.raise_if_any()


def _check_built_in(
    path: str, rule: Mapping[str, Any], parameters: Mapping[str, Any], kind: str, problems: Problems
) -> None:
    for member in ("InstanceType", "VolumeSizeInGB"):
        if member in rule:
            problems.add(f"{path}.{member}", f"must be left out for a built-in rule (got {rule[member]!r})")
    invoked = parameters.get("rule_to_invoke")
    if invoked is None:
        problems.add(f"{path}.RuleParameters.rule_to_invoke", "must name the built-in rule")
    elif isinstance(invoked, str):
        with problems.below(f"{path}.RuleParameters"):
            spec = get_rule_spec(invoked)
            if spec.kind != kind:
                problems.add(
                    f"{path}.RuleParameters.rule_to_invoke", f"{invoked} is a {spec.kind} rule, not a {kind} rule"
                )
            spec.check_parameters(parameters, strict=False)


def _check_profiler(request: Mapping[str, Any], problems: Problems) -> None:
    config = _mapping(request.get("ProfilerConfig"))
    interval = config.get("ProfilingIntervalInMilliseconds")
    if isinstance(interval, int) and interval not in SYSTEM_MONITOR_INTERVALS_MILLIS:
        allowed = ", ".join(map(str, SYSTEM_MONITOR_INTERVALS_MILLIS))
        problems.add("ProfilerConfig.ProfilingIntervalInMilliseconds", f"must be one of {allowed} (got {interval!r})")
    if config.get("DisableProfiler") is not True:
        return
    for member in config:
        if member != "DisableProfiler":
            problems.add(f"ProfilerConfig.{member}", "must be left out with DisableProfiler")
    if request.get("ProfilerRuleConfigurations"):
        problems.add("ProfilerRuleConfigurations", "must be left out with ProfilerConfig.DisableProfiler")
