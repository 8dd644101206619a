"""What readers make of the status of a watched job."""

import datetime as dt
import json

import jsonschema
import pytest

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.rules import RuleStatus
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.watch.evaluation import RuleRecord
from sagemaker_debug_ext.watch.profiler_rules import ProfilerRuleRecord
from sagemaker_debug_ext.watch.status import (
    STATUS_KEY,
    STATUS_SCHEMA,
    WatchStatus,
    derive,
    describe_profiler_rules,
    describe_rules,
)

START = dt.datetime(2026, 11, 23, 12, tzinfo=dt.timezone.utc)
MINUTE = dt.timedelta(minutes=1)


def reported(*statuses, heartbeat=START):
    """Return a status with a rule of each given status."""
    records = []
    for at, status in enumerate(statuses):
        record = RuleRecord({"RuleConfigurationName": f"R{at}"})
        record.status = RuleStatus(name=f"R{at}", rule="Overfit", status=status)
        records.append(record)
    return WatchStatus(
        document={
            "version": 1,
            "sequence": 1,
            "training_job_name": "digits-1",
            "generation": 1,
            "watcher": {
                "place": "container",
                "host": "algo-1",
                "pid": 7,
                "started_at": START.isoformat(),
                "heartbeat_at": heartbeat.isoformat(),
                "phase": "following",
            },
            "trial": {"path": "s3://bucket/digits-1/debug-output"},
            "rules": describe_rules(records),
        }
    )


@pytest.mark.parametrize(
    ("job_status", "status", "minutes", "ended", "expected"),
    [
        ("InProgress", None, 5, None, []),
        ("InProgress", None, 11, None, [("InProgress", "no watcher has reported")]),
        ("Completed", None, 30, 28, []),
        ("Completed", None, 30, 20, [("Error", "no watcher has reported")]),
        ("InProgress", ["IssuesFound"], 1, None, [("IssuesFound", None)]),
        ("InProgress", ["InProgress", "IssuesFound"], 3, None, [("InProgress", "silent since"), ("IssuesFound", None)]),
        ("Failed", ["InProgress", "IssuesFound"], 3, 1, [("Stopped", "ended before the rule"), ("IssuesFound", None)]),
        ("Completed", ["NoIssuesFound"], 600, 5, [("NoIssuesFound", None)]),
    ],
)
def test_statuses_when_the_watcher_is_late_silent_or_gone_then_say_so(job_status, status, minutes, ended, expected):
    """Every row of the table of what readers show."""
    shown = derive(
        ["R0"],
        job_status,
        None if status is None else reported(*status),
        now=START + minutes * MINUTE,
        started_at=START,
        ended_at=None if ended is None else START + ended * MINUTE,
    )
    assert [rule["RuleEvaluationStatus"] for rule in shown] == [name for name, _ in expected]
    for rule, (_, details) in zip(shown, expected, strict=True):
        assert details is None or details in rule["StatusDetails"]
        assert rule["LastModifiedTime"].tzinfo is not None


def test_profiler_rules_when_the_watcher_is_gone_then_are_stopped_like_the_others():
    """Each kind has its own member."""
    record = ProfilerRuleRecord({"RuleConfigurationName": "ProfilerReport"}, modified_at=START)
    status = WatchStatus(
        document={**reported("IssuesFound").document, "profiler_rules": describe_profiler_rules([record])}
    )
    jsonschema.Draft202012Validator(STATUS_SCHEMA).validate(status.document)
    given = {"now": START + 3 * MINUTE, "started_at": START, "ended_at": START + MINUTE}
    (shown,) = derive(["ProfilerReport"], "Failed", status, **given, of_profiler=True)
    assert (shown["RuleConfigurationName"], shown["RuleEvaluationStatus"]) == ("ProfilerReport", "Stopped")
    (other,) = derive(["R0"], "Failed", status, **given)
    assert (other["RuleConfigurationName"], other["RuleEvaluationStatus"]) == ("R0", "IssuesFound")


@pytest.mark.parametrize(("age_seconds", "is_silent"), [(10.0, False), (200.0, True)])
def test_age_when_the_storage_knows_it_then_no_other_clock_counts(age_seconds, is_silent):
    """Neither that of the watcher nor that of the reader."""
    for minutes in (-300, 300):
        given = {"now": START + minutes * MINUTE, "started_at": START, "age_seconds": age_seconds}
        (rule,) = derive(["R0"], "InProgress", reported("InProgress"), **given)
        assert ("silent" in rule.get("StatusDetails", "")) == is_silent


def test_job_that_has_not_started_has_no_statuses():
    """As on the service."""
    assert derive(["R0"], "InProgress", None, now=START, started_at=None) == []


def test_document_matches_its_schema():
    """The schema ships for programs of others."""
    jsonschema.Draft202012Validator(STATUS_SCHEMA).validate(reported("InProgress", "IssuesFound", "Error").document)


def test_status_when_written_and_read_then_is_the_same():
    """Through a back end."""
    backend = MemoryBackend()
    assert WatchStatus.read(backend) is None
    written = reported("Stopped")
    backend.write(STATUS_KEY, [json.dumps(written.document).encode()])
    status = WatchStatus.read(backend)
    assert status == written
    assert status.is_final


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"watcher": {}}', b'{"watcher": {"heartbeat_at": "x"}, "rules": []}']
)
def test_status_when_damaged_then_names_the_file(content):
    """A reader shows which file it cannot read."""
    backend = MemoryBackend()
    backend.write(STATUS_KEY, [content])
    with pytest.raises(SMDebugValueError, match=r"status\.json must be a status of a watcher"):
        WatchStatus.read(backend)
