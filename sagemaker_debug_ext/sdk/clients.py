"""Debugger for plain boto3: `debugger_request` for own requests, `attach_debugger` for requests of other tools.

This covers everything that sends jobs through boto3: the estimators of SDK v2, the trainers of SDK v3, tuners and
third-party tools.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from sagemaker_debug_ext.errors import SMDebugTypeError
from sagemaker_debug_ext.requests.training_job import DEBUGGER_MEMBERS, debugger_request, tags_of
from sagemaker_debug_ext.sdk._payloads import change_batch_job, change_pipeline
from sagemaker_debug_ext.sdk._settings import DebuggerSettings, build_members, facts_of_request
from sagemaker_debug_ext.sdk._uploads import upload_rule_sources
from sagemaker_debug_ext.sdk.self_managed import to_self_managed, upload_spec, with_environment

if TYPE_CHECKING:
    from sagemaker_debug_ext.config.self_managed import SelfManaged

__all__ = ["AttachedDebugger", "attach_debugger", "debugger_request", "upload_rule_sources"]

_EVENT: Final = "provide-client-params.sagemaker.CreateTrainingJob"
_TUNING_EVENT: Final = "provide-client-params.sagemaker.CreateHyperParameterTuningJob"
_BATCH_EVENT: Final = "provide-client-params.batch.SubmitServiceJob"
_PIPELINE_EVENTS: Final = (
    "provide-client-params.sagemaker.CreatePipeline",
    "provide-client-params.sagemaker.UpdatePipeline",
)
_LOG: Final = logging.getLogger(__name__)


class AttachedDebugger:
    """Adds Debugger members to requests of a client until `detach` is called or its ``with`` block ends.

    Args:
        events: The event emitter that it is registered with.
        settings: The settings to add.
        replace: Whether to replace the Debugger members of requests that have them.
        source_uris: Uploaded files with rule code.
        self_managed: How jobs are watched without the service; None adds the members for the service.
        client_factory: Returns a client of SageMaker for a region, which starts the processing jobs of watchers; None
            starts none.
    """

    def __init__(
        self,
        events: Any,
        settings: DebuggerSettings,
        replace: bool,
        source_uris: Mapping[str, str] | None,
        self_managed: SelfManaged | None = None,
        client_factory: Callable[[str], Any] | None = None,
    ) -> None:
        self._events = events
        self._settings = settings
        self._replace = replace
        self._source_uris = source_uris
        self._self_managed = self_managed
        self._client_factory = client_factory
        self._is_attached = True
        self._handlers: dict[str, Callable[..., dict[str, Any] | None]] = {_EVENT: self._add_members}
        if self_managed is not None:
            self._handlers = {
                _EVENT: self._add_environment,
                _TUNING_EVENT: self._add_environments,
                _BATCH_EVENT: self._change_batch_job,
                **dict.fromkeys(_PIPELINE_EVENTS, self._change_pipeline),
            }
        for event, handler in self._handlers.items():
            events.register(event, handler)
        if self._client_factory is not None:
            from sagemaker_debug_ext.sdk._watcher_jobs import start_watcher_jobs  # noqa: PLC0415 - loads botocore

            start_watcher_jobs(events, self._client_factory)

    @property
    def is_attached(self) -> bool:
        """Whether members are still added."""
        return self._is_attached

    def detach(self) -> None:
        """Stop adding members, also for clients created while it was attached to a session."""
        if self._is_attached:
            self._is_attached = False
            for event, handler in self._handlers.items():
                self._events.unregister(event, handler)
            if self._client_factory is not None:
                from sagemaker_debug_ext.sdk._watcher_jobs import stop_watcher_jobs  # noqa: PLC0415 - loads botocore

                stop_watcher_jobs(self._events)

    def _add_members(self, params: Mapping[str, Any], context: Mapping[str, Any], **_: Any) -> dict[str, Any] | None:
        if not self._is_attached:
            return None
        kept = self._without_members(params)
        if kept is None:
            return None
        facts = facts_of_request(kept, context["client_region"])
        return {**kept, **build_members(self._settings, facts, self._source_uris)}

    def _without_members(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a request without Debugger members; None if it keeps its own."""
        present = [name for name in DEBUGGER_MEMBERS if name in params]
        if present and not self._replace:
            _LOG.debug("job %r keeps its own %s", params.get("TrainingJobName"), ", ".join(present))
            return None
        return {name: value for name, value in params.items() if name not in present}

    def _add_environment(self, params: Mapping[str, Any], **_: Any) -> dict[str, Any] | None:
        """Add the settings of a self-managed job to its environment."""
        kept = self._without_members(params) if self._is_attached else None
        return None if kept is None else self._with_environment(kept)

    def _add_environments(self, params: Mapping[str, Any], **_: Any) -> dict[str, Any] | None:
        """Add the settings to every definition of the jobs of a tuning job."""
        if not self._is_attached:
            return None
        changed: dict[str, Any] = dict(params)
        if self._self_managed is not None and self._self_managed.tag:
            changed["Tags"] = tags_of(params)  # SageMaker gives its jobs the tags of a tuning job
        if "TrainingJobDefinition" in params:
            changed["TrainingJobDefinition"] = self._with_environment(params["TrainingJobDefinition"], is_tuning=True)
        if "TrainingJobDefinitions" in params:
            changed["TrainingJobDefinitions"] = [
                self._with_environment(definition, is_tuning=True) for definition in params["TrainingJobDefinitions"]
            ]
        return changed

    def _change_batch_job(self, params: Mapping[str, Any], **_: Any) -> dict[str, Any] | None:
        """Add the settings to the training job in the payload of a Batch job."""
        return change_batch_job(params, self._add_environment) if self._is_attached else None

    def _change_pipeline(self, params: Mapping[str, Any], **_: Any) -> dict[str, Any] | None:
        """Add the settings to the training and tuning steps of a pipeline."""
        return change_pipeline(params, self._add_environment, self._add_environments) if self._is_attached else None

    def _with_environment(self, request: Mapping[str, Any], is_tuning: bool = False) -> dict[str, Any]:
        return with_environment(
            request, self._settings, self._self_managed or True, self._source_uris, is_tuning, upload_spec
        )

    def __enter__(self) -> AttachedDebugger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.detach()


def attach_debugger(
    client_or_session: Any,
    *,
    debugger_hook_config: Any = None,
    rules: Any = None,
    tensorboard_output_config: Any = None,
    profiler_config: Any = None,
    disable_profiler: bool | None = None,
    replace: bool = False,
    source_uris: Mapping[str, str] | None = None,
    allow_rules_without_hook: bool = False,
    allow_region: bool = False,
    rule_image_account: str | None = None,
    self_managed: SelfManaged | bool | None = None,
) -> AttachedDebugger:
    """Add Debugger members to every CreateTrainingJob request of a client, so that other tools need no change.

    Region, job name and output path are those of the request. Requests with Debugger members are not changed.

    With `self_managed`, environment variables are added instead, also to the jobs of tuning jobs, pipelines and AWS
    Batch. Such jobs need no part of the Debugger service. Settings that are too large for environment variables are
    uploaded as an input channel, with the credentials of this environment.

    Example:
        >>> client = boto3.client("sagemaker")  # doctest: +SKIP
        >>> with attach_debugger(client, rules=[Rule.sagemaker(rule_configs.overfit())]):  # doctest: +SKIP
        ...     tool.train(client)

    Args:
        client_or_session: A boto3 client for SageMaker; or a session of boto3 or botocore, for clients that are created
            from it afterwards.
        debugger_hook_config: See `debugger_request`; None means the default hook (see `set_default_hook`).
        rules: See `debugger_request`.
        tensorboard_output_config: See `debugger_request`.
        profiler_config: See `debugger_request`.
        disable_profiler: See `debugger_request`.
        replace: Replace the Debugger members of requests that have them.
        source_uris: Uploaded files with the code of custom rules; see `upload_rule_sources`.
        allow_rules_without_hook: See `debugger_request`.
        allow_region: See `debugger_request`.
        rule_image_account: See `debugger_request`.
        self_managed: Run hook and rules without the service: True, a `SelfManaged`, False; None means what
            `set_default_mode` says. Estimators of SDK v2 send Debugger members of their own, so use it with
            ``replace=True``.

    Returns:
        A handle that detaches it, also at the end of a ``with`` block.

    Raises:
        SMDebugTypeError: An argument has the wrong type.
        SMDebugValueError: A setting is not allowed.
    """
    settings = DebuggerSettings.adopt(
        debugger_hook_config=debugger_hook_config,
        rules=rules,
        tensorboard_output_config=tensorboard_output_config,
        profiler_config=profiler_config,
        disable_profiler=disable_profiler,
        allow_rules_without_hook=allow_rules_without_hook,
        allow_region=allow_region,
        rule_image_account=rule_image_account,
    )
    options = to_self_managed(self_managed)
    starts_watchers = options is not None and options.watch_options.starts_job
    client_factory = _client_factory(client_or_session) if starts_watchers else None
    return AttachedDebugger(_events(client_or_session), settings, replace, source_uris, options, client_factory)


def _client_factory(client_or_session: Any) -> Callable[[str], Any]:
    """Return a function that returns a client of SageMaker for a region: the client itself, or one of the session."""
    if hasattr(client_or_session, "create_processing_job"):
        return lambda _: client_or_session
    create = getattr(client_or_session, "client", None) or client_or_session.create_client
    return lambda region: create("sagemaker", region_name=region)


def _events(client_or_session: Any) -> Any:
    """Return the event emitter of a client, of a boto3 session or of a botocore session."""
    meta = getattr(client_or_session, "meta", None)
    for candidate in (getattr(meta, "events", None), getattr(client_or_session, "events", None), client_or_session):
        if hasattr(candidate, "register") and hasattr(candidate, "unregister"):
            return candidate
    raise SMDebugTypeError(
        f"client_or_session must be a boto3 client, or a session of boto3 or botocore (got {client_or_session!r})"
    )
