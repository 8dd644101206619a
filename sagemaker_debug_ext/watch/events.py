"""Events of a watched job for EventBridge, in the shape of the service's own events.

The source differs, because sources that begin with ``aws.`` are reserved. ``ChangedRule`` repeats the rule whose status
has changed outside the list of all rules, because patterns do not reliably match objects in a list.
"""

from __future__ import annotations

import json
import logging
import queue
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
import botocore.exceptions

from sagemaker_debug_ext._json import JSONObject
from sagemaker_debug_ext.rules.action import ClientFactory, aws_client
from sagemaker_debug_ext.watch.evaluation import RuleRecord

SOURCE: Final = "sagemaker-debug-ext"
DETAIL_TYPE: Final = "SageMaker Training Job State Change"
MAX_DETAIL_BYTES: Final = 20_000
"""Size of an event above which it holds the status of the changed rule only; EventBridge allows 256 KB."""

_LOG: Final = logging.getLogger(__name__)
_LAST_EVENTS_SECONDS: Final = 10.0


@attrs.frozen(kw_only=True)
class EventOrigin:
    """The job and the watcher that events come from.

    Args:
        job_name: Name of the training job.
        job_arn: ARN of the training job; empty outside SageMaker.
        status_uri: Location of the full status.
        generation: Number of the watcher of this job.
    """

    job_name: str
    job_arn: str
    status_uri: str
    generation: int


def status_event(
    origin: EventOrigin,
    changed: RuleRecord,
    previous: str,
    records: Sequence[RuleRecord],
    stop_requested: bool = False,
) -> dict[str, Any]:
    """Return the entry of a PutEvents request for a rule whose status has changed.

    Args:
        origin: Where the event comes from.
        changed: The rule.
        previous: Its status before.
        records: All rules of the job.
        stop_requested: Whether the event asks a function of the account to stop the job.
    """
    detail: dict[str, Any] = {
        "TrainingJobName": origin.job_name,
        "TrainingJobArn": origin.job_arn,
        "TrainingJobStatus": "InProgress",
        "SecondaryStatus": "Training",
        "DebugRuleEvaluationStatuses": [_status(record) for record in records],
        "ChangedRule": {
            "RuleConfigurationName": changed.name,
            "RuleEvaluationStatus": changed.status.status,
            "PreviousStatus": previous,
            "FirstIssueStep": changed.status.first_issue_step,
        },
        "SelfManaged": {
            "StatusUri": origin.status_uri,
            "Generation": origin.generation,
            "StopRequested": stop_requested,
        },
    }
    text = json.dumps(detail)
    if len(text.encode()) > MAX_DETAIL_BYTES:
        text = json.dumps({**detail, "DebugRuleEvaluationStatuses": [_status(changed)]})
    resources = [origin.job_arn] if origin.job_arn else []
    return {"Source": SOURCE, "DetailType": DETAIL_TYPE, "Resources": resources, "Detail": text}


def _status(record: RuleRecord) -> JSONObject:
    return {
        "RuleConfigurationName": record.name,
        "RuleEvaluationStatus": record.status.status,
        "StatusDetails": record.status.details,
        "LastModifiedTime": round(record.modified_at.timestamp() * 1000),
    }


class EventSender:
    """Sends events in order from a thread of its own, so that neither rules nor the end of training wait for them.

    After a refusal nothing more is sent, because later events would be refused as well.

    Args:
        client_factory: Makes the AWS client of a service, by name.
    """

    def __init__(self, client_factory: ClientFactory = aws_client) -> None:
        self._make_client = client_factory
        self._entries: queue.SimpleQueue[Mapping[str, Any] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def send(self, entry: Mapping[str, Any]) -> None:
        """Enqueue the entry of a PutEvents request."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="events", daemon=True)
            self._thread.start()
        self._entries.put(entry)

    def close(self) -> None:
        """Wait a few seconds until all events are sent."""
        if self._thread is not None:
            self._entries.put(None)
            self._thread.join(_LAST_EVENTS_SECONDS)

    def _run(self) -> None:
        try:
            client = self._make_client("events")
            while (entry := self._entries.get()) is not None:
                refused = client.put_events(Entries=[entry])["FailedEntryCount"]
                if refused:
                    _LOG.warning("EventBridge did not take an event of source %s", SOURCE)
        except (botocore.exceptions.ClientError, botocore.exceptions.BotoCoreError) as error:
            _LOG.warning("no events are sent to EventBridge: %s; SelfManaged(events=False) asks for none", error)
