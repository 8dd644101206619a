from __future__ import annotations

import contextlib
import copy
import errno
import shutil
import tarfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from sagemaker_debug_ext.errors import (
    MissingCollectionFiles,
    RequestValidationError,
    SMDebugRuntimeError,
    SMDebugValueError,
    TrainingJobError,
    TrialNotFoundError,
)
from sagemaker_debug_ext.local import (
    Event,
    LinePrinted,
    LocalTrainingJob,
    StatusChanged,
    StepSaved,
    describe_training_job,
    run_training_job,
)
from sagemaker_debug_ext.looking import read_report
from sagemaker_debug_ext.store.backends import Buffer, LocalBackend
from sagemaker_debug_ext.store.format.keys import END_KEY
from sagemaker_debug_ext.store.job_end import has_ended
from sagemaker_debug_ext.vocabulary import ModeKeys

MakeRequest = Callable[..., dict[str, Any]]
Start = Callable[..., LocalTrainingJob]


class Ready:
    """Waits for the line ``ready`` of a script."""

    def __init__(self) -> None:
        self._seen = threading.Event()

    def __call__(self, event: Event) -> None:
        if isinstance(event, LinePrinted) and event.text == "ready":
            self._seen.set()

    def wait(self) -> None:
        assert self._seen.wait(60)


def trial_backend(job: LocalTrainingJob) -> LocalBackend:
    assert job.trial_path is not None
    return LocalBackend(job.trial_path)


def test_job_that_succeeds_leaves_trial_model_and_description(
    make_request: MakeRequest, save_steps: str, tmp_path: Path
) -> None:
    """The whole path: source, hyperparameters, channel, tensors, model, output, events, description."""
    data = tmp_path / "s3" / "bucket" / "data"
    data.mkdir(parents=True)
    (data / "train.csv").write_text("1,2,3")
    script = save_steps + (
        "import sys\n"
        "from pathlib import Path\n"
        "print(*sys.argv[1:])\n"
        "print(Path(os.environ['SM_CHANNEL_TRAIN'], 'train.csv').read_text(), file=sys.stderr)\n"
        "Path(os.environ['SM_MODEL_DIR'], 'weights').write_text('w')\n"
        "Path(os.environ['SM_OUTPUT_DATA_DIR'], 'metrics').write_text('m')\n"
    )
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/data"}}
    channels = [{"ChannelName": "train", "DataSource": source}]
    request = make_request(script, hyperparameters={"lr": 0.1, "name": "x y"}, InputDataConfig=channels)
    events: list[Event] = []
    job = run_training_job(request, tmp_path, on_event=events.append)

    assert [event.secondary_status for event in events if isinstance(event, StatusChanged)] == [
        "Starting",
        "Downloading",
        "Training",
        "Uploading",
        "Completed",
    ]
    lines = [(event.stream, event.text) for event in events if isinstance(event, LinePrinted)]
    assert sorted(lines) == [("stderr", "1,2,3"), ("stdout", "--lr 0.1 --name x y")]
    steps = [event for event in events if isinstance(event, StepSaved)]
    assert [(event.step, event.mode, event.tensors) for event in steps] == [(s, ModeKeys.TRAIN, 1) for s in range(4)]
    assert all(event.size > 0 for event in steps)

    assert job.debugger_artifacts_path == "s3://bucket/out/job-1/debug-output"
    trial = job.trial()
    assert trial.steps() == [0, 1, 2, 3]
    assert trial.tensor("loss").value(3) == [3.0]
    description = job.describe()
    assert description["ModelArtifacts"] == {"S3ModelArtifacts": "s3://bucket/out/job-1/output/model.tar.gz"}
    assert describe_training_job("job-1", tmp_path) == description
    with tarfile.open(tmp_path / "s3/bucket/out/job-1/output/model.tar.gz") as tar:
        assert tar.getnames() == ["weights"]


def test_job_that_fails_raises_one_error_with_code_and_last_lines(
    make_request: MakeRequest, save_steps: str, tmp_path: Path
) -> None:
    """A failing script is told once, with its exit code and its own last words; its trial is ended and complete."""
    request = make_request(save_steps + "raise ValueError('the batch is empty')\n")
    with pytest.raises(TrainingJobError, match=r"(?s)'job-1' failed: .*exit code 1.*ValueError: the batch is empty"):
        run_training_job(request, tmp_path)
    description = describe_training_job("job-1", tmp_path)
    assert description["TrainingJobStatus"] == "Failed"
    assert description["FailureReason"].endswith("ValueError: the batch is empty")
    assert len(description["FailureReason"]) <= 1024
    backend = LocalBackend(tmp_path / "s3/bucket/out/job-1/debug-output")
    assert has_ended(backend)
    assert len(backend.list("index/")) == 4
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal SIGKILL, nothing was printed"),
        ("import sys; print('only here'); sys.exit(3)", "exit code 3, last lines of stdout.log:\nonly here"),
        (
            "import os; open(os.environ['SM_OUTPUT_DIR'] + '/failure', 'w').write('bad data'); os._exit(1)",
            "exit code 1: bad data",
        ),
        ("import sys; sys.exit('x' * 5000)", "exit code 1, last lines of stderr.log:\n…xxx"),
    ],
    ids=["signal", "stdout only", "failure file", "long"],
)
def test_job_that_fails_says_what_is_known(make_request: MakeRequest, tmp_path: Path, script: str, reason: str) -> None:
    """The reason comes from the failure file, else from what was printed last."""
    with pytest.raises(TrainingJobError) as caught:
        run_training_job(make_request(script), tmp_path)
    assert caught.value.reason.startswith(f"AlgorithmError: {reason}")
    assert len(caught.value.reason) <= 1024


def test_job_that_is_stopped_may_end_by_itself(make_request: MakeRequest, start: Start) -> None:
    """A stopped script hears SIGTERM, and what it then saves is shipped."""
    ready = Ready()
    script = """
        import os, signal, sys
        def end(*_):
            open(os.environ["SM_MODEL_DIR"] + "/checkpoint", "w").write("saved in time")
            sys.exit(0)
        signal.signal(signal.SIGTERM, end)
        print("ready")
        while True:
            signal.pause()
    """
    job = start(make_request(script), on_event=ready)
    ready.wait()
    assert job.stop()
    description = job.wait()
    assert (description["TrainingJobStatus"], description["SecondaryStatus"]) == ("Stopped", "Stopped")
    assert description["ModelArtifacts"]["S3ModelArtifacts"].endswith("/output/model.tar.gz")
    assert [transition["Status"] for transition in description["SecondaryStatusTransitions"]][-2:] == [
        "Stopping",
        "Stopped",
    ]
    assert not job.stop()
    assert job.describe() == description


RESUMED = """
    import os, time
    checkpoint, model = os.environ["CHECKPOINTS"] + "/epoch", os.environ["SM_MODEL_DIR"]
    if os.path.exists(checkpoint):
        print("goes on after epoch", open(checkpoint).read(), "with", os.listdir(model), flush=True)
    else:
        open(model + "/unfinished", "w").close()
        open(checkpoint, "w").write("3")
        time.sleep(600)
"""


def test_interrupted_job_starts_again_with_its_checkpoints_and_nothing_else(
    make_request: MakeRequest, start: Start, tmp_path: Path
) -> None:
    """As on Spot instances: the machine is gone, and the job goes on under its name. An ended one does not."""
    lines: list[str] = []
    request = make_request(RESUMED, CheckpointConfig={"S3Uri": "s3://bucket/checkpoints"})
    request["Environment"]["CHECKPOINTS"] = "/opt/ml/checkpoints"
    job = start(request, on_event=lambda event: lines.append(event.text) if isinstance(event, LinePrinted) else None)
    copied = tmp_path / "s3/bucket/checkpoints/epoch"
    while not copied.exists() and job.describe()["TrainingJobStatus"] == "InProgress":
        time.sleep(0.05)
    assert job.interrupt()
    description = job.wait(120)
    assert lines == ["goes on after epoch 3 with []"]
    assert description["ModelArtifacts"]["S3ModelArtifacts"] == ""
    run = ["Starting", "Downloading", "Training"]
    transitions = [transition["Status"] for transition in description["SecondaryStatusTransitions"]]
    assert transitions == [*run, "Interrupted", *run, "Uploading", "Completed"]
    assert not job.interrupt()


def test_interrupted_job_that_is_stopped_does_not_start_again(make_request: MakeRequest, start: Start) -> None:
    """Whoever asks for the stop means the job, not one of its machines."""
    job = start(make_request("import time; time.sleep(600)"))
    assert job.interrupt()
    assert job.stop()
    assert not job.interrupt()
    assert job.wait(120)["SecondaryStatus"] == "Stopped"


def test_job_that_ignores_the_request_to_stop_is_killed(make_request: MakeRequest, start: Start) -> None:
    """After the grace time a script has no choice; asking again can shorten that time."""
    ready = Ready()
    script = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready')\nwhile True: signal.pause()"
    job = start(make_request(script), on_event=ready)
    ready.wait()
    job.stop()
    job.stop(grace_seconds=0.1)
    description = job.wait(60)
    assert description["TrainingJobStatus"] == "Stopped"
    assert description["ModelArtifacts"] == {"S3ModelArtifacts": ""}  # which clients ask for without a model, too


def test_job_that_runs_too_long_is_stopped(make_request: MakeRequest, tmp_path: Path) -> None:
    """MaxRuntimeInSeconds is kept, and the description says that it was the reason."""
    request = make_request("import signal; signal.pause()", StoppingCondition={"MaxRuntimeInSeconds": 1})
    description = run_training_job(request, tmp_path).describe()
    assert (description["TrainingJobStatus"], description["SecondaryStatus"]) == ("Stopped", "MaxRuntimeExceeded")


def test_job_wait_with_timeout_gives_up_waiting_only(make_request: MakeRequest, start: Start) -> None:
    """A wait may be too short; the job goes on, and leaving its block stops it."""
    with start(make_request("import signal; signal.pause()")) as job:
        with pytest.raises(TimeoutError, match="job-1"):
            job.wait(timeout=0.01)
        assert job.describe()["TrainingJobStatus"] == "InProgress"
    assert job.describe()["TrainingJobStatus"] == "Stopped"


def test_job_command_is_run_in_place_of_a_script(make_request: MakeRequest, tmp_path: Path) -> None:
    """A container's entry point runs as a command; python means the interpreter of the job."""
    command = {
        "TrainingImage": "image",
        "TrainingInputMode": "File",
        "ContainerEntrypoint": ["/bin/sh", "-c"],
        "ContainerArguments": ["python -c 'import attrs' && echo done > /opt/ml/model/result"],
    }
    job = run_training_job(make_request("", AlgorithmSpecification=command), tmp_path)
    assert (job.folder / "opt/ml/model/result").read_text() == "done\n"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {
                "InputDataConfig": [
                    {
                        "ChannelName": "c",
                        "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://nowhere/x"}},
                    }
                ]
            },
            r"channel 'c' has no data: nothing exists at 's3://nowhere/x'",
        ),
        ({"HyperParameters": {"lr": "1"}}, "AlgorithmSpecification: .*sagemaker_program"),
        (
            {"HyperParameters": {"sagemaker_program": "t.py", "sagemaker_submit_directory": "s3://nowhere/x.tar.gz"}},
            "HyperParameters: 'sagemaker_submit_directory'.*s3://nowhere",
        ),
        ({"DebugHookConfig": {"S3OutputPath": "s3://bucket/a/../b"}}, "DebugHookConfig: .*must not hold"),
        ({"DebugHookConfig": {"S3OutputPath": "s3://bucket", "LocalPath": "tensors"}}, "DebugHookConfig: .*absolute"),
        ({"DebugRulesConfigurations": []}, "DebugRuleConfigurations"),
    ],
    ids=["channel", "entry point", "source", "output path", "local path", "misspelt member"],
)
def test_job_with_a_wrong_request_is_refused_before_anything_starts(
    make_request: MakeRequest, tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    """What cannot work is told at once, by member, and nothing is written."""
    with pytest.raises(RequestValidationError, match=problem):
        run_training_job(make_request("", **change), tmp_path)
    assert not (tmp_path / "jobs").exists()


def test_job_with_several_mistakes_tells_them_all(make_request: MakeRequest, tmp_path: Path) -> None:
    """One error names every problem of a request."""
    request = make_request("", HyperParameters={}, DebugHookConfig={"S3OutputPath": "s3://UPPER/x"})
    with pytest.raises(RequestValidationError) as caught:
        run_training_job(request, tmp_path)
    assert [problem.partition(":")[0] for problem in caught.value.problems] == [
        "AlgorithmSpecification",
        "DebugHookConfig",
    ]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("program", r"got 'tran.py'.*train\.py"),
        ("command", "could not be started: No such file or directory: 'no-such-program'"),
        ("archive", "cannot be unpacked"),
    ],
)
def test_job_that_cannot_be_prepared_leaves_nothing(
    make_request: MakeRequest, tmp_path: Path, wrong: str, message: str
) -> None:
    """A job that fails before its entry point runs gives its name back."""
    request = make_request("print('hello')")
    broken = copy.deepcopy(request)
    archive = tmp_path / "s3/bucket/job-1/code/sourcedir.tar.gz"
    content = archive.read_bytes()
    if wrong == "program":
        broken["HyperParameters"]["sagemaker_program"] = "tran.py"
    elif wrong == "command":
        broken["AlgorithmSpecification"]["ContainerEntrypoint"] = ["no-such-program"]
    else:
        archive.write_bytes(content[:100])
    with pytest.raises((SMDebugRuntimeError, SMDebugValueError), match=message):
        run_training_job(broken, tmp_path)
    assert list((tmp_path / "jobs").iterdir()) == []
    archive.write_bytes(content)
    assert run_training_job(request, tmp_path).describe()["TrainingJobStatus"] == "Completed"


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"python": "no-such-python"}, "python must be .*no-such-python"),
        ({"stop_grace_seconds": -1.0}, "stop_grace_seconds must be .*-1.0"),
        ({"stop_grace_seconds": float("nan")}, "stop_grace_seconds must be .*nan"),
    ],
)
def test_job_with_a_wrong_option_is_refused(
    make_request: MakeRequest, tmp_path: Path, option: dict[str, Any], message: str
) -> None:
    """Options are checked before anything starts."""
    with pytest.raises(SMDebugValueError, match=message):
        run_training_job(make_request(""), tmp_path, **option)
    assert not (tmp_path / "jobs").exists()


def test_job_that_was_not_started_cannot_be_waited_for(make_request: MakeRequest, tmp_path: Path) -> None:
    """Waiting for what nobody began is an error, not a wait for ever."""
    with LocalTrainingJob(make_request(""), tmp_path) as job, pytest.raises(SMDebugRuntimeError, match="not started"):
        job.wait()


def test_job_of_several_hosts_runs_as_one_and_says_so(
    make_request: MakeRequest, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What this machine does otherwise than SageMaker is in the log."""
    resources = {"InstanceType": "ml.m5.xlarge", "InstanceCount": 2, "VolumeSizeInGB": 30}
    run_training_job(make_request("", ResourceConfig=resources), tmp_path)
    assert "only host" in caplog.text


def test_job_with_local_folders_runs_unchecked(make_request: MakeRequest, tmp_path: Path, save_steps: str) -> None:
    """Without the check local folders may stand where S3 locations do."""
    request = make_request(save_steps, DebugHookConfig={"S3OutputPath": str(tmp_path / "my trials")})
    with pytest.raises(RequestValidationError):
        run_training_job(request, tmp_path)
    job = run_training_job(request, tmp_path, check=False)
    assert job.trial_path == tmp_path / "my trials" / "job-1" / "debug-output"
    assert job.trial().steps() == [0, 1, 2, 3]


def test_job_ships_tensorboard_and_checkpoints_too(make_request: MakeRequest, tmp_path: Path) -> None:
    """Every output member of the request is served."""
    script = """
        import json, os
        for name in ("TENSORBOARD", "CHECKPOINT"):
            with open(os.environ[f"{name}_CONFIG_FILE_PATH"]) as file:
                folder = json.load(file)["LocalPath"]
            with open(os.path.join(folder, name.lower()), "w") as file:
                file.write(name)
    """
    outputs = {
        "TensorBoardOutputConfig": {"S3OutputPath": "s3://bucket/tb"},
        "CheckpointConfig": {"S3Uri": "s3://bucket/checkpoints"},
    }
    request = make_request(script, **outputs)
    del request["DebugHookConfig"]
    job = run_training_job(request, tmp_path)
    assert (tmp_path / "s3/bucket/tb/job-1/tensorboard-output/tensorboard").read_text() == "TENSORBOARD"
    assert (tmp_path / "s3/bucket/checkpoints/checkpoint").read_text() == "CHECKPOINT"
    assert (job.debugger_artifacts_path, job.trial_path) == (None, None)
    with pytest.raises(SMDebugRuntimeError, match="no DebugHookConfig"):
        job.trial()


def test_job_name_that_is_in_use_is_refused(make_request: MakeRequest, tmp_path: Path) -> None:
    """A name is used once in a work folder, and the first job stays as it is."""
    request = make_request("")
    description = run_training_job(request, tmp_path).describe()
    with pytest.raises(SMDebugRuntimeError, match=r"'job-1' already exists.*choose another name"):
        run_training_job(request, tmp_path)
    assert describe_training_job("job-1", tmp_path) == description


def test_job_name_whose_trial_is_still_there_is_refused(make_request: MakeRequest, tmp_path: Path) -> None:
    """Removing a job's folder is not enough to start over: two trials would mix."""
    request = make_request("")
    job = run_training_job(request, tmp_path)
    shutil.rmtree(job.folder)
    with pytest.raises(SMDebugRuntimeError, match=r"debug-output' already holds the trial"):
        run_training_job(request, tmp_path)
    assert not job.folder.exists()


def test_trial_of_a_job_that_has_just_started_is_waited_for(
    make_request: MakeRequest, save_steps: str, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """A notebook may open the trial right after the start; one line says what it waits for."""
    job = start(make_request("import time; time.sleep(1)\n" + save_steps + "time.sleep(2)\n"))
    trial = job.trial()
    assert trial.name == "job-1"
    assert repr(job).startswith("<LocalTrainingJob 'job-1': InProgress, in '")
    assert [text for text in caplog.messages if "waiting for" in text] == [
        "waiting for training job job-1: it has saved nothing yet; interrupt to stop"
    ]


def test_trial_of_a_job_that_ends_without_tensors_is_not_waited_for_any_longer(
    make_request: MakeRequest, start: Start
) -> None:
    """The end of the job ends the wait."""
    job = start(make_request("import time; time.sleep(1)"))
    with pytest.raises((TrialNotFoundError, MissingCollectionFiles)):
        job.trial()
    assert job.describe()["TrainingJobStatus"] == "Completed"


def test_job_request_is_not_changed(make_request: MakeRequest, tmp_path: Path) -> None:
    """The caller's request stays the caller's."""
    request, same = make_request("", name="a"), make_request("", name="b")
    same = {**same, "TrainingJobName": "a", "HyperParameters": request["HyperParameters"]}
    run_training_job(request, tmp_path)
    assert request == same


def test_job_outputs_on_a_full_disk_fail_the_job_clearly(
    make_request: MakeRequest, save_steps: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When tensors cannot be shipped the job fails with the file and the reason, and no index file lacks its data."""
    write, link = LocalBackend.write, LocalBackend.link

    def is_full(backend: LocalBackend, key: str) -> bool:
        return "debug-output" in backend.url and key.startswith("events/000000000002")

    def write_unless_full(self: LocalBackend, key: str, parts: Sequence[Buffer]) -> None:
        if is_full(self, key):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, key, parts)

    monkeypatch.setattr(LocalBackend, "write", write_unless_full)
    monkeypatch.setattr(LocalBackend, "link", lambda self, key, path: not is_full(self, key) and link(self, key, path))
    with pytest.raises(TrainingJobError, match=r"events/000000000002.*could not be written.*No space left on device"):
        run_training_job(make_request(save_steps), tmp_path)
    backend = LocalBackend(tmp_path / "s3/bucket/out/job-1/debug-output")
    events = {info.key.split("/")[1] for info in backend.list("events/")}
    assert {info.key.split("/")[-1].split("_")[0] for info in backend.list("index/")} <= events
    assert not has_ended(backend)


def test_job_when_it_saves_tensors_then_they_are_on_disk_once(
    make_request: MakeRequest, save_steps: str, tmp_path: Path
) -> None:
    job = run_training_job(make_request(save_steps), tmp_path)
    source = job.folder / "opt/ml/output/tensors"
    backend = trial_backend(job)
    shipped = [info.key for info in backend.list() if info.key != END_KEY]
    assert len(shipped) == 9  # collections, and an event file and an index file of each of 4 steps
    assert all((source / key).samefile(backend.root / key) for key in shipped)


@pytest.mark.parametrize(("exit_code", "status"), [(0, "Completed"), (3, "Failed")])
def test_job_when_the_disk_is_full_for_its_description_then_other_processes_read_how_it_ended(
    make_request: MakeRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exit_code: int, status: str
) -> None:
    write = LocalBackend.write

    def write_unless_full(self: LocalBackend, key: str, parts: Sequence[Buffer]) -> None:
        if key == "description.json" and b"TrainingStartTime" in bytes(parts[0]):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, key, parts)

    monkeypatch.setattr(LocalBackend, "write", write_unless_full)
    with contextlib.suppress(TrainingJobError):
        run_training_job(make_request(f"raise SystemExit({exit_code})"), tmp_path)
    description = describe_training_job("job-1", tmp_path)
    assert description["TrainingJobStatus"] == status
    assert [transition["Status"] for transition in description["SecondaryStatusTransitions"]][-2:] == [
        "Uploading",
        status,
    ]
    assert ("AlgorithmError: exit code 3" in description.get("FailureReason", "")) == (status == "Failed")
    assert not (tmp_path / "jobs/job-1/description.reserve").exists()


def test_job_when_there_is_no_space_for_its_description_then_it_does_not_start(
    make_request: MakeRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_bytes = Path.write_bytes

    def write_unless_full(self: Path, data: bytes) -> int:
        if self.name == "description.reserve":
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_bytes(self, data)

    request = make_request("print(1)")
    monkeypatch.setattr(Path, "write_bytes", write_unless_full)
    with pytest.raises(SMDebugRuntimeError, match=r"could not be prepared.*No space left on device"):
        run_training_job(request, tmp_path)
    assert not (tmp_path / "jobs/job-1").exists()


def test_job_event_handler_that_fails_does_not_disturb(
    make_request: MakeRequest, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A display that breaks is logged, and the job goes on."""
    job = run_training_job(make_request(""), tmp_path, on_event=lambda event: 1 / 0)
    assert job.describe()["TrainingJobStatus"] == "Completed"
    assert "event handler" in caplog.text


def test_report_when_asked_for_then_written_after_the_job_also_if_it_failed(
    make_request: MakeRequest, save_steps: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The page tells what was saved until then; a job without a trial only leaves a warning."""
    page = tmp_path / "report.html"
    run_training_job(make_request(save_steps), tmp_path, report=page)
    assert read_report(page)["trials"][0]["steps"] == {"TRAIN": 4}
    page.unlink()
    with pytest.raises(TrainingJobError):
        run_training_job(make_request(save_steps + "raise SystemExit(3)\n", name="job-2"), tmp_path, report=page)
    assert read_report(page)["trials"][0]["name"] == "job-2"
    page.unlink()
    run_training_job(make_request("pass", name="job-3"), tmp_path, report=page)
    assert not page.exists()
    assert "training job job-3: the report was not written: " in caplog.text


def test_report_when_not_waited_for_then_refused(make_request: MakeRequest, tmp_path: Path) -> None:
    """Nothing is started."""
    with pytest.raises(SMDebugValueError, match=r"report needs wait=True; .* \(got 'report.html'\)"):
        run_training_job(make_request("pass"), tmp_path, wait=False, report="report.html")
    assert not (tmp_path / "jobs").exists()


@pytest.mark.parametrize("has_handler", [False, True])
@pytest.mark.parametrize("progress", [None, True])
def test_progress_is_printed_on_request(
    make_request: MakeRequest,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    has_handler: bool,
    progress: bool | None,
) -> None:
    """Whoever waits for a job sees what it does, without code of his own; where nobody looks, nothing is printed."""
    events: list[Event] = []
    run_training_job(make_request(""), tmp_path, progress=progress, on_event=events.append if has_handler else None)
    lines = capsys.readouterr().err.splitlines()
    if progress:
        assert any(line.endswith(": InProgress (Training)") for line in lines)
        assert lines[-1].endswith(": Completed (Completed)")
    else:
        assert lines == []
    assert bool(events) == has_handler
