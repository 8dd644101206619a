"""The walk-through runs: the parts for SDK v3."""

from __future__ import annotations

from sagemaker.train import ModelTrainer

from sagemaker_debug_ext import Rule, rule_configs
from sagemaker_debug_ext.sdk import with_debugger
from support.aws import ROLE
from support.guides import run_guide


def test_snippets_when_run_in_their_order_then_submit_what_the_page_says(session, requests):
    """The snippets for SDK v3 and those for all ways to submit run one after the other."""
    names = run_guide("docs/submitting.md", 4, surface="v3", names={"role": ROLE, "session": session})
    assert requests[0]["DebugHookConfig"]["S3OutputPath"] == "s3://my-bucket/debug"
    surface = names["trainer"]
    name = requests[0]["TrainingJobName"]
    assert surface.latest_job_debugger_artifacts_path() == f"s3://my-bucket/debug/{name}/debug-output"
    assert [rule.name for rule in surface.latest_job_rules()] == ["VanishingGradient", "LossNotDecreasing"]


def test_snippet_of_self_managed_jobs_when_run_then_its_job_is_one(session, requests):
    """The arguments are those of any trainer."""
    names = {
        "with_debugger": with_debugger,
        "ModelTrainer": ModelTrainer,
        "arguments": {"sagemaker_session": session, "training_image": "image", "role": ROLE},
        "rules": [Rule.sagemaker(rule_configs.overfit())],
    }
    run_guide("docs/self-managed.md", 1, surface="v3", names=names)["trainer"].train(wait=False)
    assert "SAGEMAKER_DEBUG_EXT_JOB_0" in requests[0]["Environment"]
    assert "DebugHookConfig" not in requests[0]
