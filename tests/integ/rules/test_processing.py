"""Two processes as the two instances of a Processing job, over a folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugValueError
from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.processing import (
    ProcessingEnvironment,
    main,
    merge_parts,
    read_surroundings,
    shards_of_host,
)
from sagemaker_debug_ext.rules.scaling import ProcessPool, RuleChoice, evaluate_on
from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

RULES = {
    "vanishing": {"rule": "VanishingGradient"},
    "loss": {"rule": "LossNotDecreasing", "parameters": {"num_steps": "5"}},
    "images": {"rule": "CheckInputImages", "parameters": {"regex": "input", "threshold_samples": 20}},
    "overfit": {"rule": "Overfit"},
    "exploding": {"rule": "ExplodingTensor", "parameters": {"only_nan": "True"}},
}
HOSTS = ("algo-1", "algo-2")


@pytest.fixture
def trial_path(tmp_path):
    """Return a trial of two workers that some rules fire on."""
    rng = np.random.default_rng(0)
    steps = {}
    for step in range(30):
        mode = ModeKeys.EVAL if step % 5 == 4 else ModeKeys.TRAIN
        steps[mode, step] = {
            "gradient/w": rng.normal(size=4) * (step % 4 != 0), "loss": rng.random(),
            "a_input": rng.normal(size=(2, 3, 2, 2)) + 1, "b_input": rng.normal(size=(2, 3, 2, 2)) - 2,
            "x": np.array([1.0, np.nan if step == 11 else 2.0]),
        }  # fmt: skip
    write_trial(tmp_path / "trial", steps, workers=("worker_0", "worker_1"))
    return tmp_path / "trial"


class Instance(NamedTuple):
    """What one instance is started with."""

    arguments: list[str]
    environment: dict[str, str]


@pytest.fixture
def lay_out(tmp_path, trial_path):
    """Return a function that lays out the folders of two instances."""

    def make(*options, is_sharded=True, rules=RULES, trial=None):
        files = sorted(path for path in (trial_path / "index").rglob("*.json"))
        instances = []
        for number, host in enumerate(HOSTS):
            folder = tmp_path / host
            for part in ("config", "output", "message"):
                (folder / part).mkdir(parents=True, exist_ok=True)
            for file in files[number::2] if is_sharded else ():
                target = folder / "index" / file.relative_to(trial_path / "index")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)
            distribution = "ShardedByS3Key" if is_sharded else "FullyReplicated"
            index = {"LocalPath": str(folder / "index"), "S3DataDistributionType": distribution}
            output = {"LocalPath": str(folder / "output"), "S3Uri": f"s3://bucket-of-results/{tmp_path.name}/"}
            (folder / "config" / "resourceconfig.json").write_text(
                json.dumps({"current_host": host, "hosts": list(reversed(HOSTS))})
            )
            described = {
                "ProcessingInputs": [{"InputName": "index", "S3Input": index}],
                "ProcessingOutputConfig": {"Outputs": [{"OutputName": "results", "S3Output": output}]},
            }
            (folder / "config" / "processingjobconfig.json").write_text(json.dumps(described))
            text = json.dumps(rules)
            arguments = [
                "--trial", str(trial or trial_path), "--rules", text[:40], text[40:], "--timeout", "60", *options,
                "--config-folder", str(folder / "config"), "--exchange", str(tmp_path / "exchange"),
            ]  # fmt: skip
            message = {"SAGEMAKER_DEBUG_EXT_MESSAGE_FILE": str(folder / "message" / "message")}
            instances.append(Instance(arguments, message))
        return instances

    return make


@pytest.fixture
def job(lay_out):
    """Return a function that starts two instances as processes; it returns what they said and their statuses."""

    def run(*options, environment=None, **given):
        started = [
            subprocess.Popen(
                [sys.executable, "-m", "sagemaker_debug_ext.rules.processing", *instance.arguments],
                env={**os.environ, **instance.environment, **(environment or {})},
                stderr=subprocess.PIPE,
                text=True,
            )
            for instance in lay_out(*options, **given)
        ]
        return [(process.communicate(timeout=120)[1], process.returncode) for process in started]

    return run


def alone(trial_path):
    trial = create_trial(str(trial_path))
    rules = {
        name: create_rule(reference["rule"], trial, reference.get("parameters")) for name, reference in RULES.items()
    }
    evaluation = evaluate(rules, trial)
    return [issue.to_json_dict() for issue in evaluation], evaluation.statuses


def results_of(folder):
    return {path.parent.name: json.loads(path.read_text()) for path in folder.glob("*/rule-result.json")}


@pytest.mark.parametrize("is_sharded", [True, False])
def test_two_instances_find_what_one_evaluation_finds(tmp_path, trial_path, job, is_sharded):
    """Whether the steps were dealt out by S3 key or not, for rules with a memory and without."""
    assert [code for _, code in job(is_sharded=is_sharded)] == [0, 0]
    issues, statuses = alone(trial_path)
    results = results_of(tmp_path / "algo-1" / "output")
    for status in statuses:
        found = results[status.name]
        assert found["issues"] == [issue for issue in issues if issue["rule"] == status.name]
        for field in ("status", "details", "first_issue_step", "num_issues", "num_steps", "num_skipped", "last_step"):
            assert found[field] == getattr(status, field), (status.name, field)
    assert results["vanishing"]["issues"]
    assert results["images"]["issues"][-1]["tensors"] == ["b_input", "a_input"]
    summary = json.loads((tmp_path / "algo-1" / "output" / "summary.json").read_text())
    assert [status["name"] for status in summary["statuses"]] == list(RULES)
    message = (tmp_path / "algo-1" / "message" / "message").read_text()
    assert message == "issues found by vanishing, loss, images, overfit, exploding"


def test_processes_of_one_machine_find_what_one_evaluation_finds(trial_path):
    """With more shards than processes."""
    choices = {name: RuleChoice(**reference) for name, reference in RULES.items()}
    pool = evaluate_on(ProcessPool(2), choices, str(trial_path), num_shards=3)
    assert [issue.to_json_dict() for issue in pool.issues] == alone(trial_path)[0]


def test_both_instances_have_a_part(trial_path, tmp_path):
    """Each step is evaluated once."""
    trial = create_trial(str(trial_path))
    rules = {name: RuleChoice(**reference) for name, reference in RULES.items()}
    surroundings = [
        ProcessingEnvironment(host=host, hosts=HOSTS, output_folder=str(tmp_path), exchange=str(tmp_path))
        for host in HOSTS
    ]
    first, second = (shards_of_host(rules, trial, host) for host in surroundings)
    assert first[-1].only_steps | second[-1].only_steps == set(trial.steps())
    assert not first[-1].only_steps & second[-1].only_steps
    assert [list(shard.rules) for shard in first] == [["loss"], ["images"], ["vanishing", "exploding"]]
    assert [list(shard.rules) for shard in second] == [["overfit"], ["images"], ["vanishing", "exploding"]]


def test_issues_fail_the_job_if_wanted_and_actions_run_once(tmp_path, job):
    """At the instance that puts everything together."""
    marker = json.dumps({"name": "call", "function": "processing_action:note"})
    (tmp_path / "processing_action.py").write_text(
        f"def note(rule, message):\n    print(rule, file=open({str(tmp_path / 'calls')!r}, 'a'))\n"
    )
    rules = {"vanishing": {"rule": "VanishingGradient", "parameters": {"action_json": marker}}}
    path = {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    assert [code for _, code in job("--fail-on-issues", rules=rules, environment=path)] == [1, 0]
    assert (tmp_path / "calls").read_text() == "VanishingGradient\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [({"trial": "nothing"}, "nothing"), ({"rules": {"a": {"rule": "Overfitt"}}}, "did you mean 'Overfit'")],
    ids=["no trial", "unknown rule"],
)
def test_what_goes_wrong_is_told_by_every_instance(tmp_path, lay_out, monkeypatch, capsys, given, said):
    """At once: the first one does not wait for the other one, which has not even begun."""
    monkeypatch.chdir(tmp_path)
    for host, instance in zip(HOSTS, lay_out(**given), strict=True):
        for name, value in instance.environment.items():
            monkeypatch.setenv(name, value)
        assert main(instance.arguments) == 2
        assert capsys.readouterr().err.startswith("error: ")
        assert said in (tmp_path / host / "message" / "message").read_text()


def test_an_instance_that_failed_is_not_waited_for(tmp_path, trial_path):
    """What it left says why; one that never comes is given up."""
    trial = create_trial(str(trial_path))
    surroundings = ProcessingEnvironment(host="algo-1", hosts=HOSTS, output_folder="o", exchange=str(tmp_path))
    (tmp_path / "algo-1.json").write_text('{"parts": []}')
    with pytest.raises(SMDebugRuntimeError, match=r"nothing has come from algo-2 for 0 seconds"):
        merge_parts({}, trial, surroundings, timeout_seconds=0, sleep=lambda _: None)
    (tmp_path / "algo-2.json").write_text('{"error": "TrialNotFoundError: gone"}')
    with pytest.raises(SMDebugRuntimeError, match="algo-2 failed: TrialNotFoundError: gone"):
        merge_parts({}, trial, surroundings, timeout_seconds=0)


def test_outside_of_a_job_it_says_what_is_missing(tmp_path, capsys):
    """Not with a traceback."""
    assert main(["--trial", "x", "--rules", "{}", "--config-folder", str(tmp_path)]) == 2
    assert "resourceconfig.json must be a JSON file" in capsys.readouterr().err
    for name in ("resourceconfig.json", "processingjobconfig.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(SMDebugValueError, match="must name the hosts and an output 'results'"):
        read_surroundings(str(tmp_path))
