"""The walk-through runs: the parts for SDK v2."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from sagemaker.pytorch import PyTorch

from sagemaker_debug_ext import Rule, rule_configs
from sagemaker_debug_ext.sdk import with_debugger
from support.aws import ROLE
from support.guides import run_guide

needs_framework = pytest.mark.skipif(
    int(version("sagemaker").split(".")[1]) < 200, reason="the release does not know the page's framework"
)


@needs_framework
def test_snippets_when_run_in_their_order_then_submit_what_the_page_says(session, requests, script):
    """The snippets for SDK v2 and those for all ways to submit run one after the other."""
    names = run_guide("docs/submitting.md", 4, surface="v2", names={"role": ROLE, "session": session})
    assert requests[0]["DebugHookConfig"]["S3OutputPath"] == "s3://my-bucket/debug"
    surface = names["estimator"]
    name = requests[0]["TrainingJobName"]
    assert surface.latest_job_debugger_artifacts_path() == f"s3://my-bucket/debug/{name}/debug-output"
    assert [rule.name for rule in surface.latest_job_rules()] == ["VanishingGradient", "LossNotDecreasing"]


def is_self_managed(request):
    return "SAGEMAKER_DEBUG_EXT_JOB_0" in request["Environment"] and "DebugHookConfig" not in request


def test_snippet_of_self_managed_jobs_when_run_then_its_job_is_one(session, requests, script):
    """The arguments are those of any estimator."""
    settings = {"entry_point": script, "role": ROLE, "framework_version": "1.12.0", "py_version": "py38"}
    names = {
        "with_debugger": with_debugger,
        "PyTorch": PyTorch,
        "arguments": {**settings, "instance_count": 1, "instance_type": "ml.m5.large", "sagemaker_session": session},
        "rules": [Rule.sagemaker(rule_configs.overfit())],
    }
    run_guide("docs/self-managed.md", 1, surface="v2", names=names)["estimator"].fit(wait=False)
    assert is_self_managed(requests[0])


@needs_framework
@pytest.mark.usefixtures("script")
def test_snippet_of_the_laptop_when_run_then_its_job_is_self_managed(session, requests, monkeypatch):
    """Its session is the default one, which `laptop run` directs to the server."""
    monkeypatch.setattr("sagemaker.estimator.Session", lambda *_, **__: session)
    run_guide("docs/laptop.md", 1, surface="v2")
    assert is_self_managed(requests[0])
