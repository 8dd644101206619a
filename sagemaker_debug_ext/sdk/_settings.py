"""Debugger settings of one job: the user's settings, combined with the properties and limitations of the job."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs

from sagemaker_debug_ext.catalog.images import framework_of_image, supports_debugger
from sagemaker_debug_ext.config._fields import Number, Text, is_pipeline_variable
from sagemaker_debug_ext.config.hook import DebuggerHookConfig
from sagemaker_debug_ext.config.outputs import TensorBoardOutputConfig
from sagemaker_debug_ext.config.rules import ProfilerRule, Rule
from sagemaker_debug_ext.errors import DebugExtWarning, SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.requests.explain import JobExplanation, explain
from sagemaker_debug_ext.requests.from_sdk import hook_from_sdk, profiler_from_sdk, rules_from_sdk, tensorboard_from_sdk
from sagemaker_debug_ext.requests.hook import resolve_hook
from sagemaker_debug_ext.requests.training_job import debugger_request

if TYPE_CHECKING:
    from sagemaker_debug_ext.config.profiler import ProfilerConfig
    from sagemaker_debug_ext.config.self_managed import SelfManaged

_LOG: Final = logging.getLogger(__name__)
_HOOK_FRAMEWORKS: Final = ("pytorch", "tensorflow", "mxnet")
_TRAINIUM: Final = re.compile(r"ml[._]trn.*")

_default_hook = True


def set_default_hook(on: bool) -> bool:
    """Set the meaning of ``debugger_hook_config=None`` in estimators, trainers and attached clients.

    Rules always add the default hook, because they need one, and so does ``True``.

    Args:
        on: True for the default hook, False for no hook.

    Returns:
        The previous setting.

    Raises:
        SMDebugTypeError: `on` is not a boolean.
    """
    global _default_hook  # the one switch of the process
    if not isinstance(on, bool):
        raise SMDebugTypeError(f"on must be True or False (got {on!r})")
    before, _default_hook = _default_hook, on
    return before


@attrs.frozen(kw_only=True)
class JobDescription:
    """The known properties of a job before it is submitted.

    Args:
        region: Region of the job.
        job_name: Name of the job; None if it is not known yet, as in a pipeline.
        output_path: S3 location for its artifacts.
        framework: ``pytorch``, ``tensorflow``, ``mxnet`` or ``xgboost``; None for others.
        framework_version: Version of the framework.
        instance_types: Types of the training instances.
        num_instances: Number of instances.
        has_checkpoints: Whether it writes checkpoints, with both an S3 location and a local folder given.
        checkpoint_config: The member ``CheckpointConfig`` of its request; None without one.
        is_distributed: Whether a distribution is configured.
        has_parameter_server: Whether the distribution is TensorFlow's parameter server.
        is_compiled: Whether Training Compiler is on.
        is_local: Whether it runs in a container on this machine, in the SDK's local mode.
        is_tuning: Whether it is a template for a hyperparameter-tuning job.
        is_isolated: Whether it has network isolation.
    """

    region: str
    job_name: str | None = None
    output_path: Text | None = None
    framework: str | None = None
    framework_version: str | None = None
    instance_types: tuple[Text, ...] = ()
    num_instances: Number | None = None
    has_checkpoints: bool = False
    checkpoint_config: Mapping[str, Any] | None = None
    is_distributed: bool = False
    has_parameter_server: bool = False
    is_compiled: bool = False
    is_local: bool = False
    is_tuning: bool = False
    is_isolated: bool = False

    @property
    def has_trainium(self) -> bool:
        """Whether it trains on Trainium."""
        return any(isinstance(kind, str) and bool(_TRAINIUM.fullmatch(kind)) for kind in self.instance_types)


def facts_of_request(request: Mapping[str, Any], region: str) -> JobDescription:
    """Read the properties of a job from its CreateTrainingJob request; Debugger's members are ignored."""
    image = (request.get("AlgorithmSpecification") or {}).get("TrainingImage")
    framework, version = framework_of_image(image) if isinstance(image, str) else (None, None)
    resources = request.get("ResourceConfig") or {}
    groups = resources.get("InstanceGroups") or [resources]
    checkpoints = request.get("CheckpointConfig") or {}
    hyperparameters = request.get("HyperParameters") or {}
    return JobDescription(
        region=region,
        job_name=request.get("TrainingJobName"),
        output_path=(request.get("OutputDataConfig") or {}).get("S3OutputPath"),
        framework=framework,
        framework_version=version,
        instance_types=tuple(group["InstanceType"] for group in groups if group.get("InstanceType") is not None),
        num_instances=total_instances(group.get("InstanceCount") for group in groups),
        has_checkpoints=bool(checkpoints.get("S3Uri") and checkpoints.get("LocalPath")),
        checkpoint_config=checkpoints or None,
        has_parameter_server=hyperparameters.get("sagemaker_parameter_server_enabled") == "true",
        is_compiled=hyperparameters.get("sagemaker_training_compiler_enabled") == "true",
        is_isolated=request.get("EnableNetworkIsolation") is True,
    )


def total_instances(counts: Iterable[Any]) -> Number | None:
    """Return the total count of instance groups; a pipeline variable if one count is, None if one is unknown."""
    total = 0
    for count in counts:
        if not isinstance(count, int):
            return count if is_pipeline_variable(count) else None
        total += count
    return total


@attrs.frozen(kw_only=True)
class DebuggerSettings:
    """The user's settings as configurations of this package. Create one with `adopt`.

    Args:
        debugger_hook_config: The hook; None if it is not configured, False for no hook.
        rules: Rules on tensors and on metrics.
        rules_given: Whether rules were given, even if the list is empty.
        tensorboard_output_config: TensorBoard data.
        profiler_config: The profiler.
        disable_profiler: True switches the profiler off, False on; None means not configured.
        allow_rules_without_hook: See `debugger_request`.
        allow_region: See `debugger_request`.
        rule_image_account: See `debugger_request`.
    """

    debugger_hook_config: DebuggerHookConfig | bool | None = None
    rules: tuple[Rule | ProfilerRule, ...] = ()
    rules_given: bool = False
    tensorboard_output_config: TensorBoardOutputConfig | None = None
    profiler_config: ProfilerConfig | None = None
    disable_profiler: bool | None = None
    allow_rules_without_hook: bool = False
    allow_region: bool = False
    rule_image_account: str | None = None

    @classmethod
    def adopt(
        cls,
        *,
        debugger_hook_config: Any = None,
        rules: Any = None,
        tensorboard_output_config: Any = None,
        profiler_config: Any = None,
        **others: Any,
    ) -> DebuggerSettings:
        """Create the settings from the user's configurations, which may be those of the SDK.

        Raises:
            SMDebugTypeError: A setting has the wrong type.
            SMDebugValueError: A setting is not allowed.
        """
        hook = hook_from_sdk(debugger_hook_config)
        resolve_hook(hook)
        return cls(
            # The SDK's estimators keep True as an empty dictionary.
            debugger_hook_config=True if hook == {} else hook,
            rules=rules_from_sdk(rules),
            rules_given=rules is not None,
            tensorboard_output_config=tensorboard_from_sdk(tensorboard_output_config),
            profiler_config=profiler_from_sdk(profiler_config),
            **others,
        )

    @property
    def debugger_rules(self) -> tuple[Rule, ...]:
        """The rules on tensors."""
        return tuple(rule for rule in self.rules if isinstance(rule, Rule))

    @property
    def profiler_rules(self) -> tuple[ProfilerRule, ...]:
        """The rules on metrics."""
        return tuple(rule for rule in self.rules if isinstance(rule, ProfilerRule))

    @property
    def hook(self) -> DebuggerHookConfig | bool:
        """The effective hook: True for the default one, False for no hook."""
        if self.debugger_hook_config is None:
            return _default_hook or bool(self.debugger_rules)
        return self.debugger_hook_config

    @property
    def asks_for_profiler(self) -> bool:
        """Whether the user's settings need the profiler."""
        collects = self.profiler_config is not None and self.profiler_config.disable_profiler is not True
        return collects or bool(self.profiler_rules)

    @property
    def is_explicit(self) -> bool:
        """Whether the user has given any setting."""
        asked = (isinstance(self.hook, DebuggerHookConfig), self.debugger_hook_config is True, self.asks_for_profiler)
        return any(asked) or bool(self.rules) or self.tensorboard_output_config is not None

    def with_default_profiler(self, facts: JobDescription) -> DebuggerSettings:
        """Return settings with the profiler on, or off where it cannot run, if it is not configured."""
        if self.profiler_config is not None or self.profiler_rules or self.disable_profiler:
            return attrs.evolve(self, disable_profiler=self.disable_profiler or None)
        known = self.allow_region or self.rule_image_account is not None or supports_debugger(facts.region)
        possible = known and not facts.has_trainium and not facts.is_compiled
        if not possible:
            _LOG.info("the profiler is off: it does not run in region %s on %r", facts.region, facts.instance_types)
        return attrs.evolve(self, disable_profiler=not possible)

    def explain(self, facts: JobDescription, self_managed: SelfManaged | None = None) -> JobExplanation:
        """Explain what the rules of a job will see; see `sagemaker_debug_ext.requests.explain`."""
        return explain(
            debugger_hook_config=self.hook,
            rules=self.rules,
            framework=facts.framework,
            framework_version=facts.framework_version,
            self_managed=self_managed,
        )


def build_members(
    settings: DebuggerSettings, facts: JobDescription, source_uris: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the validated Debugger members of a job.

    Warns about default settings that are left out because they cannot work in this job, and about rules that can never
    evaluate. Local mode runs no part of Debugger, so no member is returned for it.

    Args:
        settings: The user's settings.
        facts: The known properties of the job.
        source_uris: See `debugger_request`.

    Raises:
        SMDebugValueError: An explicit setting cannot work in this job.
        RequestValidationError: The settings conflict, or the service would reject them.
    """
    if facts.is_local or facts.is_tuning:
        _leave_out_all(settings, facts)
        return {}
    _check_profiler(settings, facts)
    settings = _without_impossible_hook(settings, facts)
    members = debugger_request(
        job_name=facts.job_name,
        region=facts.region,
        output_path=facts.output_path,
        debugger_hook_config=settings.hook,
        rules=settings.rules if settings.rules_given else None,
        tensorboard_output_config=settings.tensorboard_output_config,
        profiler_config=settings.profiler_config,
        disable_profiler=settings.disable_profiler,
        rule_image_account=settings.rule_image_account,
        source_uris=source_uris,
        allow_rules_without_hook=settings.allow_rules_without_hook,
        allow_region=settings.allow_region,
    )
    from sagemaker_debug_ext.requests.checks import check_debugger_members  # noqa: PLC0415  # loads botocore

    check_debugger_members(members, facts.region)
    _warn_of_silent_rules(settings, facts)
    return members


def _warn(text: str) -> None:
    # The message names the setting to change, because the user's line is many frames of the SDK away.
    warnings.warn(text, DebugExtWarning, stacklevel=2)


def _leave_out_all(settings: DebuggerSettings, facts: JobDescription) -> None:
    if facts.is_local:
        if settings.hook is not False or settings.is_explicit:
            _warn(
                "the SDK's local mode runs no hook and no rules: Debugger settings are left out; "
                "sagemaker_debug_ext.local.run_training_job runs a request on this machine with both"
            )
        return
    text = (
        "hyperparameter tuning jobs cannot carry Debugger settings; make a hook in the training script instead "
        "(Hook(out_dir=...)), and give the estimator debugger_hook_config=False and no rules"
    )
    if settings.is_explicit:
        raise SMDebugValueError(text)
    if settings.hook is not False:
        _warn(f"no DebugHookConfig is sent: {text}")


def _check_profiler(settings: DebuggerSettings, facts: JobDescription) -> None:
    if facts.has_trainium and settings.asks_for_profiler:
        raise SMDebugValueError(
            f"the profiler does not run on Trainium: leave out profiler_config and profiler rules "
            f"(got instances {', '.join(map(str, facts.instance_types))})"
        )


def _hook_obstacle(settings: DebuggerSettings, facts: JobDescription) -> str | None:
    """Return the reason why the hook cannot run in a job; None if it can."""
    if facts.has_parameter_server:
        return "the hook does not run with TensorFlow's parameter server"
    several = (
        facts.is_distributed or not isinstance(facts.num_instances, (int, type(None))) or (facts.num_instances or 1) > 1
    )
    if facts.has_checkpoints and several and facts.framework in _HOOK_FRAMEWORKS:
        return "the hook does not run in distributed jobs that write checkpoints (checkpoint paths are given)"
    if facts.is_compiled and settings.debugger_hook_config is None:
        return "the hook makes Training Compiler compile again and again; debugger_hook_config=True insists on it"
    return None


def _without_impossible_hook(settings: DebuggerSettings, facts: JobDescription) -> DebuggerSettings:
    obstacle = None if settings.hook is False else _hook_obstacle(settings, facts)
    if obstacle is None:
        return settings
    if not settings.debugger_rules or settings.allow_rules_without_hook:
        _warn(f"no DebugHookConfig is sent: {obstacle}")
        return attrs.evolve(settings, debugger_hook_config=False)
    names = ", ".join(str(rule.name) for rule in settings.debugger_rules)
    _warn(f"neither DebugHookConfig nor rules are sent: {obstacle}, so rules would see no data (left out: {names})")
    return attrs.evolve(settings, debugger_hook_config=False, rules=settings.profiler_rules)


def _warn_of_silent_rules(settings: DebuggerSettings, facts: JobDescription) -> None:
    if facts.is_isolated and any(rule.actions is not None for rule in settings.debugger_rules):
        _warn("actions of rules are not carried out in a job with network isolation")
    if settings.allow_rules_without_hook and settings.hook is False:
        return
    for rule in settings.explain(facts).rules:
        for problem in rule.problems:
            _warn(f"rule {rule.name!r} will never give a verdict: {problem}")
