"""The commands of the guide, run as a reader does."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sagemaker_debug_ext import CollectionConfig, DebuggerHookConfig, Rule, rule_configs, self_managed_request
from support.guides import run_guide
from support.laptop import TRAIN

GUIDE = Path(__file__).parents[3] / "docs" / "laptop.md"
MAX_COMMANDS = 5


def blocks(language):
    text = GUIDE.read_text(encoding="utf-8")
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
    assert run("sagemaker-debug self-managed env request.json", tmp_path).startswith(
        "export SAGEMAKER_DEBUG_EXT_JOB_0="
    )
    for kind in ("job", "trainjob", "rayjob", "sbatch"):
        command = f"sagemaker-debug self-managed manifest {kind} request.json --name digits-1 --image my/train:1"
        words = command.replace(" --image my/train:1", "") if kind == "sbatch" else command
        assert "digits-1" in run(f"{words} -- python train.py", tmp_path)


def run(command, folder):
    program, *words = command.split()
    assert program == "sagemaker-debug"
    report = subprocess.run(
        [sys.executable, "-m", "sagemaker_debug_ext.cli.main", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert report.returncode in (0, 1), report.stderr
    return report.stdout
