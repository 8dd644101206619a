"""How a self-managed job ships what it writes: through a folder of the container that somebody copies to S3.

A job with network isolation reaches no service. It ships through the folder of its checkpoints, and its watcher in the
container does nothing but ask the script to stop.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from sagemaker_debug_ext.config.actions import load_entries
from sagemaker_debug_ext.config.job_spec import CONTAINER_BASE, SHIP_FOLDER, JobSpec
from sagemaker_debug_ext.config.self_managed import SelfManaged
from sagemaker_debug_ext.requests._problems import Problems

OUTPUT_FOLDER: Final = f"{CONTAINER_BASE}/output/data/{SHIP_FOLDER}"
"""Where a job writes what SageMaker packs into ``output.tar.gz``."""

CHECKPOINT_FOLDER: Final = f"{CONTAINER_BASE}/checkpoints"
"""The ``LocalPath`` of checkpoints unless a request names another."""

_COPIES: Final = "_checkpointed"
_MESSAGES: Final = ("email", "sms", "webhook")
"""Names of the actions that reach somebody outside the container."""


def options_for(request: Mapping[str, Any], options: SelfManaged) -> SelfManaged:
    """Return the options of a job, adapted if it has network isolation.

    Raises:
        RequestValidationError: The options ask for something that a job with network isolation cannot do.
    """
    if request.get("EnableNetworkIsolation") is not True:
        return options
    shipped = attrs.evolve(options, ship="checkpoint" if options.ship == "s3" else options.ship)
    if options.place != "container":
        return shipped
    problems = Problems()
    asked = {"stop='events'": options.stop == "events", "metrics=True": options.metrics}
    for setting in (name for name, is_asked in asked.items() if is_asked):
        problems.add(
            "EnableNetworkIsolation",
            f"must be False with SelfManaged({setting}), because the watcher in the container reaches no service; "
            "place='processing' evaluates the rules outside",
        )
    problems.raise_if_any()
    stop = "cooperative" if options.stop == "direct" else options.stop
    return attrs.evolve(shipped, stop=stop, events=False)


def with_folder(spec: JobSpec, request: Mapping[str, Any]) -> JobSpec:
    """Return a spec that names the folder of the container that is written to.

    Raises:
        RequestValidationError: It is missing, or a watcher in the container cannot load its rules, carry out their
            actions, or see all workers.
    """
    problems = Problems()
    if spec.ship == "folder" and not str(spec.hook.get("LocalPath", "")).startswith("/"):
        problems.add(
            "DebugHookConfig.LocalPath",
            "must be the absolute path of the shared folder with ship='folder': give the hook a "
            f"container_local_output_path (got {spec.hook.get('LocalPath')!r})",
        )
    if request.get("EnableNetworkIsolation") is True and spec.watch.place == "container":
        for rule in spec.rules:
            if source := rule.get("RuleParameters", {}).get("source_s3_uri"):
                problems.add(
                    f"DebugRuleConfigurations[{rule['RuleConfigurationName']!r}]",
                    "must be a built-in rule in a job with network isolation, whose watcher cannot load the file "
                    f"{source!r}; place='processing' evaluates the rules outside",
                )
            if names := _messages_of(rule):
                problems.add(
                    f"DebugRuleConfigurations[{rule['RuleConfigurationName']!r}]",
                    "must have no action that sends messages in a job with network isolation, whose watcher reaches no "
                    f"service (got {', '.join(names)}); place='processing' evaluates the rules outside",
                )
    has_rules = bool(spec.rules or spec.profiler_rules)
    instances = _num_instances(request.get("ResourceConfig") or {})
    if spec.ship == "checkpoint" and spec.watch.place == "container" and has_rules and instances > 1:
        problems.add(
            "ResourceConfig.InstanceCount",
            "must be 1 for rules in the container of a job that ships its checkpoints, because the watcher sees the "
            f"folder of its own instance only (got {instances}); place='processing' evaluates the rules outside",
        )
    problems.raise_if_any()
    if spec.ship == "checkpoint":
        local = (request.get("CheckpointConfig") or {}).get("LocalPath") or CHECKPOINT_FOLDER
        return spec.moved_to(f"{local.rstrip('/')}/{SHIP_FOLDER}")
    return spec.moved_to(OUTPUT_FOLDER) if spec.ship == "end" else spec


def _messages_of(rule: Mapping[str, Any]) -> list[str]:
    """Return the names of the actions of a rule that send messages."""
    text = rule.get("RuleParameters", {}).get("action_json")
    names = [str(entry.get("name", "")).lower() for entry in (load_entries(text) if text else ())]
    return [name for name in names if name in _MESSAGES]


def _num_instances(resources: Mapping[str, Any]) -> int:
    """Return the number of instances of a job; 0 for one that only a pipeline knows."""
    groups = resources.get("InstanceGroups") or [resources]
    return sum(count for group in groups if isinstance(count := group.get("InstanceCount"), int))


def added_checkpoints(spec: JobSpec, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the ``CheckpointConfig`` that a request needs, and does not have; None if it needs none.

    The location holds the name of the job where the request knows it, because SageMaker copies what is there into the
    container first, and the trials of earlier jobs are not needed.
    """
    if spec.ship != "checkpoint" or request.get("CheckpointConfig"):
        return None
    parts = [str(spec.hook["S3OutputPath"]).rstrip("/"), _COPIES]
    name = request.get("TrainingJobName")
    return {"S3Uri": "/".join([*parts, name] if isinstance(name, str) else parts), "LocalPath": CHECKPOINT_FOLDER}
