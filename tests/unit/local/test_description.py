from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugValueError
from sagemaker_debug_ext.local.description import (
    Description,
    JobLock,
    check_job_name,
    describe_training_job,
    job_arn,
    now,
    shorten,
)
from sagemaker_debug_ext.local.layout import JobFolder

REQUEST: dict[str, Any] = {
    "TrainingJobName": "job-1",
    "RoleArn": "arn:aws-cn:iam::123456789012:role/R",
    "HyperParameters": {"StartTime": "not a time"},
    "Tags": [{"Key": "a", "Value": "b"}],
}


@pytest.fixture
def description(folder: JobFolder) -> Description:
    folder.root.mkdir(parents=True)
    return Description(REQUEST, folder, lambda *_: None)


def work_dir(folder: JobFolder) -> str:
    return str(folder.root.parent.parent)


def test_description_is_read_by_others_as_its_owner_sees_it(description: Description, folder: JobFolder) -> None:
    """The file says what the owner says, with the same types."""
    lock = JobLock(folder)
    description.move("InProgress", "Training", TrainingStartTime=now())
    description.update(DebugRuleEvaluationStatuses=[{"RuleConfigurationName": "R", "LastModifiedTime": now()}])
    assert describe_training_job("job-1", work_dir(folder)) == description.snapshot()
    description.move("Completed", "Completed")
    lock.release()
    assert describe_training_job("job-1", work_dir(folder)) == description.snapshot()


def test_description_repeats_the_request_and_tells_the_way(description: Description) -> None:
    """Members of the request come back, without its tags; transitions follow each other without a gap."""
    description.move("InProgress", "Training", TrainingStartTime=now())
    description.move("Failed", "Failed", "x" * 2000)
    found = description.snapshot()
    assert found["HyperParameters"] == REQUEST["HyperParameters"]
    assert "Tags" not in found
    assert found["TrainingJobArn"].startswith("arn:aws-cn:sagemaker:")
    assert found["TrainingJobArn"].endswith(":123456789012:training-job/job-1")
    assert len(found["FailureReason"]) == 1024
    first, second = found["SecondaryStatusTransitions"]
    assert (first["Status"], second["Status"]) == ("Training", "Failed")
    assert first["EndTime"] == second["StartTime"] == found["TrainingEndTime"]


def test_description_snapshot_is_the_callers_own(description: Description) -> None:
    """Changing an answer does not change the job."""
    description.snapshot()["HyperParameters"]["lr"] = "1"
    assert description.snapshot()["HyperParameters"] == REQUEST["HyperParameters"]


def test_description_that_cannot_be_written_does_not_end_the_job(
    description: Description, folder: JobFolder, caplog: pytest.LogCaptureFixture
) -> None:
    """A full disk costs the file, not the job."""
    folder.description.mkdir()
    description.move("InProgress", "Training")
    assert description.status == "InProgress"
    assert "could not write the description" in caplog.text


def test_describe_of_job_whose_process_died_says_failed(description: Description, folder: JobFolder) -> None:
    """A job that nobody runs any more is not in progress for ever."""
    lock = JobLock(folder)
    description.move("InProgress", "Training")
    lock.release()
    found = describe_training_job("job-1", work_dir(folder))
    assert (found["TrainingJobStatus"], found["SecondaryStatus"]) == ("Failed", "Failed")
    assert "ended before the job did" in found["FailureReason"]


def test_describe_of_unknown_job_says_so(folder: JobFolder) -> None:
    """A job that was never started is an error that names it and the place looked at."""
    with pytest.raises(SMDebugRuntimeError, match=r"no training job 'job-2' in .*jobs"):
        describe_training_job("job-2", work_dir(folder))


@pytest.mark.parametrize("name", ["", "-a", "a-", "a b", "a/b", "..", "a" * 64, None, 5])
def test_check_job_name_refuses_what_sagemaker_refuses(name: object) -> None:
    """A job's name is a folder's name too, so nothing else gets through."""
    with pytest.raises(SMDebugValueError, match="TrainingJobName must be"):
        check_job_name(name)


@pytest.mark.parametrize("name", ["a", "A-1", "a--b", "a" * 63])
def test_check_job_name_takes_what_sagemaker_takes(name: str) -> None:
    """Names that SageMaker allows are returned."""
    assert check_job_name(name) == name


@given(st.text(max_size=30), st.integers(2, 20), st.booleans())
def test_shorten_keeps_the_length_and_one_end(text: str, length: int, keep_end: bool) -> None:
    """The result is never longer than asked, and what is cut is marked."""
    short = shorten(text, length, keep_end)
    assert len(short) <= length
    kept = short.strip("…") if len(text) > length else short
    assert (text.endswith if keep_end else text.startswith)(kept)


def test_job_arn_without_role_has_no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job without an account still has a well-formed ARN, in the region of the environment."""
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert job_arn({"TrainingJobName": "j"}) == "arn:aws:sagemaker:eu-west-1:000000000000:training-job/j"


def test_description_file_is_plain_json(description: Description, folder: JobFolder) -> None:
    """Other programs can read the file without this package."""
    description.move("InProgress", "Starting")
    assert json.loads(folder.description.read_text())["TrainingJobName"] == "job-1"
