"""The walk-throughs run: the parts for boto3."""

from __future__ import annotations

from sagemaker_debug_ext import self_managed_request
from sagemaker_debug_ext.sdk.self_managed import debugger_members
from support.aws import ROLE
from support.guides import run_guide


def test_snippets_when_run_in_their_order_then_print_what_the_page_shows(aws, capsys):
    """The snippets for boto3 and those for all ways to submit run one after the other."""
    names = {"role": ROLE, "client": aws.client("sagemaker")}
    names = run_guide("docs/submitting.md", 6, surface="boto3", names=names, capsys=capsys)
    assert names["job"].artifact_paths.debugger == "s3://my-bucket/debug/digits-1/debug-output"
    assert len(names["job"].settings["rules"]) == 2


def test_snippets_of_self_managed_jobs_run_and_print_what_the_page_shows(aws, capsys):
    """Those that need no job on AWS."""
    names = run_guide("docs/self-managed.md", 8, capsys=capsys)
    assert not names["attached"].is_attached
    request = {"TrainingJobName": "profiled-1", "OutputDataConfig": {"S3OutputPath": "s3://bucket/output"}}
    rules = debugger_members(self_managed_request(request, **names["settings"]))["ProfilerRuleConfigurations"]
    assert [rule["RuleConfigurationName"] for rule in rules] == ["ProfilerReport", "StepOutlier"]
