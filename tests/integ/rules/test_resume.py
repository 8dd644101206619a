"""Watchers that are killed with their jobs: resuming them gives the result of an undisturbed one, for every rule."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time

import pytest

from sagemaker_debug_ext.catalog import list_rule_specs
from sagemaker_debug_ext.config.job_spec import ActionOptions, JobSpec, WatchOptions
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.format.keys import program_key
from sagemaker_debug_ext.testing.trials import SmallTrial, write_trial
from sagemaker_debug_ext.watch import lease, program
from sagemaker_debug_ext.watch.status import WatchStatus
from support.rule_scenes import EXTRA_SCENES, ONES, SAGEMAKER_SCENES, Scene, train
from support.rule_trials import GLOBAL, TRAIN

QUIET = ("CreateXgboostReport", "StalledTrainingRule")
"""The one finds no issues, the other none in a job that goes on."""

SCENES = {
    **SAGEMAKER_SCENES,
    **EXTRA_SCENES,
    **{rule: Scene(train(*[{"loss": ONES}] * 4), [], {}, ()) for rule in QUIET},
}

WATCH_ALL = """
import sys, threading
from sagemaker_debug_ext.config.job_spec import JobSpec
from sagemaker_debug_ext.watch import program

program.HEARTBEAT_SECONDS = 0.05
for line in sys.stdin:
    name, _, text = line.partition(" ")
    arguments = {"args": (JobSpec.from_json(text), name), "kwargs": {"place": "container"}}
    threading.Thread(target=program.watch, **arguments).start()
"""


class Job:
    """A job with one rule, whose trial is that of the rule's scene."""

    def __init__(self, folder, kind, rule, other):
        scene = SCENES[rule]
        self.rule, self.name = rule, f"{kind}-{rule}"
        parameters = {name: str(value) for name, value in scene.parameters.items()}
        if scene.other is not None:
            parameters["other_trials"] = str(other / rule)
        self.spec = JobSpec(
            hook={"S3OutputPath": str(folder)},
            rules=({"RuleConfigurationName": rule, "RuleParameters": {"rule_to_invoke": rule, **parameters}},),
            watch=WatchOptions(poll_seconds=0.01),
            actions=ActionOptions(events=False),
        )
        self._steps, self._second_worker = scene.steps, scene.second_worker
        workers = ("worker_0",) if scene.second_worker is None else ("worker_0", "worker_1")
        self._trial = SmallTrial(self.spec.trial_location(self.name), workers)
        if scene.program is not None:
            trial = open_backend(self.spec.trial_location(self.name))
            trial.write(program_key("worker_0"), [scene.program.to_json().encode()])
        self.num_written = 0

    def write(self, num_steps=None):
        """Write the next steps of the scene, all that are left by default."""
        for step in range(self.num_written, len(self._steps) if num_steps is None else num_steps):
            mode, tensors = self._steps[step]
            modes = [other for other, _ in self._steps[:step]]
            mode_step = step if mode is GLOBAL else modes.count(mode)
            self._trial.write(mode, mode_step, tensors, global_step=step, worker="worker_0")
            if self._second_worker is not None:
                self._trial.write(mode, mode_step, self._second_worker, global_step=step, worker="worker_1")
            self.num_written = step + 1

    def write_half(self):
        self.write(len(self._steps) // 2)

    def end(self):
        self._trial.end()

    def watch(self, **options):
        assert program.watch(self.spec, self.name, place="here", **options) == program.EXIT_DONE

    def status(self):
        return WatchStatus.read(open_backend(self.spec.state_location(self.name)))

    def is_judged(self):
        """Whether the watcher has evaluated what was written."""
        status = self.status()
        last = status and status.document["trial"]["judged_step"]
        return status is not None and (status.is_final or (-1 if last is None else last) == self.num_written - 1)

    def result(self):
        """Return the result of the rule without the time."""
        location = self.spec.rule_locations(self.name)[self.rule]
        result = json.loads(bytes(open_backend(location).read("rule-result.json")))
        if self.rule == "StalledTrainingRule":  # the end of the job decides whether the last step has a verdict
            result["num_steps"] += result.pop("num_skipped")
        return {name: value for name, value in result.items() if name != "modified_at"}


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """The trials that rules compare theirs with."""
    folder = tmp_path_factory.mktemp("other")
    for rule, scene in SCENES.items():
        if scene.other is not None:
            write_trial(folder / rule, {(TRAIN, step): scene.other for step in range(3)})
    return folder


@pytest.fixture(scope="module")
def killed_jobs(tmp_path_factory, other):
    """A job for each rule that was killed with its watcher in the middle of training."""
    folder = tmp_path_factory.mktemp("killed")
    jobs = {rule: Job(folder, "killed", rule, other) for rule in SCENES}
    for job in jobs.values():
        job.write_half()
    process = subprocess.Popen(
        [sys.executable, "-c", WATCH_ALL], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    try:
        process.stdin.writelines(f"{job.name} {job.spec.to_json()}\n" for job in jobs.values())
        process.stdin.flush()
        deadline = time.monotonic() + 240
        while not all(job.is_judged() for job in jobs.values()):
            assert process.poll() is None
            assert time.monotonic() < deadline, [name for name, job in jobs.items() if not job.is_judged()]
            time.sleep(0.1)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert sum(not job.status().is_final for job in jobs.values()) > 20
    for job in jobs.values():
        job.write()  # what its watcher has not seen; nobody marks the end
    return jobs


def test_every_rule_has_a_scene():
    """So none is forgotten."""
    assert {spec.name for spec in list_rule_specs("debugger")} == set(SCENES)


@pytest.mark.parametrize("rule", SCENES)
def test_resume_when_a_job_was_killed_then_gives_the_result_of_an_undisturbed_watcher(
    rule, killed_jobs, other, tmp_path, monkeypatch
):
    """Which follows the job step by step, with the very steps and issues."""
    monkeypatch.setattr(lease, "EXPIRY_SECONDS", 0.0)
    monkeypatch.setattr(lease, "_LOOK_SECONDS", 0.01)
    undisturbed = Job(tmp_path, "undisturbed", rule, other)
    thread = threading.Thread(target=undisturbed.watch)
    thread.start()
    undisturbed.write_half()
    undisturbed.write()
    undisturbed.end()
    thread.join(60)
    assert not thread.is_alive()
    killed = killed_jobs[rule]
    killed.watch(has_ended_training=True)
    assert killed.result() == undisturbed.result()
    assert killed.result()["status"] == ("NoIssuesFound" if rule in QUIET else "IssuesFound")
    assert killed.status().document["generation"] == 2
    seen, seen_undisturbed = (job.status().document["trial"] for job in (killed, undisturbed))
    assert seen["judged_step"] == seen_undisturbed["judged_step"]
    # A watcher whose rule has fired ends, perhaps before the last step is saved.
    assert seen["judged_step"] <= seen_undisturbed["last_step"] <= seen["last_step"] == killed.num_written - 1
