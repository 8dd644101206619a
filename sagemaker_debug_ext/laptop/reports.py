"""What jobs report to other services: printed lines to CloudWatch Logs, changes of status to EventBridge."""

from __future__ import annotations

import contextlib
import json
import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import attrs
import botocore.exceptions

from sagemaker_debug_ext.local import Event, LinePrinted, StatusChanged
from sagemaker_debug_ext.local.description import FINAL_STATUSES
from sagemaker_debug_ext.local.layout import HOST

EVENT_SOURCE: Final = "aws.sagemaker"

_LOG: Final = logging.getLogger(__name__)
_MAX_LINES: Final = 1000  # of one PutLogEvents request
_MAX_LINE_LENGTH: Final = 60_000
_END_SECONDS: Final = 10.0


@attrs.frozen
class JobKind:
    """A kind of jobs, with the names that its reports have.

    Attributes:
        log_group: The log group of printed lines.
        event_type: The detail type of events.
        arn: The member of a description with the ARN.
    """

    log_group: str
    event_type: str
    arn: str


TRAINING: Final = JobKind("/aws/sagemaker/TrainingJobs", "SageMaker Training Job State Change", "TrainingJobArn")
PROCESSING: Final = JobKind(
    "/aws/sagemaker/ProcessingJobs", "SageMaker Processing Job State Change", "ProcessingJobArn"
)
TUNING: Final = JobKind("", "SageMaker HyperParameter Tuning Job State Change", "HyperParameterTuningJobArn")


@attrs.frozen
class Line:
    """A line that a job has printed."""

    kind: JobKind
    job_name: str
    text: str
    at: float = attrs.field(factory=time.time)


@attrs.frozen
class Change:
    """A change of a job's status. Its event describes the job as it is when the change is passed on."""

    kind: JobKind
    job_name: str
    is_final: bool = False


Report: TypeAlias = Line | Change


class JobReports:
    """Passes the reports of jobs on, in order and from a thread of its own, so that jobs never wait.

    Args:
        make_client: Makes the client of a service, by name.
        describe: Returns the description of a job of a kind, by name.
    """

    def __init__(
        self, make_client: Callable[[str], Any], describe: Callable[[JobKind, str], Mapping[str, Any]]
    ) -> None:
        self._logs = make_client("logs")
        self._events = make_client("events")
        self._describe = describe
        self._streams: dict[tuple[JobKind, str], str] = {}
        self._ends: dict[tuple[JobKind, str], threading.Event] = {}
        self._queue: queue.SimpleQueue[Report | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="job-reports", daemon=True)
        self._thread.start()

    def put(self, report: Report) -> None:
        """Enqueue a report."""
        self._queue.put(report)

    def put_event(self, event: Event) -> None:
        """Enqueue the report of an event of a training job, if it makes one."""
        if isinstance(event, LinePrinted):
            self.put(Line(TRAINING, event.job_name, event.text))
        elif isinstance(event, StatusChanged):
            self.put(Change(TRAINING, event.job_name, event.status in FINAL_STATUSES))

    def wait_for_end(self, kind: JobKind, job_name: str) -> None:
        """Wait until the last lines and the final status of an ended job are passed on, for at most ten seconds."""
        self._end_of(kind, job_name).wait(_END_SECONDS)

    def close(self) -> None:
        """Wait until all events are passed on."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        is_open = True
        while is_open:
            batch = [self._queue.get()]
            while not self._queue.empty() and len(batch) < _MAX_LINES:
                batch.append(self._queue.get())
            is_open = None not in batch  # events of a job that ends just now may come after it
            reports = [item for item in batch if item is not None]
            self._pass_on(reports)
            for report in reports:
                if isinstance(report, Change) and report.is_final:
                    self._end_of(report.kind, report.job_name).set()

    def _end_of(self, kind: JobKind, job_name: str) -> threading.Event:
        return self._ends.setdefault((kind, job_name), threading.Event())

    def _pass_on(self, batch: list[Report]) -> None:
        lines: dict[tuple[JobKind, str], list[dict[str, Any]]] = {}
        for report in batch:
            if isinstance(report, Line):
                line = {"timestamp": round(report.at * 1000), "message": report.text[:_MAX_LINE_LENGTH] or " "}
                lines.setdefault((report.kind, report.job_name), []).append(line)
        try:
            for (kind, job_name), printed in lines.items():
                stream = self._stream(kind, job_name)
                self._logs.put_log_events(logGroupName=kind.log_group, logStreamName=stream, logEvents=printed)
            for report in batch:
                if isinstance(report, Change):
                    self._put_event(report)
        except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError):
            _LOG.warning("reports of jobs are lost", exc_info=True)

    def _stream(self, kind: JobKind, job_name: str) -> str:
        """Return the log stream of a job, created with its first line."""
        if (kind, job_name) not in self._streams:
            name = f"{job_name}/{HOST}-{time.time():.0f}"
            self._create(self._logs.create_log_group, logGroupName=kind.log_group)
            self._create(self._logs.create_log_stream, logGroupName=kind.log_group, logStreamName=name)
            self._streams[kind, job_name] = name
        return self._streams[kind, job_name]

    def _create(self, create: Callable[..., object], **names: str) -> None:
        with contextlib.suppress(self._logs.exceptions.ResourceAlreadyExistsException):
            create(**names)

    def _put_event(self, change: Change) -> None:
        description = self._describe(change.kind, change.job_name)
        entry = {
            "Source": EVENT_SOURCE,
            "DetailType": change.kind.event_type,
            "Resources": [description[change.kind.arn]],
            "Detail": json.dumps(description, default=lambda time: round(time.timestamp() * 1000)),
        }
        self._events.put_events(Entries=[entry])
