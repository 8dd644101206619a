"""Self-managed jobs profile themselves: system metrics and steps reach S3, and profiler rules are evaluated there."""

from __future__ import annotations

import importlib.util
import json
import time

import jsonschema
import pytest

from sagemaker_debug_ext import FrameworkProfile, ProfilerConfig, ProfilerRule, Rule, SelfManaged, rule_configs
from sagemaker_debug_ext.errors import DebugExtWarning
from sagemaker_debug_ext.profiler import S3SystemMetricsReader
from sagemaker_debug_ext.profiler.rules import evaluate_profile
from sagemaker_debug_ext.requests.self_managed import self_managed_request
from sagemaker_debug_ext.sdk.self_managed import with_rule_statuses
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.watch.status import STATUS_SCHEMA

pytestmark = pytest.mark.skipif(importlib.util.find_spec("psutil") is None, reason="needs psutil")

TRAIN = """
import os, signal, time
import torch
import sagemaker_debug_ext.pytorch as smd

hook = smd.Hook.create_from_json_file()
model = torch.nn.Linear(4, 2)
loss = torch.nn.CrossEntropyLoss()
hook.register_module(model)
hook.register_loss(loss)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(120):
    optimizer.zero_grad()
    loss(model(torch.randn(16, 4)), torch.randint(0, 2, (16,))).backward()
    time.sleep(0.3 if step % 40 == 20 else 0.001)
    optimizer.step()
if "KILLED" in os.environ:
    time.sleep(2)
    os.kill(os.getpid(), signal.SIGKILL)
"""
RULES = [
    ProfilerRule.sagemaker(rule_configs.StepOutlier(n_outliers=1), name="Outliers"),
    ProfilerRule.sagemaker(rule_configs.ProfilerReport()),
    ProfilerRule.sagemaker(rule_configs.LowGPUUtilization()),
]


@pytest.fixture
def run_job(run_job, tmp_path):
    """As for other jobs; each has a folder for temporary files of its own, as containers have."""

    def run(*arguments, **variables):
        return base(*arguments, **{"TMPDIR": str(tmp_path), **variables})

    base = run_job
    return run


def request_of(aws, name, **settings):
    """Return the request of a job that samples its machine five times a second."""
    return self_managed_request(
        {"TrainingJobName": name, "OutputDataConfig": {"S3OutputPath": aws}},
        profiler_config=ProfilerConfig(system_monitor_interval_millis=200),
        self_managed=SelfManaged(poll_seconds=0.2, stop="off"),
        **settings,
    )


def statuses_of(request, job_status="Completed"):
    """Return the statuses of the profiler rules as a description shows them."""
    described = with_rule_statuses({**request, "TrainingJobStatus": job_status})
    return {rule["RuleConfigurationName"]: rule for rule in described["ProfilerRuleEvaluationStatuses"]}


def test_job_when_it_has_ended_then_data_report_and_statuses_are_on_s3(aws, run_job):
    """The reader of the service's files reads them; the statuses are in the service's form, beside those of tensors."""
    request = request_of(aws, "profiled-1", rules=[*RULES, Rule.sagemaker(rule_configs.vanishing_gradient())])
    done = run_job(TRAIN, request)
    assert done.returncode == 0, done.stderr
    assert "rule=Outliers status=IssuesFound job=profiled-1" in done.stdout
    statuses = statuses_of(request)
    assert {name: rule["RuleEvaluationStatus"] for name, rule in statuses.items()} == {
        "Outliers": "IssuesFound",
        "ProfilerReport": "NoIssuesFound",
        "LowGPUUtilization": "NoIssuesFound",
    }
    assert "not evaluated" in statuses["LowGPUUtilization"]["StatusDetails"]
    status = json.loads(bytes(open_backend(f"{aws}/profiled-1/self-managed").read("status.json")))
    jsonschema.validate(status, STATUS_SCHEMA)
    assert [rule["RuleConfigurationName"] for rule in status["rules"]] == ["VanishingGradient"]
    location = f"{aws}/profiled-1/profiler-output"
    reader = S3SystemMetricsReader(location)
    reader.refresh_event_file_list()
    assert len(reader.get_events(0, time.time() * 1e6)) > 10
    (outliers,) = evaluate_profile(location, ["StepOutlier"])
    assert outliers.datapoints == 120
    report = open_backend(f"{aws}/profiled-1/rule-output/ProfilerReport/profiler-output")
    assert "profiler-reports/StepOutlier.json" in {info.key for info in report.list()}


def test_job_when_it_is_killed_then_what_was_recorded_is_evaluated(aws, run_job):
    """The sampler copies the rest after the training process is gone."""
    request = request_of(aws, "profiled-2", rules=RULES[:1])
    killed = run_job(TRAIN, request, KILLED="yes")
    assert killed.returncode == -9
    backend = open_backend(f"{aws}/profiled-2/profiler-output")
    assert wait_until(lambda: backend.exists("system/training_job_end.ts"))
    assert wait_until(lambda: statuses_of(request, "Failed")["Outliers"]["RuleEvaluationStatus"] != "InProgress")


def wait_until(condition, seconds=60.0):
    """Return whether a condition holds within some time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.2)
    return False


def test_job_when_a_detailed_profile_is_asked_for_then_it_is_on_s3(aws, run_job):
    """The settings of ``profilerconfig.json`` travel with the job, which no platform writes here."""
    with pytest.warns(DebugExtWarning, match="framework metrics"):  # the service collects none of today's frameworks
        config = ProfilerConfig(framework_profile_params=FrameworkProfile(start_step=5, num_steps=2))
    request = self_managed_request(
        {"TrainingJobName": "profiled-3", "OutputDataConfig": {"S3OutputPath": aws}}, profiler_config=config
    )
    done = run_job(TRAIN, request)
    assert done.returncode == 0, done.stderr
    keys = [info.key for info in open_backend(f"{aws}/profiled-3/profiler-output").list("framework/")]
    assert any("pevents" not in key and "training_job_end" not in key for key in keys), keys


def test_job_when_the_profiler_is_off_then_nothing_is_profiled(aws, run_job):
    """Neither by default nor with a configuration that is off."""
    for name, config in {"profiled-4": None, "profiled-5": ProfilerConfig(disable_profiler=True)}.items():
        request = self_managed_request(
            {"TrainingJobName": name, "OutputDataConfig": {"S3OutputPath": aws}}, profiler_config=config
        )
        assert run_job(TRAIN, request).returncode == 0
        assert open_backend(f"{aws}/{name}/profiler-output").list() == []
