"""Events of a running job as frozen values, lines that tell of them, and the queue that delivers them."""

from __future__ import annotations

import logging
import queue
import sys
import threading
from collections.abc import Callable
from typing import Final, TypeAlias, Union

import attrs

from sagemaker_debug_ext._printable import printable
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.vocabulary import ModeKeys

_LOG: Final = logging.getLogger(__name__)
_LINE_EVERY_STEPS: Final = 50


@attrs.frozen(kw_only=True)
class StatusChanged:
    """The status of the job has changed.

    Attributes:
        status: The ``TrainingJobStatus``.
        secondary_status: The ``SecondaryStatus``.
        reason: Reason for the change, if there is one.
    """

    job_name: str
    status: str
    secondary_status: str
    reason: str = ""


@attrs.frozen(kw_only=True)
class StepSaved:
    """One worker's part of a step is complete at the job's output path.

    Attributes:
        step: The global step.
        mode_step: The step within `mode`.
        tensors: Number of values saved.
        size: Bytes of the event file.
    """

    job_name: str
    step: int
    mode: ModeKeys
    mode_step: int
    worker: str
    tensors: int
    size: int


@attrs.frozen(kw_only=True)
class RuleStatusChanged:
    """The status of a rule's evaluation has changed.

    Attributes:
        rule: The ``RuleConfigurationName``.
        status: The ``RuleEvaluationStatus``.
        details: The ``StatusDetails``; empty if there are none.
        step: First global step at which the condition was met, if it was.
    """

    job_name: str
    rule: str
    status: str
    details: str = ""
    step: int | None = None


@attrs.frozen(kw_only=True)
class IssueFound:
    """A rule found an issue; `Issue.rule` is the ``RuleConfigurationName``."""

    job_name: str
    issue: Issue


@attrs.frozen(kw_only=True)
class ActionTaken:
    """An action of a rule was carried out, or recorded if this machine cannot carry it out.

    Attributes:
        rule: The ``RuleConfigurationName``.
        action: ``stoptraining``, ``email`` or ``sms``.
        outcome: Description of the result.
    """

    job_name: str
    rule: str
    action: str
    outcome: str


@attrs.frozen(kw_only=True)
class LinePrinted:
    """The entry point printed a line.

    Attributes:
        stream: ``stdout`` or ``stderr``.
        text: The line without its end.
    """

    job_name: str
    stream: str
    text: str


Event: TypeAlias = Union[StatusChanged, StepSaved, RuleStatusChanged, IssueFound, ActionTaken, LinePrinted]  # noqa: UP007 - alias
"""Any of the events."""

EventHandler: TypeAlias = Callable[[Event], object]
"""A callback for the events of a job."""


def describe_event(event: Event) -> str | None:
    """Return a line for changes of status, issues and actions; None for other events."""
    if isinstance(event, StatusChanged):
        reason = f": {event.reason}" if event.reason else ""
        return f"{event.job_name}: {event.status} ({event.secondary_status}){reason}"
    if isinstance(event, RuleStatusChanged) and event.status not in ("InProgress", "NoIssuesFound"):
        return f"{event.job_name}: rule {event.rule} {event.status}" + (f": {event.details}" if event.details else "")
    if isinstance(event, ActionTaken):
        return f"{event.job_name}: rule {event.rule}, action {event.action}: {event.outcome}"
    return None


class EventPrinter:
    """Prints to standard error a line for each event that `describe_event` describes, and for some of the steps.

    Args:
        num_steps: Number of global steps of each job that is not stopped; None if unknown.
    """

    def __init__(self, num_steps: int | None = None) -> None:
        self._of = "" if num_steps is None else f" of {num_steps}"
        self._next_steps: dict[str, int] = {}

    def __call__(self, event: Event) -> None:
        """Print an event."""
        line = describe_event(event)
        if line is None and isinstance(event, StepSaved) and event.step >= self._next_steps.get(event.job_name, 0):
            self._next_steps[event.job_name] = event.step + _LINE_EVERY_STEPS
            line = f"{event.job_name}: step {event.step}{self._of} saved"
        if line is not None:
            print(printable(line), file=sys.stderr)


class EventQueue:
    """Delivers events to a handler, in order and from one thread, which holds no lock of the job.

    A slow handler delays neither the job nor its rules.

    Args:
        handler: Called with each event; its errors are logged. None drops all events.
    """

    def __init__(self, handler: EventHandler | None) -> None:
        self._handler = handler
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._deliver, name="training-job-events")

    def start(self) -> None:
        """Start to deliver events."""
        if self._handler is not None:
            self._thread.start()

    def put(self, event: Event) -> None:
        """Enqueue an event."""
        if self._handler is not None:
            self._events.put(event)

    def close(self) -> None:
        """Wait until all events are delivered; no event may be enqueued afterwards."""
        if self._thread.is_alive():
            self._events.put(None)
            self._thread.join()

    def _deliver(self) -> None:
        assert self._handler is not None
        while (event := self._events.get()) is not None:
            self._deliver_one(event, self._handler)

    @staticmethod
    def _deliver_one(event: Event, handler: EventHandler) -> None:
        try:
            handler(event)
        except Exception:  # noqa: BLE001 - the caller's own code: a display that breaks does not end the job
            _LOG.exception("the event handler of training job %s failed on %r", event.job_name, event)
