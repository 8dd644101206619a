"""Configuration of self-managed jobs: `SelfManaged`."""

from __future__ import annotations

from typing import Any, Final

import attrs

from sagemaker_debug_ext.config._fields import is_boolean, is_positive_number, is_text, is_whole_number
from sagemaker_debug_ext.config.job_spec import ActionOptions, WatchOptions
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError, did_you_mean

PLACES: Final = ("container", "here", "processing", "pod", "actor")
CARRIERS: Final = ("environment", "channel")
SHIPS: Final = ("s3", "folder", "checkpoint", "end")
STOPS: Final = ("direct", "events", "cooperative", "off")
REACTIONS: Final = ("flag", "exit")

_PLACES_OF_SHIP: Final = {
    "s3": PLACES,
    "folder": ("container", "pod", "actor"),
    "checkpoint": ("container", "here", "processing"),
    "end": ("here",),
}
"""The places whose watchers reach what a hook has written, and with ``folder`` copy it to S3."""


def _is_one_of(allowed: tuple[str, ...]) -> Any:
    def check(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
        if value not in allowed:
            raise SMDebugValueError(
                f"{type(instance).__name__}.{attribute.name} must be one of {', '.join(allowed)} (got {value!r})"
                f"{did_you_mean(value, allowed)}"
            )

    return check


def _is_duration(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise SMDebugTypeError(f"{type(instance).__name__}.{attribute.name} must be a number (got {value!r})")
    if not 0 <= value < float("inf"):
        raise SMDebugValueError(
            f"{type(instance).__name__}.{attribute.name} must be a number of at least 0 (got {value!r})"
        )


@attrs.frozen(kw_only=True)
class SelfManaged:
    """Run hook, rules and actions of a training job without the Debugger service.

    The settings travel in environment variables of the job. The hook writes tensors to S3 itself, and a watcher beside
    the training script evaluates the rules.

    Example:
        >>> SelfManaged(stop="cooperative").place
        'container'

    Args:
        place: Where rules are evaluated: ``container`` for a child process of the first worker, ``here`` for
            ``sagemaker-debug self-managed watch`` on the machine of the submitter, ``processing`` for a processing job
            (see `requests.processing.watcher_job_request`), ``pod`` for a container of its own on Kubernetes, ``actor``
            for an actor of Ray (see `watch.ray_actor.start_watcher`).
        drain_seconds: Maximum time that the end of training waits for the last evaluations; 0 does not wait.
        poll_seconds: Time between two looks for new steps; each look sends a request to S3.
        memory_mib: Maximum memory for the data of the watcher, in MiB.
        stop: What `StopTraining` does: ``direct`` calls StopTrainingJob, ``events`` asks the function of
            ``sagemaker-debug self-managed template`` to do so, ``cooperative`` sets ``hook.should_stop`` for the
            script, ``off`` only records the action.
        on_stop: What happens in the script with ``stop="cooperative"``: ``flag`` sets ``hook.should_stop``; ``exit``
            closes the hook and ends the process with exit code 3 at the beginning of the next step, for queues that
            react to it.
        topic_arn: SNS topic for `Email` and `SMS`; the topic ``SMDebugRules`` by default.
        events: Whether each change of a rule's status is sent to EventBridge.
        metrics: Whether the number of rules that found an issue, the lag of the evaluation and its last step are sent
            to CloudWatch every minute.
        config: What carries the settings: ``environment`` for environment variables, ``channel`` for an input channel,
            whose file is uploaded on submission. Settings that are too large for variables use a channel by themselves
            where it can be uploaded.
        ship: How trial, state and results reach S3. ``s3``: hook and watcher write to it themselves. ``folder``: they
            write to a folder that all workers and the watcher share, such as one of FSx or NFS, whose path is the
            ``container_local_output_path`` of the hook; the watcher copies it to S3 if the job has a location there.
            ``checkpoint``: to the folder of the job's ``CheckpointConfig``, which SageMaker copies; jobs with network
            isolation use it in place of ``s3``. ``end``: to the output folder, which SageMaker copies after the job;
            ``sagemaker-debug self-managed resume`` evaluates the rules then.
        tag: Whether the job gets the tag ``sagemaker-debug-ext`` with the value ``stop-allowed``, to which policies can
            limit the right to stop jobs. The submitter needs the right ``sagemaker:AddTags``.
        kms_key_id: KMS key with which hook and watcher write to S3; by default, the bucket chooses the encryption.
        rule_image_uri: Image with Python and this package. With ``place="processing"``, estimators, trainers and
            `attach_debugger` start the processing job as soon as they have created the training job; without an image
            it is left to you.
        rule_wheels_uri: S3 folder that ``sagemaker-debug self-managed wheels`` has written, for an image with Python
            that lacks this package; without `rule_image_uri`, that of the training job, unless it is for GPUs.
        rule_instance_type: Type of its instance, ``ml.t3.medium`` by default.
        rule_role_arn: Its role; that of the training job by default.

    Raises:
        SMDebugTypeError: An argument has the wrong type.
        SMDebugValueError: An argument is not allowed.
    """

    place: str = attrs.field(default="container", validator=_is_one_of(PLACES))
    drain_seconds: float = attrs.field(default=60.0, validator=_is_duration)
    poll_seconds: float = attrs.field(default=5.0, validator=is_positive_number)
    memory_mib: int = attrs.field(default=2048, validator=is_whole_number(256))
    stop: str = attrs.field(default="direct", validator=_is_one_of(STOPS))
    on_stop: str = attrs.field(default="flag", validator=_is_one_of(REACTIONS))
    topic_arn: str | None = attrs.field(default=None, validator=is_text)
    events: bool = attrs.field(default=True, validator=is_boolean)
    metrics: bool = attrs.field(default=False, validator=is_boolean)
    config: str = attrs.field(default="environment", validator=_is_one_of(CARRIERS))
    ship: str = attrs.field(default="s3", validator=_is_one_of(SHIPS))
    tag: bool = attrs.field(default=False, validator=is_boolean)
    kms_key_id: str | None = attrs.field(default=None, validator=is_text)
    rule_image_uri: str | None = attrs.field(default=None, validator=is_text)
    rule_wheels_uri: str | None = attrs.field(default=None, validator=is_text)
    rule_instance_type: str | None = attrs.field(default=None, validator=is_text)
    rule_role_arn: str | None = attrs.field(default=None, validator=is_text)

    def __attrs_post_init__(self) -> None:
        if self.stop == "events" and not self.events:
            raise SMDebugValueError("SelfManaged.events must be True with stop='events', which stops jobs by events")
        if self.on_stop == "exit" and self.stop != "cooperative":
            raise SMDebugValueError(
                "SelfManaged.stop must be cooperative with on_stop='exit', because a job that is also stopped "
                f"elsewhere may end as failed (got {self.stop!r})"
            )
        places = _PLACES_OF_SHIP[self.ship]
        if self.place not in places:
            raise SMDebugValueError(
                f"SelfManaged.place must be {' or '.join(places)} with ship={self.ship!r}, because watchers elsewhere "
                f"cannot read or copy what the hook writes (got {self.place!r})"
            )
        for name in ("rule_image_uri", "rule_wheels_uri", "rule_instance_type", "rule_role_arn"):
            if getattr(self, name) is not None and self.place != "processing":
                raise SMDebugValueError(
                    f"SelfManaged.{name} must be left out unless place='processing' (got place={self.place!r})"
                )

    @property
    def watch_options(self) -> WatchOptions:
        """The settings of the watcher in a job spec."""
        return WatchOptions(
            place=self.place,
            drain_seconds=float(self.drain_seconds),
            poll_seconds=float(self.poll_seconds),
            memory_mib=self.memory_mib,
            image=self.rule_image_uri,
            wheels=self.rule_wheels_uri,
            instance=self.rule_instance_type,
            role=self.rule_role_arn,
        )

    @property
    def action_options(self) -> ActionOptions:
        """The settings of actions in a job spec."""
        return ActionOptions(
            stop=self.stop, on_stop=self.on_stop, topic_arn=self.topic_arn, events=self.events, metrics=self.metrics
        )
