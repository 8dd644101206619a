"""A self-managed job from its request to the verdicts: the hook writes to S3, the watcher evaluates beside it."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import os
import signal
import time
import types

import attrs
import boto3
import jsonschema
import pytest

from sagemaker_debug_ext import (
    CollectionConfig,
    DebuggerHookConfig,
    Email,
    ProfilerRule,
    Rule,
    StopTraining,
    create_trial,
    rule_configs,
)
from sagemaker_debug_ext.cli.main import main
from sagemaker_debug_ext.config.self_managed import SelfManaged
from sagemaker_debug_ext.requests.self_managed import self_managed_request
from sagemaker_debug_ext.sdk import TrainingJob
from sagemaker_debug_ext.sdk.self_managed import with_rule_statuses
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.watch import lease
from sagemaker_debug_ext.watch.status import STATUS_SCHEMA, WatchStatus
from support.relay import Relay

TRAIN = """
import sys, time
import numpy as np
import torch
import sagemaker_debug_ext.pytorch as smd

torch.manual_seed(0)
hook = smd.Hook.create_from_json_file()
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
loss = torch.nn.CrossEntropyLoss()
hook.register_module(model)
hook.register_loss(loss)
for step in range({steps}):
    model.zero_grad()
    loss(model(torch.randn(16, 4)), torch.randint(0, 2, (16,))).backward()
    with torch.no_grad():  # an optimizer would import a compiler, which takes longer than the training
        for parameter in model.parameters():
            parameter -= 0.1 * parameter.grad
    time.sleep({pause})
    if hook.should_stop:
        print("asked to stop")
        break
print("weights", float(sum(p.double().sum() for p in model.parameters())).hex())
"""
ASK = """
def ask(step):
    if step == 12:
        print("ready", flush=True)
        input()
"""
KILL = """
import glob, os, signal

def watchers():
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            arguments = open(path).read().split("\\0")
        except OSError:
            continue
        if "watch.program" in "".join(arguments) and arguments[3:5] == ["--parent", str(os.getpid())]:
            yield int(path.split("/")[2])

def kill(step):
    for pid in watchers() if step == 20 else ():
        os.kill(pid, signal.SIGKILL)
"""
FAST = SelfManaged(poll_seconds=0.2, stop="cooperative")
HOOK = DebuggerHookConfig(
    hook_parameters={"save_interval": 5}, collection_configs=[CollectionConfig("gradients"), CollectionConfig("trees")]
)
NUMBERS = itertools.count()


def sure_rule():
    """Return a rule that fires at the first step, and stops training."""
    return Rule.sagemaker(
        rule_configs.vanishing_gradient(), rule_parameters={"threshold": "1e9"}, actions=StopTraining()
    )


@pytest.fixture(scope="module")
def make_request(aws):
    """Return a function that makes the request of a new job."""

    def make(rules, self_managed=FAST, hook=HOOK, output=aws, **settings):
        request = {"TrainingJobName": f"digits-{next(NUMBERS)}"}
        if output is not None:
            request["OutputDataConfig"] = {"S3OutputPath": output}
        return self_managed_request(
            request, debugger_hook_config=hook, rules=rules, self_managed=self_managed, **settings
        )

    return make


def state_of(request, aws):
    return open_backend(f"{aws}/{request['TrainingJobName']}/self-managed")


def statuses(status):
    return {rule["RuleConfigurationName"]: rule["RuleEvaluationStatus"] for rule in status.rules}


def test_job_when_a_rule_fires_then_training_stops_and_everything_is_reported(run_job, make_request, aws):
    """From the request alone: trial, status, results, action, and a line for programs that watch logs."""
    request = make_request([sure_rule(), Rule.sagemaker(rule_configs.exploding_tensor())])
    report = run_job(TRAIN.format(steps=3000, pause=0.01), request)
    assert report.returncode == 0, report.stderr
    assert "asked to stop" in report.stdout
    job = request["TrainingJobName"]
    line = f"SAGEMAKER_DEBUG_EXT rule=VanishingGradient status=IssuesFound step=0 job={job}"
    assert line in report.stdout.splitlines()
    trial = create_trial(f"{aws}/{job}/debug-output")
    assert trial.loaded_all_steps
    assert trial.steps() == list(range(0, 5 * len(trial.steps()), 5))
    status = WatchStatus.read(state_of(request, aws))
    jsonschema.Draft202012Validator(STATUS_SCHEMA).validate(status.document)
    assert statuses(status) == {"VanishingGradient": "IssuesFound", "ExplodingTensor": "NoIssuesFound"}
    assert status.rules[0]["actions"] == [{"name": "stoptraining", "outcome": "done"}]
    assert status.document["watcher"]["phase"] == "done"
    result = open_backend(f"{aws}/{job}/rule-output/VanishingGradient").read("rule-result.json")
    assert json.loads(result)["first_issue_step"] == 0


def test_job_when_a_rule_fires_and_the_process_must_exit_then_it_ends_with_code_3(run_job, make_request, aws):
    """Queues react to exit codes; the trial is complete, and the rule has its verdict."""
    request = make_request([sure_rule()], attrs.evolve(FAST, on_stop="exit"))
    report = run_job(TRAIN.format(steps=3000, pause=0.01), request)
    assert report.returncode == 3, report.stderr
    assert "asked to stop" not in report.stdout
    assert create_trial(f"{aws}/{request['TrainingJobName']}/debug-output").loaded_all_steps
    assert statuses(WatchStatus.read(state_of(request, aws))) == {"VanishingGradient": "IssuesFound"}


def test_job_when_it_has_a_key_then_all_that_it_writes_is_encrypted_with_it(run_job, make_request, aws):
    """By hook, watcher and profiler."""
    arn = boto3.client("kms").create_key()["KeyMetadata"]["Arn"]
    options = attrs.evolve(FAST, kms_key_id=arn, events=False)
    request = make_request(
        [sure_rule(), Rule.sagemaker(rule_configs.exploding_tensor())], options, disable_profiler=False
    )
    report = run_job(TRAIN.format(steps=10, pause=0), request)
    assert report.returncode == 0, report.stderr
    s3 = boto3.client("s3")
    found = s3.list_objects_v2(Bucket="my-bucket", Prefix=f"output/{request['TrainingJobName']}/")["Contents"]
    heads = {item["Key"]: s3.head_object(Bucket="my-bucket", Key=item["Key"]) for item in found}
    assert {key.split("/")[2] for key in heads} == {"debug-output", "self-managed", "rule-output", "profiler-output"}
    assert {(head["ServerSideEncryption"], head["SSEKMSKeyId"]) for head in heads.values()} == {("aws:kms", arn)}


def weights_of(report):
    assert report.returncode == 0, report.stderr
    return report.stdout.split("weights ")[1].split()[0]


@pytest.fixture(scope="module")
def weights_alone(run_job, make_request):
    """Return the last weights of a training of 20 steps without a watcher, bit by bit."""
    return weights_of(run_job(TRAIN.format(steps=20, pause=0), make_request([])))


def test_training_when_watched_then_computes_the_same(run_job, make_request, weights_alone):
    """Bit by bit, with and without a watcher."""
    request = make_request([Rule.sagemaker(rule_configs.exploding_tensor())])
    assert weights_of(run_job(TRAIN.format(steps=20, pause=0), request)) == weights_alone


@pytest.fixture
def relay(aws):
    """What passes requests on to the AWS of this machine, until a test cuts it off."""
    host, _, port = os.environ["AWS_ENDPOINT_URL"].rpartition("//")[2].partition(":")
    relay = Relay((host, int(port)))
    yield relay
    relay.cut()


def test_training_when_s3_goes_away_for_good_then_computes_the_same_and_nothing_hangs(
    run_job, make_request, aws, weights_alone, relay, monkeypatch, capsys
):
    """One line says that saving is off. What was saved is readable, its statuses are old, and `resume` judges it."""
    monkeypatch.setattr(lease, "EXPIRY_SECONDS", 0.5)
    monkeypatch.setattr(lease, "_LOOK_SECONDS", 0.1)
    request = make_request(
        [Rule.sagemaker(rule_configs.exploding_tensor())], SelfManaged(poll_seconds=0.2, drain_seconds=2)
    )
    script = ASK + TRAIN.format(steps=20, pause=0).replace("    if hook", "    ask(step)\n    if hook")
    process = run_job.start(script, request, AWS_ENDPOINT_URL=relay.url)
    assert process.stdout.readline() == "ready\n"
    job = f"{aws}/{request['TrainingJobName']}"
    state, trial = state_of(request, aws), create_trial(f"{job}/debug-output")
    deadline = time.monotonic() + 60
    while WatchStatus.read(state) is None or trial.steps() != [0, 5, 10]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    relay.cut()
    output, errors = process.communicate("\n", timeout=120)  # until its watcher has ended, too
    report = types.SimpleNamespace(returncode=process.returncode, stdout=output, stderr=errors)
    assert weights_of(report) == weights_alone
    assert errors.count("saving is switched off, training goes on") == 1
    assert "[rules] cannot release the lease" in errors
    assert "watch/program.py" not in errors  # the watcher logs sentences, no tracebacks
    later = dt.datetime.now(dt.timezone.utc) + dt.timedelta(hours=1)
    for status, shown, details in (("InProgress", "InProgress", "silent since"), ("Failed", "Stopped", "resume")):
        described = with_rule_statuses({**request, "TrainingJobStatus": status}, later)
        (rule,) = described["DebugRuleEvaluationStatuses"]
        assert rule["RuleEvaluationStatus"] == shown
        assert details in rule["StatusDetails"]
    assert main(["self-managed", "resume", job]) == 0
    assert "NoIssuesFound" in capsys.readouterr().out
    assert trial.steps() == [0, 5, 10]
    assert trial.loaded_all_steps


def test_watcher_when_killed_then_another_one_goes_on_and_training_ends_as_without_it(run_job, make_request, aws):
    """The exit code, the output and the trial are those of a job without rules, and the rules still get a result."""
    request = make_request([Rule.sagemaker(rule_configs.exploding_tensor())])
    calls = "    ask(step)\n    kill(step)\n    if hook"
    process = run_job.start(ASK + KILL + TRAIN.format(steps=60, pause=0.05).replace("    if hook", calls), request)
    assert process.stdout.readline() == "ready\n"
    state, deadline = state_of(request, aws), time.monotonic() + 60
    while WatchStatus.read(state) is None:  # the first watcher has begun
        assert time.monotonic() < deadline
        time.sleep(0.1)
    _, errors = process.communicate("\n", timeout=120)
    assert process.returncode == 0, errors
    assert errors.count("ended with exit code -9; another one is started") == 1
    assert create_trial(f"{aws}/{request['TrainingJobName']}/debug-output").loaded_all_steps
    status = WatchStatus.read(state)
    assert statuses(status) == {"ExplodingTensor": "NoIssuesFound"}
    assert status.document["generation"] == 2


def test_watcher_when_every_one_is_killed_then_training_ends_as_without_it(run_job, make_request, aws):
    """The second one is not replaced."""
    request = make_request([Rule.sagemaker(rule_configs.exploding_tensor())])
    always = KILL.replace("if step == 20 else ()", "if step > 20 else ()")
    report = run_job(
        always + TRAIN.format(steps=60, pause=0.05).replace("    if hook", "    kill(step)\n    if hook"), request
    )
    assert report.returncode == 0, report.stderr
    assert report.stderr.count("another one is started") == 1
    assert "the watcher of the rules ended with exit code -9" in report.stderr.splitlines()[-1]
    assert create_trial(f"{aws}/{request['TrainingJobName']}/debug-output").loaded_all_steps


def test_training_when_killed_then_watcher_marks_the_end_and_reports(run_job, make_request, aws):
    """A reader of the trial does not wait for ever."""
    settings = SelfManaged(poll_seconds=0.2, drain_seconds=5)
    request = make_request([Rule.sagemaker(rule_configs.exploding_tensor())], settings)
    process = run_job.start(TRAIN.format(steps=100000, pause=0.01), request)
    state = state_of(request, aws)
    while WatchStatus.read(state) is None:
        assert process.poll() is None, process.communicate()
        time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    deadline = time.monotonic() + 60
    while not WatchStatus.read(state).is_final and time.monotonic() < deadline:
        time.sleep(0.2)
    assert statuses(WatchStatus.read(state)) == {"ExplodingTensor": "NoIssuesFound"}
    assert create_trial(f"{aws}/{request['TrainingJobName']}/debug-output").loaded_all_steps


WAIT = """
import os, time
from sagemaker_debug_ext.config.job_spec import decode_job_spec
from sagemaker_debug_ext.store.backends import open_backend

def wait():
    # Until the first rule has its verdict.
    results = decode_job_spec(os.environ).rule_locations(os.environ["TRAINING_JOB_NAME"])["VanishingGradient"]
    while not open_backend(results).exists("rule-result.json"):
        time.sleep(0.1)
"""


def test_training_when_it_ends_between_two_looks_of_its_watcher_then_does_not_wait_for_the_next(
    run_job, make_request, aws
):
    """The watcher pauses for an hour, and the hook would wait for as long; the test would time out."""
    fires = Rule.sagemaker(rule_configs.vanishing_gradient(), rule_parameters={"threshold": "1e9"})
    options = SelfManaged(poll_seconds=3600, drain_seconds=3600)
    request = make_request([fires, Rule.sagemaker(rule_configs.exploding_tensor())], options)
    script = WAIT + TRAIN.format(steps=10, pause=0).replace("    if hook", "    if step == 4: wait()\n    if hook")
    report = run_job(script, request)
    assert report.returncode == 0, report.stderr
    status = WatchStatus.read(state_of(request, aws))
    assert statuses(status) == {"VanishingGradient": "IssuesFound", "ExplodingTensor": "NoIssuesFound"}
    assert status.document["trial"]["judged_step"] == 5


@pytest.mark.parametrize("is_automatic", [False, True])
def test_spec_when_a_variable_was_changed_then_is_named_and_training_goes_on(run_job, make_request, aws, is_automatic):
    """Also where no line of the script names the hook."""
    request = make_request([sure_rule()])
    first = request["Environment"]["SAGEMAKER_DEBUG_EXT_JOB_0"]
    script = TRAIN.format(steps=10, pause=0)
    if is_automatic:
        script = "import sagemaker_debug_ext.auto\nimport torch\nprint('weights')"
    report = run_job(script, request, SAGEMAKER_DEBUG_EXT_JOB_0=first[:-3])
    assert report.returncode == 0, report.stderr
    assert "weights" in report.stdout
    assert "SAGEMAKER_DEBUG_EXT_JOB_0" in report.stderr
    assert "training goes on" in report.stderr
    keys = boto3.client("s3").list_objects_v2(Bucket="my-bucket", Prefix=f"output/{request['TrainingJobName']}/")
    assert keys["KeyCount"] == 0


DIE = (
    KILL
    + """
import os, signal, time
from sagemaker_debug_ext.config.job_spec import decode_job_spec
from sagemaker_debug_ext.store.backends import open_backend

def die():
    # Once an action was carried out: this process and its watcher, as with their host. The watcher is held while this
    # process dies, which would start another one if the watcher died first.
    state = open_backend(decode_job_spec(os.environ).state_location(os.environ["TRAINING_JOB_NAME"]))
    while not any(state.read(info.key) for info in state.list("actions/")):
        time.sleep(0.1)
    pids, own_pid = list(watchers()), os.getpid()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    if os.fork() == 0:
        for pid in own_pid, *pids:
            os.kill(pid, signal.SIGKILL)
        os._exit(0)
    signal.pause()
"""
)
ELASTIC = (
    DIE
    + """
import sys
import torch
import sagemaker_debug_ext.pytorch as smd

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
place = "file://" + os.environ["RENDEZVOUS"]
torch.distributed.init_process_group("gloo", init_method=place, rank=rank, world_size=size)
hook = smd.Hook.create_from_json_file()
model, loss = torch.nn.Linear(4, 2), torch.nn.CrossEntropyLoss()
hook.register_module(model)
for step in range(40):
    loss(model(torch.randn(16, 4)), torch.randint(0, 2, (16,))).backward()
print("trained", flush=True)
if size > 1:
    die() if rank == 0 else sys.stdin.read()
"""
)
"""Trains in processes that form a group; the first one of several dies."""
QUICK_LEASE = """
import sagemaker_debug_ext.watch.lease as lease
lease.EXPIRY_SECONDS, lease._LOOK_SECONDS = 2.0, 0.2
"""
"""A ``sitecustomize.py`` with which a killed watcher is waited for less than usual."""


def test_host_when_it_dies_then_the_restarted_job_goes_on_and_no_action_is_repeated(
    run_job, make_request, aws, tmp_path
):
    """As after an interruption of a Spot instance: same name, same folder, a second watcher from the first step."""
    (tmp_path / "sitecustomize.py").write_text(QUICK_LEASE)
    variables = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    topic = boto3.client("sns").create_topic(Name="restarts")["TopicArn"]
    sqs = boto3.client("sqs")
    url = sqs.create_queue(QueueName="restarts")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    boto3.client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
    fires = Rule.sagemaker(
        rule_configs.vanishing_gradient(), rule_parameters={"threshold": "1e9"}, actions=Email("me@example.com")
    )
    options = SelfManaged(poll_seconds=0.2, topic_arn=topic, drain_seconds=30)
    request = make_request([fires, Rule.sagemaker(rule_configs.exploding_tensor())], options)
    killed = DIE + TRAIN.format(steps=100, pause=0).replace("    if hook", "    if step == 60: die()\n    if hook")
    assert run_job(killed, request, **variables).returncode == -signal.SIGKILL
    first = WatchStatus.read(state_of(request, aws)).document
    assert first["generation"] == 1
    report = run_job(TRAIN.format(steps=100, pause=0), request, **variables)
    assert report.returncode == 0, report.stderr
    second = WatchStatus.read(state_of(request, aws))
    assert second.document["generation"] == 2
    assert statuses(second) == {"VanishingGradient": "IssuesFound", "ExplodingTensor": "NoIssuesFound"}
    assert second.rules[0]["actions"][0]["outcome"].startswith("not repeated")
    trial = create_trial(f"{aws}/{request['TrainingJobName']}/debug-output")
    assert trial.loaded_all_steps
    steps = trial.steps()  # those of the second run follow those of the first
    assert steps == list(range(0, 5 * len(steps), 5))
    assert len(steps) > 100 / 5
    assert len(sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])) == 1


def test_first_worker_when_its_container_dies_then_the_next_first_one_has_a_watcher(
    run_job, make_request, aws, tmp_path
):
    """As in an elastic job: those that are left form a new group, in which another one is the first."""
    (tmp_path / "sitecustomize.py").write_text(QUICK_LEASE)
    variables = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    fires = Rule.sagemaker(
        rule_configs.vanishing_gradient(), rule_parameters={"threshold": "1e9"}, actions=StopTraining()
    )
    request = make_request([fires, Rule.sagemaker(rule_configs.exploding_tensor())])
    group = {**variables, "WORLD_SIZE": "2", "RENDEZVOUS": str(tmp_path / "two")}
    first, other = (run_job.start(ELASTIC, request, RANK=rank, **group) for rank in "01")
    assert first.wait(120) == -signal.SIGKILL
    first.communicate()
    other.kill()  # its agent starts it again, in the new group
    _, errors = other.communicate()
    assert "[rules]" not in errors  # the group had one watcher
    assert WatchStatus.read(state_of(request, aws)).document["generation"] == 1
    report = run_job(ELASTIC, request, RANK="0", WORLD_SIZE="1", RENDEZVOUS=str(tmp_path / "one"), **variables)
    assert report.returncode == 0, report.stderr
    second = WatchStatus.read(state_of(request, aws))
    assert second.document["generation"] == 2
    assert statuses(second) == {"VanishingGradient": "IssuesFound", "ExplodingTensor": "NoIssuesFound"}
    assert second.rules[0]["actions"][0]["outcome"].startswith("not repeated")


def test_job_when_another_one_had_its_name_then_the_hook_is_refused_and_that_trial_is_kept(run_job, make_request, aws):
    """On clusters, where names may be used again; the sentence says what to choose."""
    request = make_request([Rule.sagemaker(rule_configs.exploding_tensor())])
    assert run_job(TRAIN.format(steps=20, pause=0), request).returncode == 0
    report = run_job(TRAIN.format(steps=50, pause=0), request)
    assert report.returncode == 1
    assert "must not hold a trial that has ended" in report.stderr
    assert "choose another folder" in report.stderr
    assert create_trial(f"{aws}/{request['TrainingJobName']}/debug-output").steps() == [0, 5, 10, 15]


WRONG_CLOCK = """
import datetime, sys
import sagemaker_debug_ext.watch.program as program

class Wrong(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + datetime.timedelta(hours={hours})

class Module:
    datetime, timezone = Wrong, datetime.timezone

program.dt = Module
"""


@pytest.mark.parametrize("hours", [-5, 5])
def test_clock_of_the_host_when_it_is_wrong_then_statuses_are_as_old_as_on_s3(
    run_job, make_request, aws, tmp_path, hours
):
    """Neither does a living watcher seem silent, nor a dead one alive."""
    (tmp_path / "sitecustomize.py").write_text(WRONG_CLOCK.format(hours=hours))
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    request = make_request([Rule.sagemaker(rule_configs.exploding_tensor())])
    process = run_job.start(TRAIN.format(steps=100_000, pause=0.05), request, PYTHONPATH=path)
    state = state_of(request, aws)
    while (status := WatchStatus.read(state)) is None:
        assert process.poll() is None, process.communicate()
        time.sleep(0.2)
    job = {**request, "TrainingJobStatus": "InProgress"}
    (rule,) = with_rule_statuses(job)["DebugRuleEvaluationStatuses"]
    process.kill()
    process.communicate()
    assert abs((status.heartbeat_at - dt.datetime.now(dt.timezone.utc)).total_seconds()) > 3600
    assert state.age_seconds("status.json") < 600
    assert rule["RuleEvaluationStatus"] == "InProgress"
    assert "silent" not in rule.get("StatusDetails", "")


XGBOOST = """
import time
import numpy as np
import xgboost as xgb
import sagemaker_debug_ext.auto

class Pause(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.05)
        return False

data = xgb.DMatrix(np.random.default_rng(0).random((50, 4)), label=np.arange(50) % 2)
model = xgb.train({"objective": "binary:logistic"}, data, 500, evals=[(data, "train")], callbacks=[Pause()])
print("rounds", model.num_boosted_rounds())
"""
LIGHTNING = """
import lightning.pytorch as L
import torch
from sagemaker_debug_ext.lightning import DebuggerCallback

class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)

    def training_step(self, batch, _):
        import time
        time.sleep(0.05)
        return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)

data = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,)))
trainer = L.Trainer(
    max_epochs=100, callbacks=[DebuggerCallback()], logger=False, enable_checkpointing=False,
    enable_progress_bar=False, enable_model_summary=False, accelerator="cpu",
)
trainer.fit(Module(), torch.utils.data.DataLoader(data, batch_size=8))
print("rounds", trainer.global_step)
"""


@pytest.mark.parametrize(
    ("framework", "script", "rule", "most"),
    [
        ("xgboost", XGBOOST, rule_configs.tree_depth(), 500),
        ("lightning", LIGHTNING, rule_configs.vanishing_gradient(), 800),
    ],
)
def test_framework_when_a_rule_asks_to_stop_then_training_ends_without_a_line_of_the_script(
    run_job, make_request, framework, script, rule, most
):
    """The hook of the framework passes the request on."""
    pytest.importorskip(framework)
    parameters = {"depth": "0"} if framework == "xgboost" else {"threshold": "1e9"}
    request = make_request([Rule.sagemaker(rule, rule_parameters=parameters, actions=StopTraining())])
    report = run_job(script, request)
    assert report.returncode == 0, report.stderr
    assert 0 < int(report.stdout.split("rounds ")[1].split()[0]) < most


def test_watcher_when_the_folder_of_the_script_hides_modules_then_still_works(run_job, make_request, tmp_path, aws):
    """Folders of scripts hold files such as ``random.py``."""
    for name in ("json", "threading", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not the module that was meant')\n")
    request = make_request([Rule.sagemaker(rule_configs.exploding_tensor())])
    report = run_job("import sys; sys.path.pop(0)\n" + TRAIN.format(steps=10, pause=0), request, folder=tmp_path)
    assert report.returncode == 0, report.stderr
    assert statuses(WatchStatus.read(state_of(request, aws))) == {"ExplodingTensor": "NoIssuesFound"}


def test_hook_when_it_may_not_write_then_training_does_not_wait_for_rules(run_job, aws):
    """Nothing will come that could be evaluated."""
    request = {"TrainingJobName": "denied", "OutputDataConfig": {"S3OutputPath": "s3://no-such-bucket/output"}}
    rules = [Rule.sagemaker(rule_configs.exploding_tensor())]
    request = self_managed_request(request, rules=rules, self_managed=SelfManaged(drain_seconds=3600))
    report = run_job(TRAIN.format(steps=10, pause=0), request)  # which would time out
    assert report.returncode == 0
    assert "weights" in report.stdout
    assert "no-such-bucket" in report.stderr


def test_job_when_it_has_a_shared_folder_then_all_is_there_and_s3_is_never_asked(
    run_job, make_request, tmp_path, capsys
):
    """Trial, status, results and the lease; the folder of the job answers like one on S3."""
    options = SelfManaged(poll_seconds=0.2, stop="cooperative", events=False, ship="folder")
    hook = attrs.evolve(HOOK, container_local_output_path=str(tmp_path))
    rules = [sure_rule(), Rule.sagemaker(rule_configs.exploding_tensor())]
    request = make_request(rules, options, hook, None, disable_profiler=False)
    nowhere = "http://127.0.0.1:9"  # where nobody listens
    report = run_job(TRAIN.format(steps=3000, pause=0.01), request, AWS_ENDPOINT_URL=nowhere)
    assert report.returncode == 0, report.stderr
    assert "asked to stop" in report.stdout
    assert "out of reach" not in report.stderr
    assert "training does not wait longer" not in report.stderr  # the hook has marked the end, which the rules need
    folder = tmp_path / request["TrainingJobName"]
    assert create_trial(str(folder / "debug-output")).loaded_all_steps
    status = WatchStatus.read(open_backend(str(folder / "self-managed")))
    assert statuses(status) == {"VanishingGradient": "IssuesFound", "ExplodingTensor": "NoIssuesFound"}
    result = json.loads((folder / "rule-output" / "VanishingGradient" / "rule-result.json").read_text())
    assert result["first_issue_step"] == 0
    assert list((folder / "profiler-output").rglob("*"))
    for command in ("status", "resume"):
        assert main(["self-managed", command, str(folder)]) == 1  # a rule has found an issue
        assert "IssuesFound" in capsys.readouterr().out
    (tmp_path / "copies").mkdir()
    folder = folder.rename(tmp_path / "copies" / folder.name)
    job = TrainingJob.describe(str(folder))
    assert job.artifact_paths.debugger == str(folder / "debug-output")
    assert job.rule_output_path("VanishingGradient") == str(folder / "rule-output" / "VanishingGradient")


@pytest.mark.parametrize("has_rules", [True, False])
def test_job_when_its_shared_folder_is_copied_then_s3_answers_like_the_folder(
    run_job, make_request, tmp_path, aws, capsys, has_rules
):
    """To the last step, also where no rule is evaluated or all have ended early."""
    options = SelfManaged(poll_seconds=0.2, stop="off", events=False, ship="folder")
    hook = attrs.evolve(HOOK, container_local_output_path=str(tmp_path))
    profiler = ProfilerRule.sagemaker(rule_configs.StepOutlier())
    request = make_request([sure_rule(), profiler] if has_rules else [], options, hook)
    report = run_job(TRAIN.format(steps=60, pause=0.02), request)
    assert report.returncode == 0, report.stderr
    name = request["TrainingJobName"]
    copy = f"{aws}/{name}"
    copied, trial = create_trial(f"{copy}/debug-output"), create_trial(str(tmp_path / name / "debug-output"))
    assert copied.loaded_all_steps
    assert copied.steps() == trial.steps() == list(range(0, 60, 5))
    for step in trial.steps():
        for tensor in trial.tensor_names(step=step):
            assert (copied.tensor(tensor).value(step) == trial.tensor(tensor).value(step)).all()
    status = WatchStatus.read(open_backend(f"{copy}/self-managed"))
    assert status.document["watcher"]["phase"] == "done"
    assert status.document == WatchStatus.read(open_backend(str(tmp_path / name / "self-managed"))).document
    if has_rules:
        assert main(["self-managed", "status", copy]) == 1
        assert "IssuesFound" in capsys.readouterr().out
        assert open_backend(f"{copy}/rule-output/VanishingGradient").exists("rule-result.json")
        assert open_backend(f"{copy}/profiler-output").exists("system/training_job_end.ts")
