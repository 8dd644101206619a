"""Watchers and the training processes beside them are killed at random moments.

`--full` kills ten times as often.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import http.server
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import watched

from sagemaker_debug_ext import create_trial
from sagemaker_debug_ext.config.job_spec import ActionOptions, JobSpec, WatchOptions, encode_job_spec
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.watch import lease, program
from sagemaker_debug_ext.watch.status import WatchStatus

pytestmark = [pytest.mark.timeout(3600)]

NUM_KILLS = 12
NUM_AT_ONCE = 4
DRAIN_SECONDS = 20
EXIT_SECONDS = DRAIN_SECONDS + 5
LONGEST_SECONDS = 6.0
"""Time after which a kill comes at the latest: start, training and the last evaluations take about as long."""

NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def messages():
    """The messages that a webhook of this machine has received, by job."""
    received: dict[str, list[str]] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            received.setdefault(self.path.strip("/"), []).append(content["rule"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    received_by = (f"http://127.0.0.1:{server.server_port}", received)
    yield received_by
    server.shutdown()
    server.server_close()


@pytest.fixture
def quick_lease(monkeypatch):
    """A killed holder is waited for less than a second."""
    monkeypatch.setattr(lease, "EXPIRY_SECONDS", 0.5)
    monkeypatch.setattr(lease, "_LOOK_SECONDS", 0.1)


class Job:
    """A job in a folder, whose training process and watcher run."""

    def __init__(self, folder: Path, url: str) -> None:
        self.name = f"job-{next(NUMBERS)}"
        action = {"name": "webhook", "url": f"{url}/{self.name}"}
        rules = (
            {
                "RuleConfigurationName": "VanishingGradient",
                "RuleParameters": {"rule_to_invoke": "VanishingGradient", "action_json": json.dumps([action])},
            },
            {"RuleConfigurationName": "Exploding", "RuleParameters": {"rule_to_invoke": "ExplodingTensor"}},
        )
        self.spec = JobSpec(
            hook={"S3OutputPath": str(folder)},
            rules=rules,
            watch=WatchOptions(poll_seconds=0.05, drain_seconds=DRAIN_SECONDS),
            actions=ActionOptions(events=False),
        )
        variables = {"SAGEMAKER_DEBUG_EXT_JOB_NAME": self.name, **encode_job_spec(self.spec)}
        self.process = subprocess.Popen(
            [sys.executable, watched.__file__, str(folder)],
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.watcher = int(self.process.stdout.readline())

    @property
    def state(self):
        return open_backend(self.spec.state_location(self.name))

    @property
    def statuses(self) -> dict[str, str]:
        status = WatchStatus.read(self.state)
        return {rule["RuleConfigurationName"]: rule["RuleEvaluationStatus"] for rule in status.rules}

    def wait(self) -> int:
        """Wait for the end of training; return the exit code."""
        with self.process.stdout as lines:
            for line in lines:
                if line == "closing\n":
                    break
        return self.process.wait(EXIT_SECONDS)

    def wait_for_watcher(self) -> None:
        deadline = time.monotonic() + EXIT_SECONDS
        while Path(f"/proc/{self.watcher}").exists():
            assert time.monotonic() < deadline, f"the watcher of {self.name} hangs"
            time.sleep(0.1)

    def resume(self) -> None:
        assert program.watch(self.spec, self.name, place="here", has_ended_training=True) == program.EXIT_DONE


@pytest.fixture
def num_kills(is_full):
    return NUM_KILLS * (10 if is_full else 1)


def at_random_moments(kill: Callable[[float], Any], num_kills: int, seed: int) -> list[Any]:
    """Call a function with random numbers of seconds, several times at once; return its results."""
    rng = random.Random(seed)
    moments = [rng.uniform(0, LONGEST_SECONDS) for _ in range(num_kills)]
    with concurrent.futures.ThreadPoolExecutor(NUM_AT_ONCE) as executor:
        return list(executor.map(kill, moments))


def expected_statuses(job) -> dict[str, str]:
    """Return the statuses that follow from the trial of a killed job."""
    trial_location = job.spec.trial_location(job.name)
    if not open_backend(trial_location).list("collections/"):
        return dict.fromkeys(("VanishingGradient", "Exploding"), "Error")
    trial = create_trial(trial_location, wait_seconds=0)
    assert trial.loaded_all_steps
    vanishing = "IssuesFound" if len(trial.steps()) > watched.FIRST_BAD_STEP else "NoIssuesFound"
    return {"VanishingGradient": vanishing, "Exploding": "NoIssuesFound"}


def sent(received, job) -> int:
    """Return the number of messages of a job; none if its watcher died between mark and message."""
    number = len(received.get(job.name, ()))
    tokens = [json.loads(content) for content in tokens_of(job) if content]
    assert number <= 1
    if any(token["outcome"] == "done" for token in tokens):
        assert number == 1
    return number


def tokens_of(job):
    return [bytes(job.state.read(info.key)) for info in job.state.list("actions/")]


def test_watcher_when_killed_at_random_moments_then_no_result_is_lost_and_no_message_sent_twice(
    tmp_path, messages, quick_lease, num_kills, seed, capsys
):
    """Training ends as without the kill, and a later watcher gives the results."""
    url, received = messages

    def kill(seconds: float) -> int:
        job = Job(tmp_path, url)
        time.sleep(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(job.watcher, signal.SIGKILL)
        assert job.wait() == 0
        trial = create_trial(job.spec.trial_location(job.name))
        assert trial.steps() == list(range(watched.NUM_STEPS))
        assert trial.loaded_all_steps
        job.resume()
        assert job.statuses == {"VanishingGradient": "IssuesFound", "Exploding": "NoIssuesFound"}
        return sent(received, job)

    num_messages = sum(at_random_moments(kill, num_kills, seed))
    with capsys.disabled():
        print(f"\n{num_kills} watchers killed, {num_messages} messages, seed {seed}")


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc")
def test_training_when_killed_at_random_moments_then_its_watcher_ends_and_reports(
    tmp_path, messages, quick_lease, num_kills, seed, capsys
):
    """The trial is marked as ended, and every rule has its last status."""
    url, received = messages

    def kill(seconds: float) -> str:
        job = Job(tmp_path, url)
        time.sleep(seconds)
        job.process.kill()
        job.process.communicate()
        job.wait_for_watcher()
        first = job.statuses
        assert first == expected_statuses(job)
        job.resume()
        assert job.statuses == first
        sent(received, job)
        return first["VanishingGradient"]

    found = at_random_moments(kill, num_kills, seed + 1)
    with capsys.disabled():
        print(f"\n{num_kills} training processes killed: { ({name: found.count(name) for name in set(found)}) }")
