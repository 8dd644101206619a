"""Accessors for the latest job, and updates of it, which estimators of SDK v2 and trainers of SDK v3 share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.requests.explain import JobExplanation
from sagemaker_debug_ext.requests.from_sdk import rules_from_sdk
from sagemaker_debug_ext.requests.outputs import ArtifactPaths, artifact_paths
from sagemaker_debug_ext.requests.training_job import DEBUGGER_MEMBERS, TAG
from sagemaker_debug_ext.requests.updates import profiler_off_request, profiler_on_request, profiler_update_request
from sagemaker_debug_ext.sdk._settings import DebuggerSettings, JobDescription, build_members
from sagemaker_debug_ext.sdk._uploads import SessionBucket, SourceUploads
from sagemaker_debug_ext.sdk.jobs import RuleStatuses, TrainingJob
from sagemaker_debug_ext.sdk.self_managed import debugger_members, to_self_managed, upload_spec, with_environment

if TYPE_CHECKING:
    from sagemaker_debug_ext.config.self_managed import SelfManaged
    from sagemaker_debug_ext.trials.trial import Trial


class JobAccessors:
    """Accessors for the latest job. Estimators and trainers inherit them through their mixins.

    Paths are those of the request as it was sent. For a job that this object did not send, such as one that it was
    attached to, they are read from the job's description.
    """

    if TYPE_CHECKING:  # provided by mixins and the SDK; trainers would turn annotations into fields
        sagemaker_session: Any

        def _latest_job_name(self) -> str | None:
            """Return the name of the latest job; None before the first one."""

        def _debugger_settings(self) -> DebuggerSettings:
            """Return the user's settings."""

        def _debugger_facts(self) -> JobDescription:
            """Return the known properties of the next job."""

    def _effective_settings(self, facts: JobDescription) -> DebuggerSettings:  # noqa: ARG002  # for mixins with defaults
        """Return the user's settings, with the defaults of the estimator or trainer."""
        return self._debugger_settings()

    def _remember_request(self, job_name: str | None, output_path: Any, members: Mapping[str, Any]) -> None:
        """Keep the sent members of a job, so that accessors need no request."""
        request = {"TrainingJobName": job_name, "OutputDataConfig": {"S3OutputPath": output_path}, **members}
        # Create a new dictionary, because copies of this object share the old one.
        self._debugger_requests = {**self._known_requests(), job_name: request}

    def _known_requests(self) -> dict[str | None, dict[str, Any]]:
        return getattr(self, "_debugger_requests", None) or {}

    def _required_job_name(self) -> str:
        name = self._latest_job_name()
        if name is None:
            raise SMDebugValueError(f"this {type(self).__name__} is not associated with a training job yet")
        return name

    def _latest_request(self) -> dict[str, Any]:
        name = self._required_job_name()
        requests = self._known_requests()
        if name in requests:
            return requests[name]
        if None in requests:
            raise SMDebugValueError("a pipeline names its jobs when it runs: ask TrainingJob.describe(name) for paths")
        return self.latest_job().description

    def latest_job(self) -> TrainingJob:
        """Return the latest job, with its paths, rule statuses and trial.

        Raises:
            SMDebugValueError: There is no job yet.
        """
        return TrainingJob.describe(self._required_job_name(), self.sagemaker_session)

    def latest_job_artifact_paths(self) -> ArtifactPaths:
        """Return the artifact paths of the latest job.

        Raises:
            SMDebugValueError: There is no job yet, or it is a pipeline's.
            SMDebugTypeError: A path is a pipeline variable.
        """
        return artifact_paths(self._latest_request())

    def latest_job_debugger_artifacts_path(self) -> str | None:
        """Return the S3 path of the latest job's tensors; None if it saves none."""
        return self.latest_job_artifact_paths().debugger

    def latest_job_tensorboard_artifacts_path(self) -> str | None:
        """Return the S3 path of the latest job's TensorBoard data; None if there are none."""
        return self.latest_job_artifact_paths().tensorboard

    def latest_job_profiler_artifacts_path(self) -> str | None:
        """Return the S3 path of the latest job's profiler metrics; None if its profiler is off."""
        return self.latest_job_artifact_paths().profiler

    def rule_output_path(self, rule: Any) -> str | None:
        """Return the S3 path of the reports of a rule of the latest job.

        Args:
            rule: The rule, or its name within the job.

        Raises:
            SMDebugValueError: There is no job yet, or it has no such rule.
        """
        return TrainingJob({"TrainingJobStatus": "", **self._latest_request()}).rule_output_path(rule)

    def latest_job_rules(self) -> RuleStatuses:
        """Return the statuses of the latest job's rules."""
        return self.latest_job().rules

    def rule_job_summary(self) -> list[dict[str, Any]]:
        """Return the statuses of the latest job's rules in the service's form, rules on tensors first."""
        description = self.latest_job().description
        return [
            *description.get("DebugRuleEvaluationStatuses", ()),
            *description.get("ProfilerRuleEvaluationStatuses", ()),
        ]

    def latest_job_trial(self, **arguments: Any) -> Trial:
        """Open the trial of the latest job.

        Args:
            **arguments: Additional arguments of `sagemaker_debug_ext.create_trial`.

        Raises:
            SMDebugValueError: There is no job yet, or it saves no tensors.
        """
        return TrainingJob({"TrainingJobStatus": "", **self._latest_request()}).trial(**arguments)

    def explain_debugger(self) -> JobExplanation:
        """Explain what the rules of the next job will see; see `sagemaker_debug_ext.requests.explain`."""
        return self._debugger_settings().explain(self._debugger_facts(), self._self_managed_options())

    def preview_debugger_artifact_paths(self, job_name: str | None = None) -> ArtifactPaths:
        """Return the artifact paths of the next job.

        Args:
            job_name: Name of the job; without it, the paths hold the placeholder ``{job_name}``.

        Raises:
            SMDebugTypeError: A path is a pipeline variable.
        """
        bucket = SessionBucket(self.sagemaker_session)
        facts = self._debugger_facts()
        # Actions hold the job's name, for which the placeholder is not valid.
        facts = attrs.evolve(facts, job_name=job_name or "job", output_path=facts.output_path or bucket.uri(""))
        settings = self._effective_settings(facts)
        uploads = SourceUploads.plan(settings.rules, bucket)
        members = build_members(settings, facts, uploads.uris)
        return artifact_paths(
            {
                "TrainingJobName": job_name or "{job_name}",
                "OutputDataConfig": {"S3OutputPath": facts.output_path},
                **members,
            }
        )

    def _submit_members(self, facts: JobDescription) -> dict[str, Any]:
        """Return the members of a job that is about to be sent, and upload the code of its rules."""
        settings = self._effective_settings(facts)
        rules = () if facts.is_local or facts.is_tuning else settings.rules
        uploads = SourceUploads.plan(rules, SessionBucket(self.sagemaker_session))
        members = build_members(settings, facts, uploads.send())
        self._remember_request(facts.job_name, facts.output_path, members)
        return members

    def _self_managed_options(self) -> SelfManaged | None:
        """Return how the next job is watched without the service; None if the service watches it."""
        return to_self_managed(getattr(self, "self_managed", None))

    def _submit_environment(
        self,
        options: SelfManaged,
        facts: JobDescription,
        environment: Mapping[str, Any] | None,
        add_channel: Callable[[dict[str, Any]], object] | None = None,
        set_checkpoints: Callable[[dict[str, Any]], object] | None = None,
    ) -> dict[str, Any]:
        """Return the environment of a self-managed job that is about to be sent, and upload the code of its rules.

        Args:
            options: How the job is watched.
            facts: What is known of the job.
            environment: The user's environment.
            add_channel: Takes the input channel of settings that are too large for the environment, after its upload;
                None refuses them.
            set_checkpoints: Takes the ``CheckpointConfig`` of a job that needs one and has none; None refuses the job.
        """
        if facts.is_tuning and options.tag:
            raise SMDebugValueError(
                "SelfManaged.tag must be False for jobs of a tuner, which have the tags of the tuner: give it the tag "
                f"{TAG['Key']}={TAG['Value']}"
            )
        settings = self._debugger_settings()
        known = {
            "TrainingJobName": facts.job_name,
            "CheckpointConfig": facts.checkpoint_config,
            "EnableNetworkIsolation": facts.is_isolated or None,
            "ResourceConfig": {"InstanceCount": facts.num_instances},
        }
        uploads = SourceUploads.plan(settings.rules, SessionBucket(self.sagemaker_session))
        request = with_environment(
            {
                "OutputDataConfig": {"S3OutputPath": facts.output_path},
                "Environment": environment or {},
                **{name: value for name, value in known.items() if value is not None},
            },
            attrs.evolve(settings, debugger_hook_config=settings.hook),
            options,
            uploads.send(),
            is_tuning=facts.is_tuning,
            upload=None if add_channel is None else self._upload_spec,
        )
        if facts.checkpoint_config is None and "CheckpointConfig" in request:
            if set_checkpoints is None:
                raise SMDebugValueError(
                    "checkpoint_config must be given for these jobs, which ship tensors through the folder of their "
                    "checkpoints (ship='checkpoint', or network isolation)"
                )
            set_checkpoints(request["CheckpointConfig"])
        if add_channel is not None:
            for channel in request.get("InputDataConfig", ()):
                add_channel(channel)
        if options.watch_options.starts_job:
            self._start_watcher_jobs()
        self._remember_request(facts.job_name, facts.output_path, debugger_members(request))
        return dict(request["Environment"])

    def _start_watcher_jobs(self) -> None:
        """Make the clients that will create the training job also start the processing job of its watcher."""
        from sagemaker_debug_ext.sdk._watcher_jobs import start_watcher_jobs  # noqa: PLC0415 - loads botocore

        def client_factory(client: Any) -> Callable[[str], Any]:
            return lambda _: client

        for client in self._submitting_clients():
            start_watcher_jobs(client.meta.events, client_factory(client))

    def _submitting_clients(self) -> list[Any]:
        """Return the clients that may create the training job."""
        return [self.sagemaker_session.sagemaker_client]

    def _upload_spec(self, location: str, content: bytes) -> None:
        upload_spec(location, content, self.sagemaker_session.boto_session.client("s3"))

    # The profiler of a running job.

    def update_profiler(
        self,
        rules: Any = None,
        system_monitor_interval_millis: int | None = None,
        s3_output_path: str | None = None,
        framework_profile_params: Any = None,
        disable_framework_metrics: bool = False,
    ) -> None:
        """Change the settings of the running job's profiler, or switch it on.

        Args:
            rules: Profiler rules to add.
            system_monitor_interval_millis: Milliseconds between system metrics.
            s3_output_path: S3 location for the metrics; it cannot be changed once the profiler has been on.
            framework_profile_params: Framework metrics, for old containers only.
            disable_framework_metrics: Stop collecting framework metrics.

        Raises:
            SMDebugValueError: There is no job yet, no change is requested, or a value is not allowed.
            SMDebugTypeError: An argument has the wrong type, or a rule is a rule on tensors.
            RequestValidationError: A rule cannot be built.
        """
        job_name = self._required_job_name()
        chosen = rules_from_sdk(rules)
        uploads = SourceUploads.plan(chosen, SessionBucket(self.sagemaker_session))
        request = profiler_update_request(
            job_name=job_name,
            region=self._debugger_facts().region,
            rules=chosen,  # type: ignore[arg-type]  # refused there if they are not profiler rules
            system_monitor_interval_millis=system_monitor_interval_millis,
            s3_output_path=s3_output_path,
            framework_profile_params=framework_profile_params,
            disable_framework_metrics=disable_framework_metrics,
            rule_image_account=self._debugger_settings().rule_image_account,
            source_uris=uploads.send(),
        )
        self._update_job(request)

    def disable_profiling(self) -> None:
        """Switch off the profiler of the running job and its rules.

        Raises:
            SMDebugValueError: There is no job yet, or its profiler is already off.
        """
        job = self.latest_job()
        if job.description.get("ProfilingStatus") == "Disabled":
            raise SMDebugValueError(f"job {job.name!r}: Profiler is already disabled.")
        self._update_job(profiler_off_request(job.name))

    def enable_default_profiling(self) -> None:
        """Switch on the profiler of the running job, for system metrics without rules.

        Raises:
            SMDebugValueError: There is no job yet, or its profiler is already on.
        """
        job = self.latest_job()
        if job.description.get("ProfilingStatus") == "Enabled":
            raise SMDebugValueError(
                f"job {job.name!r}: Debugger monitoring is already enabled. Change it with update_profiler"
            )
        known = (job.description, self._latest_request())
        paths = [(source.get("ProfilerConfig") or {}).get("S3OutputPath") for source in known]
        output = [(source.get("OutputDataConfig") or {}).get("S3OutputPath") for source in known]
        self._update_job(profiler_on_request(job.name, next(path for path in [*paths, *output] if path)))

    def _send_update(self, request: Mapping[str, Any]) -> None:
        self.sagemaker_session.sagemaker_client.update_training_job(**request)

    def _update_job(self, request: dict[str, Any]) -> None:
        """Send an update, and remember the changed members."""
        before = self._latest_request()
        self._send_update(request)
        config = dict(request["ProfilerConfig"])
        if not config.get("DisableProfiler"):
            output_path = (before.get("OutputDataConfig") or {}).get("S3OutputPath")
            known = (before.get("ProfilerConfig") or {}).get("S3OutputPath") or output_path
            config.setdefault("S3OutputPath", known)
        rules = [*before.get("ProfilerRuleConfigurations", ()), *request.get("ProfilerRuleConfigurations", ())]
        members: dict[str, Any] = {name: before[name] for name in DEBUGGER_MEMBERS if name in before}
        members.update({"ProfilerConfig": config, **({"ProfilerRuleConfigurations": rules} if rules else {})})
        output = (before.get("OutputDataConfig") or {}).get("S3OutputPath")
        self._remember_request(request["TrainingJobName"], output, members)
