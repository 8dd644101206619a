"""The watcher of a job as an actor of a real Ray cluster with two workers."""

from __future__ import annotations

import json
import os
import time

import pytest

from sagemaker_debug_ext import (
    CollectionConfig,
    DebuggerHookConfig,
    Rule,
    SelfManaged,
    StopTraining,
    rule_configs,
    self_managed_request,
)
from sagemaker_debug_ext.errors import JobSpecError
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.watch.ray_actor import start_watcher

ray = pytest.importorskip("ray")
pytest.importorskip("moto")
pytest.importorskip("xgboost")

pytestmark = pytest.mark.xdist_group("ray")  # one process starts clusters, one after the other

OUTPUT = "s3://my-bucket/output"
AWS = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION")


@pytest.fixture(scope="module")
def _cluster():
    """A head that runs nothing, and two workers."""
    from ray.cluster_utils import Cluster

    from support.aws import fake_aws

    with fake_aws():
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        for _ in range(2):
            cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        yield
        ray.shutdown()
        cluster.shutdown()


def train(rounds):
    """Train until a rule asks to stop; return the node and the number of rounds."""
    import time

    import numpy as np
    import ray
    import xgboost

    import sagemaker_debug_ext.xgboost as smd

    class Count(xgboost.callback.TrainingCallback):
        rounds = 0

        def after_iteration(self, model, epoch, evals_log):
            Count.rounds = epoch + 1
            time.sleep(0.01)
            return False

    data = xgboost.DMatrix(np.random.default_rng(0).random((50, 2)), np.arange(50) % 2)
    hook = smd.Hook.create_from_json_file()
    options = {"objective": "binary:logistic", "nthread": 1}
    xgboost.train(options, data, rounds, evals=[(data, "train")], callbacks=[hook, Count()], verbose_eval=False)
    hook.close()
    return ray.get_runtime_context().get_node_id(), Count.rounds


def train_briefly():
    """Train some rounds, as the function of a script does."""
    return train(30)


def variables_of(depth):
    """Return the variables of a job whose rule fires at trees of a depth."""
    rule = Rule.sagemaker(rule_configs.tree_depth(), rule_parameters={"depth": depth}, actions=StopTraining())
    request = self_managed_request(
        {"OutputDataConfig": {"S3OutputPath": OUTPUT}},
        rules=[rule],
        debugger_hook_config=DebuggerHookConfig(collection_configs=[CollectionConfig("trees", {"save_interval": "5"})]),
        self_managed=SelfManaged(place="actor", stop="cooperative", poll_seconds=0.2, events=False),
    )
    return {**request["Environment"], **{key: os.environ[key] for key in AWS if key in os.environ}}


def watched(name, depth):
    """Return the watcher of a job, and its training function."""
    variables = variables_of(depth)
    watcher = start_watcher(name, variables)
    runtime = {"env_vars": {**variables, "SAGEMAKER_DEBUG_EXT_JOB_NAME": name}}
    return watcher, ray.remote(num_cpus=1, max_retries=0, runtime_env=runtime)(train)


def status_of(name):
    content = open_backend(f"{OUTPUT}/{name}/self-managed").read("status.json")
    return None if content is None else json.loads(bytes(content))


@pytest.mark.usefixtures("_cluster")
def test_job_when_a_rule_fires_then_the_training_function_returns():
    """The actor runs on one worker, training on the other; the hook reads the request to stop from S3."""
    watcher, task = watched("fires", "0")
    _, rounds = ray.get(task.remote(100_000))
    assert watcher.finish(60)
    assert 0 < rounds < 100_000
    status = status_of("fires")
    assert (status["watcher"]["place"], status["watcher"]["phase"]) == ("actor", "done")
    assert [rule["RuleEvaluationStatus"] for rule in status["rules"]] == ["IssuesFound"]


@pytest.mark.usefixtures("_cluster")
def test_job_of_the_guide_when_no_rule_fires_then_all_steps_are_evaluated():
    """Training goes on to its end, and the driver waits for the rules."""
    from support.guides import run_guide  # workers import this module, and do not find that one

    names = {"request": {"Environment": variables_of("100")}, "train": train_briefly}
    run_guide("docs/self-managed.md", 1, surface="ray", names=names)
    status = status_of("digits-1")
    assert [rule["RuleEvaluationStatus"] for rule in status["rules"]] == ["NoIssuesFound"]
    assert status["trial"]["judged_step"] == 25


@pytest.mark.usefixtures("_cluster")
def test_job_when_its_worker_is_killed_then_its_rules_still_end():
    """The driver says that training has ended, which the hook no longer can."""
    watcher, task = watched("killed", "100")
    running = task.remote(100_000)
    deadline = time.monotonic() + 60
    while not (status_of("killed") or {"trial": {}})["trial"].get("judged_step"):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    ray.cancel(running, force=True)
    assert watcher.finish(90)
    assert {rule["RuleEvaluationStatus"] for rule in status_of("killed")["rules"]} <= {"NoIssuesFound", "Stopped"}


def test_watcher_when_there_are_no_settings_then_is_refused():
    """Before anything is started."""
    with pytest.raises(JobSpecError, match="must hold the settings"):
        start_watcher("digits-1", {"A": "b"})
