"""Events of a watched job for EventBridge."""

from __future__ import annotations

import json
import threading

import attrs
import botocore.exceptions
import pytest

from sagemaker_debug_ext.watch.evaluation import RuleRecord
from sagemaker_debug_ext.watch.events import MAX_DETAIL_BYTES, EventOrigin, EventSender, status_event

ORIGIN = EventOrigin(job_name="digits-1", job_arn="arn:job", status_uri="s3://b/status.json", generation=2)
REFUSAL = botocore.exceptions.ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "PutEvents")


def record(name, status="InProgress", step=None, details=""):
    made = RuleRecord({"RuleConfigurationName": name})
    made.status = attrs.evolve(made.status, status=status, first_issue_step=step, details=details)
    return made


def stops_job(event):
    """Decide as the function of the AWS guide on Debugger events does."""
    for status in event["detail"]["DebugRuleEvaluationStatuses"]:
        if status["RuleEvaluationStatus"] == "IssuesFound":
            return event["detail"]["TrainingJobName"]
    return None


def test_event_when_a_rule_has_fired_then_a_function_for_the_service_understands_it():
    """The detail is that of the service, with the changed rule beside."""
    fired = record("VanishingGradient", "IssuesFound", 40, "condition met")
    entry = status_event(ORIGIN, fired, "InProgress", [record("Overfit"), fired])
    detail = json.loads(entry["Detail"])
    assert stops_job({"detail": detail}) == "digits-1"
    assert entry["Source"] == "sagemaker-debug-ext"
    assert entry["DetailType"] == "SageMaker Training Job State Change"
    assert entry["Resources"] == ["arn:job"]
    assert detail["ChangedRule"] == {
        "RuleConfigurationName": "VanishingGradient",
        "RuleEvaluationStatus": "IssuesFound",
        "PreviousStatus": "InProgress",
        "FirstIssueStep": 40,
    }
    assert detail["SelfManaged"] == {"StatusUri": "s3://b/status.json", "Generation": 2, "StopRequested": False}
    times = [status["LastModifiedTime"] for status in detail["DebugRuleEvaluationStatuses"]]
    assert all(isinstance(time, int) and time > 10**12 for time in times)


def test_event_when_it_is_too_large_then_holds_the_changed_rule_only():
    """Many rules with long details."""
    records = [record(f"rule-{number}", details="é" * 1024) for number in range(50)]
    entry = status_event(ORIGIN, records[7], "InProgress", records)
    statuses = json.loads(entry["Detail"])["DebugRuleEvaluationStatuses"]
    assert [status["RuleConfigurationName"] for status in statuses] == ["rule-7"]
    assert len(entry["Detail"].encode()) < MAX_DETAIL_BYTES


class Client:
    """Takes events, or answers with what it was given."""

    def __init__(self, answer):
        self.answer = answer
        self.entries = []

    def put_events(self, Entries):  # noqa: N803 - the name of AWS
        self.entries += Entries
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_sender_when_events_are_sent_then_keeps_their_order():
    """The end waits for all of them."""
    client = Client({"FailedEntryCount": 0})
    sender = EventSender(lambda service: client)
    for number in range(20):
        sender.send({"Detail": str(number)})
    sender.close()
    assert [entry["Detail"] for entry in client.entries] == [str(number) for number in range(20)]


@pytest.mark.parametrize(
    ("answer", "message"),
    [(REFUSAL, "no events are sent to EventBridge"), ({"FailedEntryCount": 1}, "did not take an event")],
)
def test_sender_when_aws_refuses_then_says_so_and_goes_on(answer, message, caplog):
    """No rule and no training waits for a permission."""
    sender = EventSender(lambda service: Client(answer))
    sender.send({"Detail": ""})
    sender.close()
    assert message in caplog.text


def test_sender_when_nothing_was_sent_then_makes_no_client():
    """A job without changes needs no permission, and starts no thread."""
    number = threading.active_count()
    EventSender(lambda service: pytest.fail("made")).close()
    assert threading.active_count() == number
