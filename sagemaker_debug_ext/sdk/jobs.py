"""Access to any training job by its name: artifact paths, rule statuses and trial."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, overload

import attrs

from sagemaker_debug_ext._printable import html_table
from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError, did_you_mean
from sagemaker_debug_ext.requests.from_sdk import settings_of_job
from sagemaker_debug_ext.requests.outputs import ArtifactPaths, artifact_paths
from sagemaker_debug_ext.sdk.self_managed import (
    description_of_state,
    spec_of_job,
    spec_of_state,
    with_rule_statuses,
)

if TYPE_CHECKING:
    from sagemaker_debug_ext._json import JSONObject
    from sagemaker_debug_ext.trials.trial import Trial

_FINAL_STATUSES: Final = frozenset({"Completed", "Failed", "Stopped"})

FINAL_RULE_STATUSES: Final = ("NoIssuesFound", "IssuesFound", "Error", "Stopped")
"""Final statuses of a rule."""

Describe: TypeAlias = "Callable[[], Mapping[str, Any]]"
"""Function that returns the current DescribeTrainingJob response of one job."""

_STATUS_MEMBERS: Final = {
    "debugger": ("DebugRuleConfigurations", "DebugRuleEvaluationStatuses"),
    "profiler": ("ProfilerRuleConfigurations", "ProfilerRuleEvaluationStatuses"),
}
_COLUMNS: Final = ("rule", "kind", "status", "since", "details")


@attrs.frozen(kw_only=True)
class RuleStatus:
    """The status of one rule of a job.

    Args:
        name: Name of the rule within the job.
        kind: ``debugger`` for rules on tensors, ``profiler`` for rules on metrics.
        status: ``InProgress``, ``NoIssuesFound``, ``IssuesFound``, ``Error``, ``Stopping`` or ``Stopped``; None until
            the service reports a status.
        details: Message of the rule, such as the step at which it fired.
        since: Time of the last change of the status, in ISO 8601 form.
        evaluation_job_arn: The job that evaluates the rule.
        output_path: S3 path of the rule's reports.
    """

    name: str
    kind: str
    status: str | None = None
    details: str | None = None
    since: str | None = None
    evaluation_job_arn: str | None = None
    output_path: str | None = None

    @property
    def is_final(self) -> bool:
        """Whether the status is final."""
        return self.status in FINAL_RULE_STATUSES


@attrs.frozen(repr=False)
class RuleStatuses(Sequence[RuleStatus]):
    """The statuses of the rules of a job: a table that is shown as text, in a notebook or as JSON.

    Index it by position or name. Rules on tensors come first; each kind is in the order of the request.
    """

    statuses: tuple[RuleStatus, ...]

    @overload
    def __getitem__(self, key: int | str) -> RuleStatus: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[RuleStatus]: ...
    def __getitem__(self, key: int | str | slice) -> RuleStatus | Sequence[RuleStatus]:
        if not isinstance(key, str):
            return self.statuses[key]
        for status in self.statuses:
            if status.name == key:
                return status
        names = [status.name for status in self.statuses]
        known = ", ".join(names) or "(the job has no rules)"
        raise SMDebugValueError(f"rule must be one of {known} (got {key!r}){did_you_mean(key, names)}")

    def __len__(self) -> int:
        return len(self.statuses)

    def __iter__(self) -> Iterator[RuleStatus]:
        return iter(self.statuses)

    @property
    def are_final(self) -> bool:
        """Whether all statuses are final."""
        return all(status.is_final for status in self.statuses)

    @property
    def issues(self) -> tuple[RuleStatus, ...]:
        """The rules that fired."""
        return tuple(status for status in self.statuses if status.status == "IssuesFound")

    def to_json(self) -> str:
        """Return a JSON array with an object for each rule; its keys are the fields of `RuleStatus`."""
        return json.dumps([attrs.asdict(status) for status in self.statuses])

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (status.name, status.kind, status.status or "-", status.since or "-", status.details or "")
            for status in self.statuses
        ]

    def __repr__(self) -> str:
        if not self.statuses:
            return "no rules"
        rows = [_COLUMNS, *self._rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        )

    def _repr_html_(self) -> str:
        return html_table(self._rows(), _COLUMNS)


def rule_statuses(description: Mapping[str, Any]) -> RuleStatuses:
    """Read the statuses of all rules from a DescribeTrainingJob response.

    Statuses are matched with rules by name, because the service returns them later and in no fixed order.
    """
    outputs = artifact_paths(description).rules
    statuses = []
    for kind, (rules_member, statuses_member) in _STATUS_MEMBERS.items():
        known = {item["RuleConfigurationName"]: item for item in description.get(statuses_member) or ()}
        names = [rule["RuleConfigurationName"] for rule in description.get(rules_member) or ()]
        for name in dict.fromkeys([*names, *known]):
            status = known.get(name, {})
            since = status.get("LastModifiedTime")
            statuses.append(
                RuleStatus(
                    name=name,
                    kind=kind,
                    status=status.get("RuleEvaluationStatus"),
                    details=status.get("StatusDetails"),
                    since=since.isoformat() if hasattr(since, "isoformat") else since,
                    evaluation_job_arn=status.get("RuleEvaluationJobArn"),
                    output_path=outputs.get(name),
                )
            )
    return RuleStatuses(tuple(statuses))


def sagemaker_client(session: Any = None) -> Any:
    """Return a boto3 client for SageMaker.

    Args:
        session: A session of the SageMaker SDK, a boto3 session, a boto3 client for SageMaker, or None for boto3's
            default session.

    Raises:
        SMDebugTypeError: `session` has another type.
    """
    if session is None:
        import boto3  # noqa: PLC0415  # heavy, and needed by those only who give no session

        return boto3.client("sagemaker")
    if hasattr(session, "sagemaker_client"):
        return session.sagemaker_client
    if hasattr(session, "describe_training_job"):
        return session
    if hasattr(session, "client"):
        return session.client("sagemaker")
    raise SMDebugTypeError(
        f"session must be a session of the SageMaker SDK or of boto3, or a boto3 client (got {session!r})"
    )


def _describer(job: Any, session: Any) -> Describe:
    if not isinstance(job, str) and callable(getattr(job, "describe", None)):
        describe: Describe = job.describe
        return describe
    name = job if isinstance(job, str) else getattr(job, "training_job_name", None)
    if not isinstance(name, str):
        raise SMDebugTypeError(f"job must be the name of a training job, or an object that is one (got {job!r})")
    if "/" in name:
        return lambda: description_of_state(name)
    client = sagemaker_client(session)

    def describe_by_name() -> Mapping[str, Any]:
        answer: Mapping[str, Any] = client.describe_training_job(TrainingJobName=name)
        return answer

    return describe_by_name


class TrainingJob:
    """The Debugger view of a DescribeTrainingJob response. Create one with `describe`.

    Args:
        description: The DescribeTrainingJob response.
        describe: Function that requests a newer response; None if there is none.
        folder: The folder of a self-managed job that SageMaker does not describe; None for others.
    """

    def __init__(
        self, description: Mapping[str, Any], describe: Describe | None = None, folder: str | None = None
    ) -> None:
        self._description = dict(description)
        self._describe = describe
        self._folder = folder

    @classmethod
    def describe(cls, job: Any, session: Any = None) -> TrainingJob:
        """Describe a job, on the service or self-managed.

        Example:
            >>> TrainingJob.describe("digits-1").artifact_paths.debugger  # doctest: +SKIP
            's3://my-bucket/output/digits-1/debug-output'

        Args:
            job: Name of the job; or the folder of a self-managed job, ``s3://bucket/prefix/job-name`` or local, for
                jobs that SageMaker does not describe; or an object that can describe the job, such as
                ``estimator.latest_training_job`` and the jobs of `sagemaker_debug_ext.local`; or a ``TrainingJob`` of
                SDK v3.
            session: See `sagemaker_client`; not needed for an object that can describe the job.

        Raises:
            SMDebugTypeError: An argument has the wrong type.
        """
        describe = _describer(job, session)

        def describe_all() -> Mapping[str, Any]:
            return with_rule_statuses(describe())

        return cls(describe_all(), describe_all, job if isinstance(job, str) and "/" in job else None)

    @property
    def name(self) -> str:
        """Name of the job."""
        return str(self._description["TrainingJobName"])

    @property
    def status(self) -> str:
        """``InProgress``, ``Completed``, ``Failed``, ``Stopping`` or ``Stopped``."""
        return str(self._description["TrainingJobStatus"])

    @property
    def description(self) -> dict[str, Any]:
        """The response from which the job was read."""
        return dict(self._description)

    @property
    def artifact_paths(self) -> ArtifactPaths:
        """The artifact paths of the job; None for artifacts that it does not have."""
        return artifact_paths(self._description)

    @property
    def rules(self) -> RuleStatuses:
        """The statuses of the rules."""
        return rule_statuses(self._description)

    @property
    def settings(self) -> dict[str, Any]:
        """The job's Debugger settings as arguments for another job; see `settings_of_job`."""
        return settings_of_job(self._description)

    def rule_output_path(self, rule: Any) -> str | None:
        """Return the S3 path of a rule's reports.

        Args:
            rule: The rule, or its name within the job.

        Raises:
            SMDebugValueError: The job has no such rule.
        """
        return self.rules[rule if isinstance(rule, str) else str(rule.name)].output_path

    def refresh(self) -> TrainingJob:
        """Return a new object with the current state of the job."""
        return TrainingJob(self._describe(), self._describe, self._folder) if self._describe else self

    def wait_for_rules(
        self,
        timeout_seconds: float | None = None,
        poll_seconds: float = 30.0,
        progress: bool | Callable[[RuleStatuses], object] = True,
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> RuleStatuses:
        """Wait until all rules have ended, and return their statuses.

        Args:
            timeout_seconds: Maximum time to wait; None for no limit.
            poll_seconds: Time between requests, which the service throttles.
            progress: Whether to print a line to standard error when a status changes; or a function to call then.
            sleep: Function that waits; replaced in tests.
            clock: Function that returns the time in seconds; replaced in tests.

        Raises:
            SMDebugRuntimeError: The timeout has expired, or the job's description cannot be refreshed.
        """
        show = progress if callable(progress) else _Lines(self.name) if progress else _nothing
        deadline = None if timeout_seconds is None else clock() + timeout_seconds
        shown: RuleStatuses | None = None
        job = self
        while True:
            rules = job.rules
            if rules != shown:
                show(rules)
                shown = rules
            if rules.are_final:
                return rules
            wait = poll_seconds if deadline is None else min(poll_seconds, deadline - clock())
            if wait <= 0 or job._describe is None:
                pending = ", ".join(f"{rule.name} ({rule.status})" for rule in rules if not rule.is_final)
                reason = "cannot be asked again" if job._describe is None else f"waited {timeout_seconds:g} seconds"
                raise SMDebugRuntimeError(f"rules of job {self.name!r} have not ended ({reason}): {pending}")
            sleep(wait)
            job = job.refresh()

    def watch(self, *, has_ended: bool = False) -> TrainingJob:
        """Evaluate the rules of a self-managed job in this process until they have ended, unless another watcher does.

        A job that has ended is evaluated as a whole. Actions that were carried out are not repeated. Meanwhile this
        process writes to S3 with the KMS key of the job, if it names one.

        Args:
            has_ended: Whether a job of which only the folder is known has ended, so that its trial is marked as ended
                if its hook did not. Otherwise such a job is followed until its trial ends. All other jobs tell so.

        Returns:
            The job with its current state.

        Raises:
            SMDebugRuntimeError: Another watcher has taken over.
            SMDebugValueError: The job is not self-managed, or its tensors are not there before it has ended.
        """
        from sagemaker_debug_ext.sdk._watching import watch_here  # noqa: PLC0415 - loads numpy

        spec = spec_of_job(self._description) if self._folder is None else spec_of_state(self._folder)
        if spec is None:
            raise SMDebugValueError(
                f"job {self.name!r} has no settings of a self-managed job: submit it with self_managed_request, or set "
                "the variables that `sagemaker-debug self-managed env` prints"
            )
        watch_here(spec, self._description, self._describe, has_ended=has_ended)
        return self.refresh()

    def trial(self, **arguments: Any) -> Trial:
        """Open the trial of the job; see `sagemaker_debug_ext.create_trial`.

        Waits for the first tensors of a job that has not ended.

        Args:
            **arguments: Additional arguments of `create_trial`.

        Raises:
            SMDebugValueError: The job saves no tensors.
        """
        path = self.artifact_paths.debugger
        if path is None:
            raise SMDebugValueError(f"job {self.name!r} saves no tensors: it has no DebugHookConfig")
        from sagemaker_debug_ext.trials import create_trial  # noqa: PLC0415  # loads numpy

        defaults = {"name": self.name, "wait_seconds": 0 if self.status in _FINAL_STATUSES else None}
        return create_trial(path, **{**defaults, **arguments})

    def to_json(self) -> str:
        """Return name, status, artifact paths and rules as a JSON object."""
        paths = attrs.asdict(self.artifact_paths)
        rules: Any = json.loads(self.rules.to_json())
        content: JSONObject = {"name": self.name, "status": self.status, "artifact_paths": paths, "rules": rules}
        return json.dumps(content)

    def __repr__(self) -> str:
        paths = self.artifact_paths
        found = {"debugger": paths.debugger, "tensorboard": paths.tensorboard, "profiler": paths.profiler}
        lines = [f"{kind}: {path}" for kind, path in found.items() if path]
        return "\n".join([f"training job {self.name!r}: {self.status}", *lines, repr(self.rules)])

    def _repr_html_(self) -> str:
        paths = [(kind, path) for kind, path in attrs.asdict(self.artifact_paths).items() if isinstance(path, str)]
        table = html_table([("status", self.status), *paths], caption=f"training job {self.name!r}")
        return table + self.rules._repr_html_()


class _Lines:
    """Prints a line for each changed status."""

    def __init__(self, job_name: str) -> None:
        self._job_name = job_name
        self._shown: dict[str, str | None] = {}

    def __call__(self, rules: RuleStatuses) -> None:
        for rule in rules:
            if self._shown.get(rule.name, "") != rule.status:
                self._shown[rule.name] = rule.status
                details = f": {rule.details}" if rule.details else ""
                sys.stderr.write(f"{self._job_name}: rule {rule.name} {rule.status or 'waiting'}{details}\n")
        ended = sum(rule.is_final for rule in rules)
        sys.stderr.write(f"{self._job_name}: {ended} of {len(rules)} rules ended\n")


def _nothing(_: RuleStatuses) -> None:
    """Show nothing."""
