"""What jobs report to other services: printed lines to CloudWatch Logs, changes of status to EventBridge."""

from __future__ import annotations

import contextlib
import json
import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import botocore.exceptions

from sagemaker_debug_ext.local import Event, LinePrinted, StatusChanged
from sagemaker_debug_ext.local.description import FINAL_STATUSES
from sagemaker_debug_ext.local.layout import HOST

LOG_GROUP: Final = "/aws/sagemaker/TrainingJobs"
EVENT_SOURCE: Final = "aws.sagemaker"
EVENT_TYPE: Final = "SageMaker Training Job State Change"

_LOG: Final = logging.getLogger(__name__)
_MAX_LINES: Final = 1000  # of one PutLogEvents request
_MAX_LINE_LENGTH: Final = 60_000
_END_SECONDS: Final = 10.0


class JobReports:
    """Passes the events of jobs on, in order and from a thread of its own, so that jobs never wait.

    Args:
        make_client: Makes the client of a service, by name.
        describe: Returns the description of a job, by name.
    """

    def __init__(self, make_client: Callable[[str], Any], describe: Callable[[str], dict[str, Any]]) -> None:
        self._logs = make_client("logs")
        self._events = make_client("events")
        self._describe = describe
        self._streams: dict[str, str] = {}
        self._ends: dict[str, threading.Event] = {}
        self._queue: queue.SimpleQueue[tuple[float, Event] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="job-reports", daemon=True)
        self._thread.start()

    def put(self, event: Event) -> None:
        """Enqueue an event of a job."""
        if isinstance(event, (LinePrinted, StatusChanged)):
            self._queue.put((time.time(), event))

    def wait_for_end(self, job_name: str) -> None:
        """Wait until the last lines and the final status of an ended job are passed on, for at most ten seconds."""
        self._end_of(job_name).wait(_END_SECONDS)

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
            for _, event in reports:
                if isinstance(event, StatusChanged) and event.status in FINAL_STATUSES:
                    self._end_of(event.job_name).set()

    def _end_of(self, job_name: str) -> threading.Event:
        return self._ends.setdefault(job_name, threading.Event())

    def _pass_on(self, batch: list[tuple[float, Event]]) -> None:
        lines: dict[str, list[dict[str, Any]]] = {}
        for at, event in batch:
            if isinstance(event, LinePrinted):
                line = {"timestamp": round(at * 1000), "message": event.text[:_MAX_LINE_LENGTH] or " "}
                lines.setdefault(event.job_name, []).append(line)
        try:
            for job_name, printed in lines.items():
                stream = self._stream(job_name)
                self._logs.put_log_events(logGroupName=LOG_GROUP, logStreamName=stream, logEvents=printed)
            for _, event in batch:
                if isinstance(event, StatusChanged):
                    self._put_event(event.job_name)
        except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError):
            _LOG.warning("reports of jobs are lost", exc_info=True)

    def _stream(self, job_name: str) -> str:
        """Return the log stream of a job, created with its first line."""
        if not self._streams:
            self._create(self._logs.create_log_group, logGroupName=LOG_GROUP)
        if job_name not in self._streams:
            name = f"{job_name}/{HOST}-{time.time():.0f}"
            self._create(self._logs.create_log_stream, logGroupName=LOG_GROUP, logStreamName=name)
            self._streams[job_name] = name
        return self._streams[job_name]

    def _create(self, create: Callable[..., object], **names: str) -> None:
        with contextlib.suppress(self._logs.exceptions.ResourceAlreadyExistsException):
            create(**names)

    def _put_event(self, job_name: str) -> None:
        description = self._describe(job_name)
        entry = {
            "Source": EVENT_SOURCE,
            "DetailType": EVENT_TYPE,
            "Resources": [description["TrainingJobArn"]],
            "Detail": json.dumps(description, default=lambda time: round(time.timestamp() * 1000)),
        }
        self._events.put_events(Entries=[entry])
