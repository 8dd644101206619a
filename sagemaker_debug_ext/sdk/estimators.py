"""Estimators of SDK v2 that send the Debugger members of this package: `DebuggerMixin`.

The SDK prepares a job in steps that modify the objects of the user. The mixin replaces the steps for Debugger: it
computes the members of the request from the unmodified settings, and passes them to the SDK as finished dictionaries.
Later steps of the SDK, such as showing logs and rule statuses, stay unchanged.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import attrs

from sagemaker_debug_ext.catalog.images import framework_of_image
from sagemaker_debug_ext.config.rules import ProfilerRule, Rule, processing_rule
from sagemaker_debug_ext.errors import DebugExtError, DebugExtWarning, SMDebugValueError
from sagemaker_debug_ext.requests.from_sdk import settings_of_job
from sagemaker_debug_ext.requests.training_job import tags_of
from sagemaker_debug_ext.sdk._job_accessors import JobAccessors
from sagemaker_debug_ext.sdk._settings import DebuggerSettings, JobDescription, total_instances
from sagemaker_debug_ext.sdk._uploads import SessionBucket

if TYPE_CHECKING:
    from sagemaker_debug_ext.config.self_managed import SelfManaged

MANAGED_ATTRIBUTES: Final = {
    "debugger_hook_config": "DebugHookConfig",
    "tensorboard_output_config": "TensorBoardOutputConfig",
    "profiler_config": "ProfilerConfig",
}
"""Attribute of an estimator from which the SDK builds a member → the member."""

OWN_ARGUMENTS: Final = ("allow_rules_without_hook", "allow_region", "rule_image_account")
"""Arguments that the SDK's estimators do not have; see `debugger_request`."""

_SENT_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "DebugHookConfig": {"CollectionConfigurations": []},
    "ProfilerConfig": {"DisableProfiler": False},
}
"""Member → the parts with the service's default that the SDK sends, and that code around it may read."""

_LENT: Final = "_lent_settings"
_PREPARED: Final = "_debugger_prepared"
_RULES: Final = "_rules_setting"
_ENVIRONMENT: Final = "_environment_setting"
_FRAMEWORKS: Final = ("pytorch", "tensorflow", "mxnet", "xgboost")
_CHECKPOINT_FRAMEWORKS: Final = ("pytorch", "tensorflow", "mxnet")


def _fresh(value: Any) -> Any:
    """Copy dictionaries and lists only, because pipeline variables must keep their identity."""
    if isinstance(value, Mapping):
        return {key: _fresh(item) for key, item in value.items()}
    return [_fresh(item) for item in value] if isinstance(value, list) else value


def _finished(rules: Sequence[Rule | ProfilerRule], members: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return rules with the image and the parameters that are sent; none if the job has no members for them."""
    return [
        attrs.evolve(rule, image_uri=member["RuleEvaluatorImage"], rule_parameters=member.get("RuleParameters"))
        for rule, member in zip(rules, members, strict=False)
    ]


class PreparedMember:
    """A finished member of a request, used where the SDK expects a configuration.

    All other attributes are delegated to the user's setting.
    """

    def __init__(self, member: Mapping[str, Any], setting: Any) -> None:
        self._member = member
        self._setting = setting
        self.s3_output_path = member.get("S3OutputPath")
        self.collection_configs: object = None

    def _to_request_dict(self) -> Any:
        return _fresh(self._member)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._setting, name)


def _attribute(name: str, doc: str, *, ends_sending: bool = True) -> property:
    """Return a property for what the user has set, which shows the finished value while the SDK sends a job.

    Args:
        name: Name of the property.
        doc: Its docstring.
        ends_sending: Whether setting it restores what the user has set, of all properties.
    """
    key = f"_{name}_setting"

    def get(self: DebuggerMixin) -> Any:
        prepared = self.__dict__.get(_PREPARED) or {}
        return prepared.get(name, self.__dict__.get(key))

    def put(self: DebuggerMixin, value: Any) -> None:
        self.__dict__[key] = value
        if ends_sending:
            self.__dict__.pop(_PREPARED, None)

    return property(get, put, doc=doc)


def _managed(name: str) -> property:
    return _attribute(name, f"The setting that was given as ``{name}``.")


class DebuggerMixin(JobAccessors):
    """Mixin that precedes an estimator class of SDK v2 in the bases of a class; `with_debugger` creates such a class.

    Constructor arguments are those of the estimator. ``debugger_hook_config``, ``rules``, ``profiler_config``,
    ``tensorboard_output_config`` and ``disable_profiler`` accept objects of this package and of the SDK. They are not
    modified, and are available as attributes of the same names. ``debugger_hook_config=None`` means the default hook
    (see `set_default_hook`), False means no hook.

    Args:
        *args: Arguments of the estimator.
        allow_rules_without_hook: Allow rules although the hook is off.
        allow_region: Allow regions in which Debugger is not known to run.
        rule_image_account: Account with a copy of the rule evaluators.
        self_managed: Run hook and rules without the Debugger service: True, a `SelfManaged` or False; None means what
            `set_default_mode` says.
        **kwargs: Arguments of the estimator.
    """

    disable_profiler: Any
    output_path: Any
    instance_type: Any
    instance_count: Any
    debugger_rules: Any
    profiler_rules: Any
    debugger_rule_configs: Any
    profiler_rule_configs: Any
    model_uri: Any
    model_channel_name: Any
    checkpoint_s3_uri: Any
    checkpoint_local_path: Any
    tags: Any

    debugger_hook_config = _managed("debugger_hook_config")
    tensorboard_output_config = _managed("tensorboard_output_config")
    profiler_config = _managed("profiler_config")
    rules = _managed("rules")
    latest_training_job = _attribute(
        "latest_training_job", "The SDK's object for the latest job, which it sets after it has sent one; None before."
    )
    environment = _attribute(
        "environment", "The environment variables of jobs that were given as ``environment``.", ends_sending=False
    )

    def __init__(
        self,
        *args: Any,
        allow_rules_without_hook: bool = False,
        allow_region: bool = False,
        rule_image_account: str | None = None,
        self_managed: SelfManaged | bool | None = None,
        **kwargs: Any,
    ) -> None:
        self.self_managed = self_managed
        self.allow_rules_without_hook = allow_rules_without_hook
        self.allow_region = allow_region
        self.rule_image_account = rule_image_account
        # The default of the generic estimator hides the value in the user's SDK configuration file.
        kwargs.setdefault("disable_profiler", None)
        super().__init__(*args, **kwargs)

    # Replaced steps of the SDK.

    def _prepare_rules(self) -> None:
        self.__dict__.pop(_PREPARED, None)
        self._take_back()
        settings, facts = self._debugger_settings(), self._debugger_facts()
        options = self._self_managed_options()
        if options is not None and not facts.is_local:
            self._prepare_self_managed(options, facts)
            return
        if facts.output_path is None:  # the SDK has not set its default yet
            facts = attrs.evolve(facts, output_path=SessionBucket(self.sagemaker_session).uri(""))
        members = self._submit_members(facts)
        self.debugger_rule_configs = _fresh(members.get("DebugRuleConfigurations", []))
        self.profiler_rule_configs = _fresh(members.get("ProfilerRuleConfigurations", []))
        self.debugger_rules = _finished(settings.debugger_rules, self.debugger_rule_configs)
        self.profiler_rules = _finished(settings.profiler_rules or [processing_rule()], self.profiler_rule_configs)
        prepared: dict[str, Any] = {
            name: PreparedMember({**_SENT_DEFAULTS.get(member, {}), **members[member]}, getattr(self, name))
            if member in members
            else None
            for name, member in MANAGED_ATTRIBUTES.items()
        }
        if settings.rules_given:
            prepared["rules"] = [*self.debugger_rules, *self.profiler_rules]
        self.__dict__[_PREPARED] = prepared

    def _prepare_self_managed(self, options: SelfManaged, facts: JobDescription) -> None:
        """Show the SDK an environment with all settings, and no Debugger member."""
        if facts.is_tuning and not _tuner_passes_environment(self.sagemaker_session):
            raise SMDebugValueError(
                "this release of the SageMaker SDK passes no environment to tuning jobs: install a newer one, or use "
                "attach_debugger(session.boto_session, self_managed=True) with a plain estimator"
            )
        # The SDK makes a channel of a model; that of estimators without one is free.
        add_channel = self._add_channel if self.model_uri is None else None
        own = self.__dict__.get(_ENVIRONMENT)
        environment = self._submit_environment(options, facts, own, add_channel, self._set_checkpoints)
        if options.tag:
            self._lend(tags=tags_of({"Tags": self.tags}))
        self.debugger_rules, self.profiler_rules = [], []
        self.debugger_rule_configs, self.profiler_rule_configs = [], []
        self.__dict__[_PREPARED] = {**dict.fromkeys(MANAGED_ATTRIBUTES), "environment": environment}

    def _add_channel(self, channel: Mapping[str, Any]) -> None:
        source = channel["DataSource"]["S3DataSource"]
        self._lend(model_uri=source["S3Uri"], model_channel_name=channel["ChannelName"])

    def _set_checkpoints(self, config: Mapping[str, Any]) -> None:
        self._lend(checkpoint_s3_uri=config["S3Uri"], checkpoint_local_path=config["LocalPath"])

    def _lend(self, **values: Any) -> None:
        """Set attributes for one job."""
        lent = self.__dict__.setdefault(_LENT, {})
        for name, value in values.items():
            lent[name] = (value, getattr(self, name))
            setattr(self, name, value)

    def _take_back(self) -> None:
        """Undo what an earlier job needed, but for attributes that were set since then."""
        for name, (value, own) in self.__dict__.pop(_LENT, {}).items():
            if getattr(self, name) == value:
                setattr(self, name, own)

    def _prepare_debugger_for_training(self) -> None:
        """Do nothing after `_prepare_rules`, which does all preparation; call it if the caller has not."""
        if _PREPARED not in self.__dict__:
            self._prepare_rules()

    _prepare_profiler_for_training = _prepare_debugger_for_training

    def _validate_and_set_debugger_configs(self) -> None:
        """Do nothing, because `_prepare_rules` does all preparation."""

    @classmethod
    def _prepare_init_params_from_job_description(
        cls, job_details: Mapping[str, Any], *args: Any, **kwargs: Any
    ) -> dict[str, Any]:
        """Attach with the job's Debugger settings, so that another fit uses them too."""
        output = {"KmsKeyId": "", **job_details["OutputDataConfig"]}  # the SDK requires the key
        parameters: dict[str, Any] = super()._prepare_init_params_from_job_description(  # type: ignore[misc]
            {**job_details, "OutputDataConfig": output}, *args, **kwargs
        )
        try:
            settings = settings_of_job(job_details)
        except DebugExtError as error:
            warnings.warn(f"the job's Debugger settings are not taken over: {error}", DebugExtWarning, stacklevel=2)
            return parameters
        return {**parameters, **settings}

    def _send_update(self, request: Mapping[str, Any]) -> None:
        # Through the session, which may be a subclass, and applies the user's SDK configuration file.
        rules = request.get("ProfilerRuleConfigurations")
        self.sagemaker_session.update_training_job(
            request["TrainingJobName"],
            profiler_config=request["ProfilerConfig"],
            **({} if rules is None else {"profiler_rule_configs": rules}),
        )

    # Settings of the estimator.

    def _effective_settings(self, facts: JobDescription) -> DebuggerSettings:
        return self._debugger_settings().with_default_profiler(facts)

    def _latest_job_name(self) -> str | None:
        job = self.latest_training_job
        return None if job is None else str(job.name)

    def _debugger_settings(self) -> DebuggerSettings:
        return DebuggerSettings.adopt(
            **{name: self.__dict__.get(f"_{name}_setting") for name in MANAGED_ATTRIBUTES},
            rules=self.__dict__.get(_RULES),
            # Old releases of the SDK do not distinguish an explicit False from their default.
            disable_profiler=self.disable_profiler or None,
            **{
                name: getattr(self, name, default)
                for name, default in zip(OWN_ARGUMENTS, (False, False, None), strict=True)
            },
        )

    def _debugger_facts(self) -> JobDescription:
        session = self.sagemaker_session
        purpose = _purpose()
        in_pipeline = purpose == "pipeline" or any(kind.__name__ == "PipelineSession" for kind in type(session).__mro__)
        framework, version = self._framework()
        groups = getattr(self, "instance_groups", None) or []
        distribution = getattr(self, "distribution", None) or {}
        compiler = getattr(self, "compiler_config", None)
        checkpoints = getattr(self, "checkpoint_s3_uri", None) and getattr(self, "checkpoint_local_path", None)
        own_framework = getattr(self, "_framework_name", None)
        return JobDescription(
            region=session.boto_region_name,
            job_name=None if in_pipeline else getattr(self, "_current_job_name", None),
            output_path=self.output_path,
            framework=framework,
            framework_version=version,
            instance_types=tuple(group.instance_type for group in groups) or _given(self.instance_type),
            num_instances=total_instances(group.instance_count for group in groups) if groups else self.instance_count,
            has_checkpoints=bool(checkpoints) and own_framework in _CHECKPOINT_FRAMEWORKS,
            checkpoint_config=_checkpoint_config(self),
            is_distributed=bool(distribution),
            has_parameter_server=own_framework == "tensorflow" and _is_enabled(distribution, "parameter_server"),
            is_compiled=compiler is not None and bool(getattr(compiler, "enabled", True)),
            is_local=bool(getattr(session, "local_mode", False)),
            is_tuning=purpose == "tuning",
            is_isolated=_is_isolated(self),
        )

    def _framework(self) -> tuple[str | None, str | None]:
        own = getattr(self, "_framework_name", None)
        if own == "huggingface":
            versions = {name: getattr(self, f"{name}_version", None) for name in ("pytorch", "tensorflow")}
            return next(((name, version) for name, version in versions.items() if version), (None, None))
        if own is not None:
            return own, _text(getattr(self, "framework_version", None))
        image = getattr(self, "image_uri", None)
        return framework_of_image(image) if isinstance(image, str) else (None, None)


def _given(value: Any) -> tuple[Any, ...]:
    return () if value is None else (value,)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _is_enabled(distribution: Any, kind: str) -> bool:
    entry = distribution.get(kind) if isinstance(distribution, Mapping) else None
    return isinstance(entry, Mapping) and entry.get("enabled", False) is True


def _is_isolated(estimator: Any) -> bool:
    isolated = estimator.enable_network_isolation()
    return isolated is True


def _checkpoint_config(estimator: Any) -> dict[str, Any] | None:
    location = getattr(estimator, "checkpoint_s3_uri", None)
    folder = getattr(estimator, "checkpoint_local_path", None)
    return {"S3Uri": location, **({} if folder is None else {"LocalPath": folder})} if location else None


def _tuner_passes_environment(session: Any) -> bool:
    return "environment" in inspect.signature(session._map_training_config).parameters  # noqa: SLF001  # the tuner's


def _purpose() -> str:
    """Return the purpose for which the SDK prepares an estimator: ``training``, ``tuning`` or ``pipeline``.

    The calls are the same for all three, so the purpose is read from the callers on the stack.
    """
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  # there is no public way that is not slow
    while frame is not None:
        module = frame.f_globals.get("__name__")
        if module == "sagemaker.tuner":
            return "tuning"
        if module == "sagemaker.workflow.steps":
            return "tuning" if hasattr(frame.f_locals.get("self"), "tuner") else "pipeline"
        frame = frame.f_back
    return "training"


def has_debugger_settings(estimator: Any) -> bool:
    """Return whether a plain estimator holds a setting of this package, which the SDK itself cannot read."""
    return any(is_ours(getattr(estimator, name, None)) for name in (*MANAGED_ATTRIBUTES, "rules"))


def is_ours(setting: Any) -> bool:
    """Return whether a setting, or one in a list of settings, is a configuration of this package."""
    settings = setting if isinstance(setting, (list, tuple)) else [setting]
    return any(type(item).__module__.startswith("sagemaker_debug_ext.") for item in settings)


def convert_estimator(estimator: Any, kind: type[Any]) -> None:
    """Change the class of a plain estimator to one with the mixin, and keep its settings.

    Args:
        estimator: The estimator.
        kind: The subclass of its class with the mixin.
    """
    names = (*MANAGED_ATTRIBUTES, "rules", "latest_training_job")
    settings = {name: estimator.__dict__.pop(name, None) for name in names}
    estimator.__class__ = kind
    for name, value in settings.items():
        setattr(estimator, name, value)
