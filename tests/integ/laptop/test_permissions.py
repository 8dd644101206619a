"""Permissions of watchers outside the container: the policies of the template allow their requests, and no others."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from sagemaker_debug_ext import (
    ActionList,
    CollectionConfig,
    DebuggerHookConfig,
    Email,
    Rule,
    SelfManaged,
    StopTraining,
    rule_configs,
    self_managed_request,
)
from sagemaker_debug_ext.template import render_template
from support.laptop import TRAIN
from support.permissions import RECORDER, described, refused_and_unused

pytestmark = pytest.mark.skipif(importlib.util.find_spec("xgboost") is None, reason="needs XGBoost")

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
SHORT = TRAIN.replace("100_000", "40").replace("time.sleep(0.02)", "time.sleep(0.1)")
UNMARKED = SHORT + "import os; time.sleep(3); os.kill(os.getpid(), 9)\n"
"""The watcher marks the end of the trial, since the hook cannot."""

PROGRAM = "import sys\nfrom sagemaker_debug_ext.watch.program import main\nsys.exit(main({arguments}))"
ACTOR = """
import os, threading
from sagemaker_debug_ext.watch.ray_actor import _Actor

actor = _Actor(dict(os.environ))
threading.Timer(12, actor.end).start()
assert actor.run() == 0
"""
"""What an actor of Ray runs, in a process."""

WATCHERS = {
    "processing": PROGRAM.format(arguments=["--job", "NAME", "--place", "processing"]),
    "pod": PROGRAM.format(arguments=["--place", "pod"]),
    "actor": ACTOR,
}


@pytest.fixture(scope="module")
def policies(server, bucket):
    """The statements of the template's policies by name, as a stack has them, and the ARN of its topic."""
    cloudformation, iam = server.client("cloudformation"), server.client("iam")
    parameters = [
        {"ParameterKey": "Bucket", "ParameterValue": "my-bucket"},
        {"ParameterKey": "Prefix", "ParameterValue": "output/"},
    ]
    cloudformation.create_stack(StackName="own", TemplateBody=render_template(), Parameters=parameters)
    (stack,) = cloudformation.describe_stacks(StackName="own")["Stacks"]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
    events = server.client("events")
    for rule in events.list_rules()["Rules"]:
        events.disable_rule(Name=rule["Name"])  # jobs go on, so that their watchers follow them to the end
    found = {}
    for name in ("TrainingPolicyArn", "WatcherPolicyArn"):
        version = iam.get_policy(PolicyArn=outputs[name])["Policy"]["DefaultVersionId"]
        document = iam.get_policy_version(PolicyArn=outputs[name], VersionId=version)["PolicyVersion"]["Document"]
        found[name.removesuffix("Arn")] = document["Statement"]
    return found, outputs["TopicArn"]


@pytest.fixture
def start(server, tmp_path):
    """Return a function that starts a script whose requests are recorded; its result ends it and returns them."""
    (tmp_path / "sitecustomize.py").write_text(RECORDER)
    processes = []

    def start(script, calls, variables):
        path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        own = {"AWS_ENDPOINT_URL": server.url, "PYTHONPATH": path, "RECORDED_CALLS": str(tmp_path / calls)}
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script)], env={**os.environ, **variables, **CREDENTIALS, **own}
        )
        processes.append(process)

        def wait(signal_number=None):
            if signal_number is not None:
                process.send_signal(signal_number)
            process.wait(120)
            return process.returncode, [
                described(*json.loads(line)) for line in (tmp_path / calls).read_text().splitlines()
            ]

        return wait

    yield start
    for process in processes:
        process.kill()
        process.wait()


def request_of_job(name, topic, place):
    """Return the request of a job whose first rule fires and acts, and whose second one stays open to the end."""
    rules = [
        Rule.sagemaker(
            rule_configs.tree_depth(),
            rule_parameters={"depth": "0"},
            actions=ActionList(StopTraining(), Email("a@example.com")),
        ),
        Rule.sagemaker(rule_configs.tree_depth(), name="Open", rule_parameters={"depth": "100"}),
    ]
    return self_managed_request(
        {"TrainingJobName": name, "OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"}},
        rules=rules,
        debugger_hook_config=DebuggerHookConfig(collection_configs=[CollectionConfig("trees", {"save_interval": "5"})]),
        self_managed=SelfManaged(place=place, stop="events", topic_arn=topic, metrics=True, poll_seconds=0.5),
    )


@pytest.mark.parametrize("place", list(WATCHERS))
def test_policy_when_a_watcher_runs_elsewhere_then_allows_its_requests_and_no_others(
    place, policies, start, submit, wait_for, bucket
):
    """Its role writes no tensors, and that of training starts no watcher; nothing in either policy is unused."""
    statements, topic = policies
    name = f"{place}-1"
    request = request_of_job(name, topic, place)
    if place == "processing":
        submit(name, "import time; time.sleep(15)", Environment=request["Environment"])
        wait_for(name, "InProgress")
    environment = {**request["Environment"], "SAGEMAKER_DEBUG_EXT_JOB_NAME": name}
    trained = start(UNMARKED, "training", environment)
    watched = start(WATCHERS[place].replace("NAME", name), "watching", environment if place != "processing" else {})
    code, requests_of_training = trained()
    assert code == -signal.SIGKILL
    code, requests_of_watcher = watched(signal.SIGTERM if place == "pod" else None)
    assert code == 0
    refused, _ = refused_and_unused(requests_of_training, statements["TrainingPolicy"])
    assert refused == []
    refused, unused = refused_and_unused(requests_of_watcher, statements["WatcherPolicy"])
    assert refused == []
    # Other clusters say in other ways whether a job has ended.
    assert {sid for sid, _, _ in unused} == (set() if place == "processing" else {"Look"})
