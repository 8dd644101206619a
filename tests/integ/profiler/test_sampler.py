"""Real samplers in processes of their own: two trainers, killed trainers, killed samplers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("psutil")

from sagemaker_debug_ext.cli.main import main
from sagemaker_debug_ext.local import run_training_job
from sagemaker_debug_ext.profiler import LocalSystemMetricsReader
from sagemaker_debug_ext.profiler.sampler import start_sampler
from sagemaker_debug_ext.profiler.start import start_profiling_from_environment
from support.timelines import count_phases

TRAINER = """
import sys, time
from sagemaker_debug_ext.profiler.sampler import start_sampler
sampler = start_sampler(sys.argv[1], 100)
print("started", flush=True)
while True:
    print(sampler.pid, flush=True)
    time.sleep(0.1)
"""


def wait_for(condition, seconds=30.0):
    """Return the first true answer."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.05)
    raise AssertionError(f"not true within {seconds} s")


class Trainer:
    def __init__(self, folder) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", TRAINER, str(folder)], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "started\n"

    def sampler_pid(self) -> int | None:
        text = self.process.stdout.readline().strip()
        return None if text == "None" else int(text)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def trainers():
    started = []

    def start(folder) -> Trainer:
        started.append(Trainer(folder))
        return started[-1]

    yield start
    for trainer in started:
        if trainer.process.poll() is None:
            trainer.kill()


def events(folder):
    return LocalSystemMetricsReader(folder).get_events(0, 1 << 60)


def is_alive(pid) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def last_words(folder) -> dict[str, object]:
    path = folder / "system" / "last_words.algo-1.json"
    wait_for(path.exists)
    return json.loads(path.read_text())


def test_sampler_when_it_ran_then_wrote_every_family_on_multiples_of_the_interval(tmp_path):
    """Each tick holds memory, cores, disks and network, in this order, and the end is marked."""
    with start_sampler(tmp_path, 200) as sampler:
        wait_for(lambda: sampler.pid)
        time.sleep(2)
    found = events(tmp_path)
    assert {"memory", "cpu", "network"} <= {event.type for event in found}
    assert (tmp_path / "system" / "training_job_end.ts").read_bytes() == b""
    assert last_words(tmp_path)["cause"] == "exited"
    memory = [event.timestamp for event in found if event.name == "MemoryUsedPercent"]
    assert len(memory) >= 3
    ticks = [round(timestamp / 0.2) for timestamp in memory[1:]]
    assert ticks == sorted(set(ticks))
    busy = [event.value for event in found if event.dimension == "CPUUtilization" and event.type == "cpu"]
    assert busy
    assert all(0 <= value <= 100 for value in busy)


def test_sampler_when_the_trainer_is_killed_then_files_are_whole_and_say_so(tmp_path, trainers):
    """The sampler outlives its trainer for a moment, writes the rest, and ends."""
    trainer = trainers(tmp_path)
    pid = wait_for(trainer.sampler_pid)
    wait_for((tmp_path / "system").exists)
    time.sleep(1)
    trainer.kill()
    assert last_words(tmp_path)["cause"] == "killed"
    wait_for((tmp_path / "system" / "training_job_end.ts").exists)
    wait_for(lambda: not is_alive(pid))
    assert events(tmp_path)
    reader = LocalSystemMetricsReader(tmp_path)
    reader.get_all_rows()
    assert reader.problems == []


def test_sampler_when_it_is_killed_then_another_goes_on(tmp_path, trainers):
    """A killed sampler is started again, and the trainer does not notice."""
    trainer = trainers(tmp_path)
    first = wait_for(trainer.sampler_pid)
    os.kill(first, signal.SIGKILL)
    second = wait_for(lambda: (pid := trainer.sampler_pid()) and pid != first and pid)
    assert second != first
    assert trainer.process.poll() is None


def test_sampler_when_two_trainers_share_a_machine_then_one_samples_and_the_other_takes_over(tmp_path, trainers):
    """Two processes elect one sampler; when its trainer ends, the other's begins."""
    first = trainers(tmp_path)
    wait_for(first.sampler_pid)
    second = trainers(tmp_path)
    assert [second.sampler_pid() for _ in range(5)] == [None] * 5
    first.kill()
    wait_for(second.sampler_pid)
    time.sleep(1)
    second.kill()
    wait_for((tmp_path / "system" / "training_job_end.ts").exists)
    reader = LocalSystemMetricsReader(tmp_path)
    reader.get_all_rows()
    assert reader.problems == []


@pytest.mark.parametrize(("code", "status"), [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", 137)])
def test_command_when_its_program_ends_then_returns_its_status_and_records_it(code, status, tmp_path):
    """One command samples any program."""
    output = tmp_path / "out"
    program = ["--", sys.executable, "-c", f"import time; time.sleep(1); {code}"]
    assert main(["profile", "run", "--output", str(output), "--interval-millis", "100", *program]) == status
    assert last_words(output)["exit_code"] == (3 if status == 3 else -9)
    assert events(output)


def request(**members):
    script = {"sagemaker_program": "train.py", "sagemaker_submit_directory": members.pop("source")}
    return {
        "TrainingJobName": "job",
        "RoleArn": "arn:aws:iam::123456789012:role/R",
        "AlgorithmSpecification": {"TrainingImage": "image", "TrainingInputMode": "File"},
        "HyperParameters": script,
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/out"},
        "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        **members,
    }


@pytest.mark.parametrize(
    ("profiler", "is_sampled"),
    [
        ({"S3OutputPath": "s3://bucket/prof", "ProfilingIntervalInMilliseconds": 100}, True),
        (None, True),
        ({"DisableProfiler": True}, False),
    ],
    ids=["asked for", "by default", "disabled"],
)
def test_local_job_when_its_profiler_is_not_disabled_then_is_sampled(profiler, is_sampled, tmp_path):
    """Local jobs have system metrics where AWS puts them, unless the request disables the profiler."""
    source = tmp_path / "src"
    source.mkdir()
    (source / "train.py").write_text(
        "import time\n"
        "from sagemaker_debug_ext.profiler.timeline import profile_phase\n"
        "with profile_phase('load'):\n    time.sleep(1.5)\n"
    )
    members = {} if profiler is None else {"ProfilerConfig": profiler}
    job = run_training_job(request(source=str(source), **members), tmp_path / "work", check=False)
    if not is_sampled:
        assert job.profiler_path is None
        return
    assert job.profiler_path is not None
    assert last_words(job.profiler_path)["exit_code"] == 0
    assert events(job.profiler_path)
    assert count_phases(job.profiler_path) == {"load": 1}
    if profiler:
        assert job.profiler_path == tmp_path / "work" / "s3" / "bucket" / "prof" / "job" / "profiler-output"


def test_local_job_when_it_is_updated_then_its_sampler_follows(tmp_path):
    """UpdateTrainingJob changes the interval of a running job, and switches its profiler off."""
    source = tmp_path / "src"
    source.mkdir()
    (source / "train.py").write_text("import time; time.sleep(60)\n")
    profiler = {"S3OutputPath": "s3://bucket/prof", "ProfilingIntervalInMilliseconds": 60_000}
    members = {"source": str(source), "ProfilerConfig": profiler}
    job = run_training_job(request(**members), tmp_path / "work", check=False, wait=False)
    path = job.profiler_path

    def num_samples():
        files = LocalSystemMetricsReader(path).get_events(0, 1 << 60) if path.exists() else ()
        return len([event for event in files if event.name == "MemoryUsedPercent"])

    try:
        wait_for(num_samples)  # two, if a minute begins between them
        job.update(ProfilerConfig={**profiler, "ProfilingIntervalInMilliseconds": 100})
        wait_for(lambda: num_samples() > 10)
        job.update(ProfilerConfig={"DisableProfiler": True})
        time.sleep(2)  # the change is seen, and the last samples are written
        before = num_samples()
        time.sleep(1)
        assert num_samples() == before
    finally:
        job.stop()
        job.wait()


def test_local_job_when_it_has_profiler_rules_then_describes_their_verdicts(tmp_path):
    """Rules of the request are evaluated on the samples of the job."""
    source = tmp_path / "src"
    source.mkdir()
    (source / "train.py").write_text("import time; time.sleep(2)\n")
    rules = [
        {"RuleConfigurationName": "Report", "RuleEvaluatorImage": "image", "RuleParameters": {"rule_to_invoke": rule}}
        for rule in ("ProfilerReport",)
    ]
    profiler = {"S3OutputPath": "s3://bucket/prof", "ProfilingIntervalInMilliseconds": 100}
    members = {"ProfilerConfig": profiler, "ProfilerRuleConfigurations": rules}
    job = run_training_job(request(source=str(source), **members), tmp_path / "work", check=False)
    (status,) = job.describe()["ProfilerRuleEvaluationStatuses"]
    assert status["RuleEvaluationStatus"] == "NoIssuesFound"
    assert "CPUBottleneck: no GPU" in status["StatusDetails"]
    (usage,) = (tmp_path / "work").rglob("OverallSystemUsage.json")
    assert "CPU" in json.loads(usage.read_text())["Details"]


def test_script_when_the_environment_names_a_folder_then_is_sampled(tmp_path):
    """One variable is enough for a script that is run unchanged."""
    script = tmp_path / "train.py"
    script.write_text("import time; time.sleep(1.5)\n")
    environment = {**os.environ, "SAGEMAKER_DEBUG_EXT_PROFILE": str(tmp_path / "out"), "SM_CURRENT_HOST": "algo-2"}
    command = [sys.executable, "-m", "sagemaker_debug_ext.auto", str(script)]
    assert subprocess.run(command, env=environment, check=False).returncode == 0
    assert {event.node_id for event in events(tmp_path / "out")} == {"algo-2"}


@pytest.mark.parametrize("path", ["s3://bucket/x", ""])
def test_environment_when_its_value_is_wrong_then_nothing_is_sampled_and_nothing_raised(path, caplog):
    """A training script never fails because it cannot be sampled."""
    assert start_profiling_from_environment({"SAGEMAKER_DEBUG_EXT_PROFILE": path}) is None
    assert ("has no effect" in caplog.text) == bool(path)
