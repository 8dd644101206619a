"""The commands of the guide, run as a reader does."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sagemaker_debug_ext import CollectionConfig, DebuggerHookConfig, Rule, rule_configs, self_managed_request
from support.guides import run_guide
from support.laptop import TRAIN

GUIDE = Path(__file__).parents[3] / "docs" / "laptop.md"
SELF_MANAGED = GUIDE.with_name("self-managed.md")
MAX_COMMANDS = 5
PROGRAM = [sys.executable, "-m", "sagemaker_debug_ext.cli.main"]

DEBUG = """
import sys
from sagemaker_debug_ext.cli.main import main
sys.exit(main())
"""
KEEP = """
import pathlib, sys
name = pathlib.Path(sys.argv[0]).name
with open(f"{name}.log", "a") as kept:
    kept.write(sys.stdin.read() if name == "kubectl" else pathlib.Path(sys.argv[1]).read_text())
"""
AWS = """
import argparse, json, boto3
parser = argparse.ArgumentParser()
parser.add_argument("service")
parser.add_argument("operation")
parser.add_argument("--template-file")
parser.add_argument("--stack-name")
parser.add_argument("--capabilities")
parser.add_argument("--parameter-overrides", nargs="*", default=[])
given = parser.parse_args()
client = boto3.client(given.service)
if given.operation == "list-training-jobs":
    print(json.dumps(client.list_training_jobs()["TrainingJobSummaries"], default=str))
else:
    values = dict(text.split("=", 1) for text in given.parameter_overrides)
    client.delete_stack(StackName=given.stack_name)
    client.create_stack(
        StackName=given.stack_name,
        TemplateBody=open(given.template_file).read(),
        Capabilities=[given.capabilities],
        Parameters=[{"ParameterKey": name, "ParameterValue": value} for name, value in values.items()],
    )
"""


def blocks(language, page=GUIDE):
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"(?<!-->\n)^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")
def test_guide_when_followed_then_leads_to_a_stopped_job(tmp_path):
    """From nothing to a stopped job and its report, with the output that the guide shows."""
    for code in blocks("python"):
        name = re.match(r"# (\w+\.py)\n", code).group(1)
        (tmp_path / name).write_text(code)
    install, *commands = [line for block in blocks("sh")[:2] for line in block.splitlines()]
    assert install.startswith("pip install ")
    assert len([install, *commands]) <= MAX_COMMANDS
    printed = [run(command, tmp_path) for command in commands]
    shown, measured = (re.sub(r"step \d+", "step N", text) for text in (blocks("text")[0], printed[0]))
    assert measured == shown
    assert re.search(r"(from|found at) step \d+", printed[1])
    assert "gradients" in (tmp_path / "deep-1.html").read_text().lower()


@pytest.mark.skipif(importlib.util.find_spec("xgboost") is None, reason="needs XGBoost")
def test_snippets_of_self_managed_jobs_when_they_need_jobs_then_run_here(
    server, submit, wait_for, sagemaker, monkeypatch, tmp_path
):
    """Those that look at a job, start its watcher, and write the file for the commands of clusters."""
    for name, value in {
        "AWS_ENDPOINT_URL": server.url,
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    rules = [Rule.sagemaker(rule_configs.tree_depth(), rule_parameters={"depth": "0"})]
    hook = DebuggerHookConfig(collection_configs=[CollectionConfig("trees", {"save_interval": "5"})])
    output = {"OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"}}
    members = self_managed_request(output, debugger_hook_config=hook, rules=rules)
    submit("digits-1", TRAIN.replace("100_000", "22"), Environment=members["Environment"])
    wait_for("digits-1", "Completed")
    names = run_guide("docs/self-managed.md", 3, surface="laptop", names={"rules": rules})
    assert names["job"].rules["TreeDepth"].status == "IssuesFound"
    assert names["trial"].steps() == [0, 5, 10, 15, 20]
    watcher = sagemaker.describe_processing_job(ProcessingJobName=names["request"]["ProcessingJobName"])
    assert watcher["RoleArn"] == names["role"]
    (tmp_path / "train.py").write_text("print('trained')")
    commands = blocks("sh", SELF_MANAGED)
    assert len(commands) == 5
    printed = "".join(run_block(block, tmp_path) for block in commands)
    assert "trained" in printed
    applied = (tmp_path / "kubectl.log").read_text()
    assert [kind for kind in ("TrainJob", "RoleBinding", "Job") if f'"kind": "{kind}"' not in applied] == []
    assert "#SBATCH" in (tmp_path / "sbatch.log").read_text()
    (stack,) = server.client("cloudformation").describe_stacks(StackName="self-managed")["Stacks"]
    server.client("cloudformation").delete_stack(StackName="self-managed")
    given = {parameter["ParameterKey"]: parameter["ParameterValue"] for parameter in stack["Parameters"]}
    assert (given["StartWatchers"], given["WatcherRoleName"]) == ("true", "Watcher")


def test_commands_for_a_server_when_typed_then_work(tmp_path):
    """With rights that jobs lack, and as a server that stays while clients in other terminals ask it."""
    deny, serve, ask = blocks("sh")[2:]
    (tmp_path / "submit.py").write_text("print('submitted')")
    assert "submitted" in run_block(deny, tmp_path)
    (command,) = serve.splitlines()
    words, _, output = command.replace("--work-dir", "--port 0 --work-dir").partition(" > ")
    with open(tmp_path / output, "w") as file:
        server = subprocess.Popen(PROGRAM + words.split()[1:], cwd=tmp_path, stdout=file)
    try:
        deadline = time.monotonic() + 120
        while "AWS_DEFAULT_REGION" not in (tmp_path / output).read_text():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert json.loads(run_block(ask, tmp_path)) == []
    finally:
        server.terminate()
        server.wait(60)


def run_block(block, folder):
    """Run a block of commands in a shell, where programs of clusters and of AWS are played; return what it prints."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    for name, code in {"sagemaker-debug": DEBUG, "aws": AWS, "kubectl": KEEP, "sbatch": KEEP}.items():
        (programs / name).write_text(f"#!{sys.executable}\n{code}")
        (programs / name).chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    script = f"set -e -o pipefail\n{block}"
    report = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert report.returncode == 0, report.stderr
    return report.stdout


def run(command, folder):
    program, *words = command.split()
    assert program == "sagemaker-debug"
    report = subprocess.run(
        [*PROGRAM, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert report.returncode in (0, 1), report.stderr
    return report.stdout
