"""Self-managed jobs: what their settings and their watcher cost, and how soon a verdict stops a job.

    python benchmarks/speed/bench_self_managed.py                         # needs torch and the extra [laptop]
    python benchmarks/speed/bench_self_managed.py --sdk-python PYTHON     # PYTHON has this package and SDK v2

S3 and SageMaker are those of ``sagemaker-debug laptop``, in a process of its own. Training uses one core, the server
and the watcher share the other one.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from measurement import ROOT, Row, Timer, parser, print_rows, run_child

NUM_STEPS = 1_500
BUCKET = "my-bucket"
OUTPUT = f"s3://{BUCKET}/output"
RULES = ("vanishing_gradient", "exploding_tensor", "loss_not_decreasing", "overfit", "poor_weight_initialization")

TRAIN = """
import time
import torch
import sagemaker_debug_ext.pytorch as smd

torch.manual_seed(0)
hook = smd.Hook.create_from_json_file()
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
loss = torch.nn.CrossEntropyLoss()
hook.register_module(model)
hook.register_loss(loss)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range({steps}):
    optimizer.zero_grad()
    loss(model(torch.randn(16, 8)), torch.randint(0, 2, (16,))).backward()
    optimizer.step()
    time.sleep(0.02)
"""
FIT = """
from sagemaker.pytorch import PyTorch
from sagemaker_debug_ext import DebuggerHookConfig, Rule, rule_configs
from sagemaker_debug_ext.sdk import with_debugger

with_debugger(PyTorch)(
    entry_point="train.py",
    source_dir=".",
    role="arn:aws:iam::123456789012:role/Trainer",
    framework_version="2.1",
    py_version="py310",
    instance_count=1,
    instance_type="ml.m5.large",
    rules=[Rule.sagemaker(rule_configs.exploding_tensor())],
    debugger_hook_config=DebuggerHookConfig(),
    self_managed=True,
).fit(logs="All")
"""


# --- the server -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def laptop():
    """Run the server with a bucket, and set the variables of its clients; yield the seconds until it answers."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "sagemaker_debug_ext.cli.main", "laptop", "--work-dir", folder, "--port", "0"]
        began = time.perf_counter()
        server = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, text=True)
        try:
            variables = {}
            while "AWS_ENDPOINT_URL" not in variables or len(variables) < 4:
                words = server.stdout.readline().removeprefix("export ").strip().partition("=")
                variables[words[0]] = words[2].strip("'\"")
            seconds = time.perf_counter() - began
            threading.Thread(target=server.stdout.read, daemon=True).start()
            os.environ.update(variables)

            import boto3

            boto3.client("s3").create_bucket(Bucket=BUCKET)
            yield seconds
        finally:
            server.terminate()
            server.wait()


# --- in processes of their own ----------------------------------------------------------------------------------------


def make_request(name, rules, **settings):
    """Return the request of a self-managed job that saves losses, gradients and weights every hundred steps."""
    from sagemaker_debug_ext import (
        CollectionConfig,
        DebuggerHookConfig,
        Rule,
        SelfManaged,
        rule_configs,
        self_managed_request,
    )

    return self_managed_request(
        {"TrainingJobName": name, "OutputDataConfig": {"S3OutputPath": OUTPUT}},
        debugger_hook_config=DebuggerHookConfig(
            hook_parameters={"save_interval": 100},
            collection_configs=[CollectionConfig("losses"), CollectionConfig("gradients"), CollectionConfig("weights")],
        ),
        rules=[Rule.sagemaker(getattr(rule_configs, rule)()) for rule in rules],
        self_managed=SelfManaged(events=False, **settings),
    )


def watcher_of_this_process():
    """Return the folder in /proc of the watcher, or None while there is none."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_text().split("\0")
            if any("watch.program" in word for word in words) and words[3:5] == ["--parent", str(os.getpid())]:
                return folder
    return None


def processor_seconds(folder):
    """Return the processor time that a process has used, given its folder in /proc."""
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def child_train(watched):
    """Train on one core with a hook, with or without a watcher; return the time of a step, and the watcher's memory.

    The processor time of the watcher does not depend on what else the machine does.
    """
    name = f"train-{os.getpid()}"
    request = make_request(name, RULES if watched == "watched" else ())
    os.environ.update({**request["Environment"], "TRAINING_JOB_NAME": name})
    import torch

    import sagemaker_debug_ext.pytorch as smd

    torch.set_num_threads(1)
    torch.manual_seed(0)
    hook = smd.Hook.create_from_json_file()
    model = torch.nn.Sequential(*(torch.nn.Linear(400, 400) for _ in range(8)), torch.nn.Linear(400, 10))
    loss = torch.nn.CrossEntropyLoss()
    hook.register_module(model)
    hook.register_loss(loss)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    x, y = torch.randn(128, 400), torch.randint(0, 10, (128,))
    times = [time.perf_counter()]
    for _ in range(NUM_STEPS):
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()
        times.append(time.perf_counter())
    memory = cpu = 0.0
    if watched == "watched":
        folder = watcher_of_this_process()
        cpu = processor_seconds(folder)
        status = (folder / "status").read_text()
        memory = next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    steps = sorted(after - before for before, after in itertools.pairwise(times[100:]))
    return {
        "milliseconds": 1000 * (times[-1] - times[100]) / (NUM_STEPS - 100),
        "median": 1000 * steps[len(steps) // 2],
        "memory": memory,
        "cpu": cpu,
    }


def child_start():
    """Return the seconds from the start of the watcher's process until it has written its first status."""
    name = f"start-{os.getpid()}"
    request = make_request(name, RULES)
    os.environ.update({**request["Environment"], "TRAINING_JOB_NAME": name})
    import torch

    import sagemaker_debug_ext.pytorch as smd
    from sagemaker_debug_ext.store.backends import open_backend

    state = open_backend(f"{OUTPUT}/{name}/self-managed")
    began = []

    def look():
        while watcher_of_this_process() is None:
            time.sleep(0.002)
        began.append(time.perf_counter())

    threading.Thread(target=look).start()
    hook = smd.Hook.create_from_json_file()
    model = torch.nn.Linear(2, 2)
    hook.register_module(model)
    while state.read("status.json") is None:  # the watcher starts with the first step
        model(torch.ones(1, 2)).sum().backward()
        time.sleep(0.005)
    return {"seconds": time.perf_counter() - began[0]}


def child_stop():
    """Submit a job whose rule stops it; return the seconds from the verdict until the job has ended."""
    import boto3

    from sagemaker_debug_ext import Rule, StopTraining, rule_configs, self_managed_request
    from sagemaker_debug_ext.sdk import TrainingJob

    name = f"stop-{os.getpid()}"
    boto3.client("s3").put_object(Bucket=BUCKET, Key=f"{name}/train.py", Body=TRAIN.format(steps=100_000).encode())
    fires = Rule.sagemaker(
        rule_configs.vanishing_gradient(), rule_parameters={"threshold": "1e9"}, actions=StopTraining()
    )
    request = {
        "TrainingJobName": name,
        "RoleArn": "arn:aws:iam::123456789012:role/Trainer",
        "AlgorithmSpecification": {"TrainingImage": "image", "TrainingInputMode": "File"},
        "OutputDataConfig": {"S3OutputPath": OUTPUT},
        "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 10},
        "StoppingCondition": {"MaxRuntimeInSeconds": 600},
        "HyperParameters": {
            "sagemaker_program": '"train.py"',
            "sagemaker_submit_directory": f'"s3://{BUCKET}/{name}/train.py"',
        },
    }
    client = boto3.client("sagemaker")
    client.create_training_job(**self_managed_request(request, rules=[fires], self_managed=True))
    while "TrainingEndTime" not in (description := client.describe_training_job(TrainingJobName=name)):
        time.sleep(0.1)
    rule = TrainingJob.describe(name).rules[0]
    took = description["TrainingEndTime"] - dt.datetime.fromisoformat(rule.since.replace("Z", "+00:00"))
    return {"seconds": took.total_seconds(), "status": rule.status}


def child_describe():
    """Return the numbers of requests that describing a job takes."""
    import boto3
    import botocore.endpoint

    from sagemaker_debug_ext.sdk import TrainingJob

    jobs = boto3.client("sagemaker").list_training_jobs()["TrainingJobSummaries"]
    counts = {"sagemaker": 0, "s3": 0}
    make_request = botocore.endpoint.Endpoint.make_request

    def counted(self, operation, request):
        counts[operation.service_model.service_name] += 1
        return make_request(self, operation, request)

    botocore.endpoint.Endpoint.make_request = counted
    print(len(TrainingJob.describe(jobs[0]["TrainingJobName"]).rules), "rules")
    return counts


def child_settings():
    """Return the number of variables of 20 typical collections and five rules."""
    from sagemaker_debug_ext import CollectionConfig, DebuggerHookConfig, Rule, rule_configs, self_managed_request

    collections = [
        CollectionConfig(f"block_{place}", {"include_regex": f"encoder/block_{place}/.*", "save_interval": "50"})
        for place in range(20)
    ]
    request = self_managed_request(
        {"TrainingJobName": "digits-1", "OutputDataConfig": {"S3OutputPath": OUTPUT}},
        debugger_hook_config=DebuggerHookConfig(collection_configs=collections),
        rules=[Rule.sagemaker(getattr(rule_configs, rule)()) for rule in RULES],
        self_managed=True,
    )
    return {"count": sum(name.startswith("SAGEMAKER_DEBUG_EXT_JOB_") for name in request["Environment"])}


# --- figures ----------------------------------------------------------------------------------------------------------


def fit_seconds(python):
    """Return the seconds that ``fit`` of SDK v2 takes for a short training."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_text(TRAIN.format(steps=50))
        Path(folder, "submit.py").write_text(FIT)
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "SAGEMAKER_SUPPRESS_V2_WARNING": "1"}
        with Timer() as timer:
            command = [python, "-m", "sagemaker_debug_ext.laptop.script", "submit.py"]
            subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    return timer.seconds


def measure(options):
    """Return the rows of the table."""

    def child(*arguments):
        return run_child(__file__, sys.executable, ["--child", *arguments])

    def median(key, *arguments):
        return statistics.median(child(*arguments)[key] for _ in range(options.repeat))

    starts = []
    for _ in range(options.repeat - 1):
        with laptop() as seconds:
            starts.append(seconds)
    with laptop() as seconds:
        starts.append(seconds)
        samples = {"alone": [], "watched": []}
        for _ in range(options.repeat):
            for kind, results in samples.items():
                results.append(child("train", kind))
        alone, watched = (
            statistics.median(result["milliseconds"] for result in samples[kind]) for kind in ("alone", "watched")
        )
        medians = [statistics.median(result["median"] for result in samples[kind]) for kind in ("alone", "watched")]
        rows = [
            Row("20 collections and 5 rules: variables", None, child("settings")["count"], "at most", 4),
            Row("step of training without a watcher: milliseconds", None, alone),
            Row("watcher in the container: mean step, %", None, 100 * (watched / alone - 1), "at most", 2),
            Row("watcher in the container: median step, %", None, 100 * (medians[1] / medians[0] - 1)),
            Row("watcher: processor seconds", None, statistics.median(r["cpu"] for r in samples["watched"])),
            Row("watcher: memory, MiB", None, max(r["memory"] for r in samples["watched"]), "at most", 300),
            Row("watcher: seconds until its first status", None, median("seconds", "start"), "at most", 1),
            Row("verdict until the job has ended: seconds", None, median("seconds", "stop"), "at most", 60),
        ]
        described = child("describe")
        rows += [
            Row("describing a job: requests to SageMaker", None, described["sagemaker"], "at most", 1),
            Row("describing a job: requests to S3", None, described["s3"], "at most", 2),
        ]
        if options.sdk_python:
            fits = [fit_seconds(options.sdk_python) for _ in range(options.repeat)]
            rows.append(Row("fit of SDK v2: seconds", None, statistics.median(fits), "at most", 15))
    rows.append(Row("server: seconds until it answers", None, statistics.median(starts), "at most", 3))
    return rows


def main():
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    arguments = parser(__doc__)
    arguments.add_argument("--sdk-python", metavar="PYTHON", help="an interpreter with this package and SDK v2")
    options = arguments.parse_args()
    if options.child:
        result_file = os.dup(1)
        os.dup2(2, 1)  # what the watcher prints
        result = globals()[f"child_{options.child[0]}"](*options.child[1:])
        os.write(result_file, json.dumps(result).encode())
    else:
        print_rows(measure(options), options)


if __name__ == "__main__":
    main()
