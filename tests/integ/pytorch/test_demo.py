"""The demo: two real jobs, evaluated while they train."""

import json
import subprocess
import sys

import botocore.session
import botocore.validate
import pytest

from sagemaker_debug_ext import create_trial, modes
from sagemaker_debug_ext.cli.main import main

RULES = ["VanishingGradient", "ExplodingTensor", "LossNotDecreasing", "Overfit", "DeadRelu"]


def test_show_request_prints_two_requests_that_the_service_model_accepts(tmp_path, capsys):
    """Each request is one that boto3 would send."""
    assert main(["demo", "--work-dir", str(tmp_path), "--show-request"]) == 0
    requests = json.loads(capsys.readouterr().out)
    assert list(requests) == ["healthy", "vanishing"]
    model = botocore.session.get_session().get_service_model("sagemaker")
    shape = model.operation_model("CreateTrainingJob").input_shape
    for request in requests.values():
        assert not botocore.validate.ParamValidator().validate(request, shape).has_errors()
        assert [rule["RuleConfigurationName"] for rule in request["DebugRuleConfigurations"]] == RULES
        names = [item["CollectionName"] for item in request["DebugHookConfig"]["CollectionConfigurations"]]
        assert {"weights", "gradients", "biases", "losses", "relu_output"} <= set(names)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Run the command as a user does, and return what it printed on both channels."""
    work_dir = tmp_path_factory.mktemp("demo")
    command = [
        sys.executable,
        "-m",
        "sagemaker_debug_ext.cli.main",
        "demo",
        "--work-dir",
        str(work_dir),
        "--epochs",
        "30",
    ]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    return {report["net"]: report for report in json.loads(done.stdout)}, done.stderr


def test_healthy_net_learns_and_no_rule_fires(finished):
    """A sound job runs to its end, and the rules leave it alone."""
    report = finished[0]["healthy"]
    assert report["status"] == "Completed"
    assert report["accuracy"] > 0.9
    assert [(rule["name"], rule["status"]) for rule in report["rules"]] == [(name, "NoIssuesFound") for name in RULES]
    assert report["steps"] == {"GLOBAL": 30 * 23, "TRAIN": 30 * 22, "EVAL": 30}
    assert {"weights", "gradients", "biases", "losses", "relu_output"} <= set(report["collections"])
    trial = create_trial(report["trial_path"])
    for collection in ("gradients", "relu_output"):
        name = trial.tensor_names(collection=collection)[0]
        assert trial.tensor(name).steps(mode=modes.TRAIN) == list(range(0, 30 * 22, 20))


def test_broken_net_is_stopped_by_the_rule(finished):
    """The gradients are gone at the first saved step; the action ends the job long before its end."""
    report, printed = finished[0]["vanishing"], finished[1]
    assert report["status"] == "Stopped"
    found = report["rules"][0]
    assert (found["name"], found["status"], found["first_step"]) == ("VanishingGradient", "IssuesFound", 0)
    assert "'gradient/DeepSigmoidNet_layers.fc0.weight'" in found["message"]
    assert 0 < report["steps"]["GLOBAL"] < 30 * 23 // 2
    assert "rule VanishingGradient, action stoptraining" in printed


def test_both_trials_stay_and_can_be_opened(finished):
    """What was saved can be looked at afterwards."""
    for report in finished[0].values():
        trial = create_trial(report["trial_path"])
        assert trial.loaded_all_steps
        assert len(trial.tensor_names()) == report["tensors"]
        assert trial.tensor("CrossEntropyLoss_output_0").value(0).shape == ()
        assert main(["ls", report["trial_path"]]) == 0


def test_progress_is_plain_lines_when_nobody_watches(finished):
    """Without a terminal there are lines, no bars."""
    lines = finished[1].splitlines()
    assert any(line.endswith("InProgress (Training)") for line in lines)
    assert any("step 0 of 690 saved" in line for line in lines)
    assert "\x1b" not in finished[1]
