"""The members of rules."""

import json

import pytest

from sagemaker_debug_ext import rule_configs
from sagemaker_debug_ext.config import ActionList, Email, ProfilerRule, Rule, StopTraining
from sagemaker_debug_ext.errors import DebugExtWarning, RequestValidationError, SMDebugValueError
from sagemaker_debug_ext.requests.rules import RuleContext, build_rule_configurations, render_actions
from support.pipelines import Variable

CUSTOM_IMAGE = "864354269164.dkr.ecr.us-east-1.amazonaws.com/sagemaker-debugger-rule-evaluator:latest"
HERE = RuleContext(region="us-east-1", job_name="job-1", source_uris={"rule.py": "s3://b/rule.py"})
IMAGE = "503895931360.dkr.ecr.us-east-1.amazonaws.com/sagemaker-debugger-rules:latest"


def problems_of(*rules, surroundings=HERE):
    with pytest.raises(RequestValidationError) as caught:
        build_rule_configurations(rules, surroundings)
    return caught.value.problems


def test_build_of_a_built_in_rule_has_image_and_parameters():
    """Nothing else is sent unless it was asked for."""
    assert build_rule_configurations([Rule.sagemaker(rule_configs.overfit())], HERE) == [
        {
            "RuleConfigurationName": "Overfit",
            "RuleEvaluatorImage": IMAGE,
            "RuleParameters": {"rule_to_invoke": "Overfit"},
        }
    ]


def test_build_of_a_custom_rule_has_all_members():
    """The evaluator for custom rules is found from the region, the local file replaced by where it was uploaded."""
    rule = Rule.custom("Mine", None, "ml.t3.medium", 0, "rule.py", "MyRule", "/local", "s3://b/out")
    assert build_rule_configurations([rule], HERE) == [
        {
            "RuleConfigurationName": "Mine",
            "RuleEvaluatorImage": CUSTOM_IMAGE,
            "InstanceType": "ml.t3.medium",
            "VolumeSizeInGB": 0,
            "LocalPath": "/local",
            "S3OutputPath": "s3://b/out",
            "RuleParameters": {"source_s3_uri": "s3://b/rule.py", "rule_to_invoke": "MyRule"},
        }
    ]


def test_build_of_a_custom_rule_whose_file_stays_here_needs_its_uri(tmp_path):
    """A path means a file to upload; the error says how a job on this machine gets it."""
    path = tmp_path / "here.py"
    with pytest.raises(RequestValidationError, match=f"for a job that runs on this machine, give '{path.as_uri()}'"):
        build_rule_configurations([Rule.custom("Mine", "i", "ml.t3.medium", 0, str(path), "MyRule")], HERE)
    (member,) = build_rule_configurations([Rule.custom("Mine", "i", "ml.t3.medium", 0, path.as_uri(), "MyRule")], HERE)
    assert member["RuleParameters"]["source_s3_uri"] == path.as_uri()


def test_build_of_a_custom_rule_without_parameters_leaves_them_out():
    """An image may know its rule by itself."""
    (member,) = build_rule_configurations([Rule.custom("Mine", "docker.io/x", "ml.t3.medium", 1)], HERE)
    assert "RuleParameters" not in member
    assert member["RuleEvaluatorImage"] == "docker.io/x"


def test_build_with_pipeline_variables_passes_them_on():
    """Image, names and parameters may be unknown yet."""
    variable = Variable()
    rule = Rule.custom(variable, variable, variable, variable, variable, variable)
    (member,) = build_rule_configurations([rule], HERE)
    assert member["RuleConfigurationName"] is member["RuleEvaluatorImage"] is variable
    assert member["RuleParameters"] == {"source_s3_uri": variable, "rule_to_invoke": variable}


def test_build_does_not_change_the_rule_or_follow_another_region():
    """The same rule serves two jobs."""
    rule = Rule.sagemaker(rule_configs.overfit(), actions=StopTraining())
    (first,) = build_rule_configurations([rule], HERE)
    (second,) = build_rule_configurations([rule], RuleContext(region="cn-north-1", job_name="job-2"))
    assert "amazonaws.com.cn" in second["RuleEvaluatorImage"]
    assert "job-1" in first["RuleParameters"]["action_json"]
    assert "job-2" in second["RuleParameters"]["action_json"]


def test_build_of_rules_with_one_name_is_refused():
    """Names are unique within a job."""
    rule = Rule.sagemaker(rule_configs.overfit())
    assert problems_of(rule, rule) == (
        "[1].RuleConfigurationName: names of rules must be unique (got 'Overfit' again); give this rule another name",
    )


def test_build_tells_all_problems_with_their_paths():
    """Of all rules at once."""
    hand_made = {
        "DebugRuleConfiguration": {"RuleConfigurationName": "A", "RuleParameters": {"rule_to_invoke": "Overfitt"}}
    }
    plain = dict(rule_configs.overfit())
    problems = problems_of(
        Rule.sagemaker(hand_made),
        Rule.sagemaker(plain, rule_parameters={"patience": "long"}),
        Rule.custom("Mine", None, "ml.t3.medium", 1, "other.py", "MyRule"),
        surroundings=RuleContext(region="us-gov-west-1"),
    )
    assert [problem.partition(":")[0] for problem in problems] == [
        "[0].RuleParameters",
        "[1].RuleParameters",
        "[2].RuleEvaluatorImage",
        "[2].RuleParameters",
    ]
    assert "did you mean 'Overfit'" in problems[0]
    assert "'patience' of rule Overfit must be" in problems[1]
    assert "no evaluator for custom rules in region 'us-gov-west-1'" in problems[2]
    assert "upload the file" in problems[3]


@pytest.mark.parametrize(
    ("image", "match"),
    [
        ("503895931360.dkr.ecr.us-west-2.amazonaws.com/x:latest", "in the region of the job, 'us-east-1'"),
        ("503895931360.dkr.ecr.us-east-1.amazonaws.com.cn/x:latest", "must end in 'amazonaws.com'"),
    ],
)
def test_build_of_a_rule_with_an_image_from_elsewhere_is_refused(image, match):
    """The service accepts images of the job's region and partition only."""
    (problem,) = problems_of(Rule.custom("Mine", image, "ml.t3.medium", 1))
    assert match in problem


def test_build_of_a_profiler_rule_checks_its_parameters():
    """Also those that came from the original package."""
    (member,) = build_rule_configurations([ProfilerRule.sagemaker(rule_configs.StepOutlier())], HERE)
    assert member["RuleParameters"]["mode"] == "None"


def test_image_account_replaces_that_of_aws():
    """For copies of the evaluator, in any region."""
    surroundings = RuleContext(region="il-central-1", image_account="123456789012")
    (member,) = build_rule_configurations([Rule.sagemaker(rule_configs.overfit())], surroundings)
    assert member["RuleEvaluatorImage"].startswith("123456789012.dkr.ecr.il-central-1.")


def test_actions_are_written_with_the_jobs_name():
    """Unless the user gave a prefix."""
    text = render_actions(ActionList(StopTraining(), Email("a@b.com")), "job-1")
    assert json.loads(text.replace("\\", "")) == [
        {"name": "stoptraining", "training_job_prefix": "job-1"},
        {"endpoint": "a@b.com", "name": "email"},
    ]
    assert "mine" in render_actions(StopTraining("mine"), "job-1")


def test_actions_longer_than_a_parameter_are_refused():
    """The length of the written text counts, not that of the addresses."""
    actions = ActionList(StopTraining(), Email("someone.with.a.name@example.com"), Email("b" * 60 + "@example.com"))
    with pytest.raises(SMDebugValueError, match="at most 256 characters"):
        render_actions(actions, "j" * 63)


def test_actions_without_a_known_job_name_need_a_prefix():
    """As in a pipeline."""
    rule = Rule.sagemaker(rule_configs.overfit(), actions=StopTraining())
    (problem,) = problems_of(rule, surroundings=RuleContext(region="us-east-1"))
    assert problem.startswith("[0].RuleParameters: StopTraining must have a training_job_prefix")
    assert render_actions(Email("a@b.com"), None)


@pytest.mark.parametrize(("action", "job_name"), [(StopTraining(), "My-Job"), (StopTraining("My"), "job")])
def test_actions_with_capitals_in_the_prefix_warn(action, job_name):
    """AWS's container would never stop such a job."""
    with pytest.warns(DebugExtWarning, match="will not stop a job called 'My"):
        render_actions(action, job_name)
