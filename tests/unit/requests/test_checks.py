"""Checks of a finished request."""

import copy

import botocore.session
import jsonschema
import pytest
from botocore.validate import ParamValidator
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext import rule_configs
from sagemaker_debug_ext.config import CollectionConfig, DebuggerHookConfig, ProfilerRule, Rule, TensorBoardOutputConfig
from sagemaker_debug_ext.errors import DebugExtWarning, RequestValidationError
from sagemaker_debug_ext.requests import debugger_request, training_job_request
from sagemaker_debug_ext.requests.checks import (
    _schema,
    _validator,
    check_debugger_members,
    check_training_job_request,
)
from support.pipelines import Variable

CUSTOM_IMAGE = "864354269164.dkr.ecr.us-east-1.amazonaws.com/sagemaker-debugger-rule-evaluator:latest"


@pytest.fixture(scope="module")
def valid():
    return training_job_request(
        job_name="job-1",
        role_arn="arn:aws:iam::123456789012:role/R",
        image_uri="763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5-cpu-py311",
        region="us-east-1",
        output_path="s3://bucket/out",
        debugger_hook_config=DebuggerHookConfig(collection_configs=[CollectionConfig("losses", {"save_interval": 5})]),
        rules=[
            Rule.sagemaker(rule_configs.vanishing_gradient()),
            Rule.custom("Mine", CUSTOM_IMAGE, "ml.t3.medium", 5, "s3://b/r.py", "MyRule"),
            ProfilerRule.sagemaker(rule_configs.BatchSize()),
        ],
        tensorboard_output_config=TensorBoardOutputConfig("s3://bucket/tb"),
        hyperparameters={"lr": 0.1},
        other_members={"Tags": [{"Key": "team", "Value": "ml"}], "RetryStrategy": {"MaximumRetryAttempts": 2}},
    )


def changed(request, path, value):
    """Return a copy of a request with one member set, or removed if the value is `...`."""
    request = copy.deepcopy(request)
    *parents, last = path
    place = request
    for part in parents:
        place = place[part]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return request


def problems_of(request, **arguments):
    with pytest.raises(RequestValidationError) as caught:
        check_training_job_request(request, **arguments)
    return caught.value.problems


def test_check_of_a_valid_request_finds_nothing(valid):
    """Neither we nor botocore."""
    check_training_job_request(valid)
    check_training_job_request(valid, region="us-east-1")
    shape = botocore.session.Session().get_service_model("sagemaker").operation_model("CreateTrainingJob").input_shape
    assert not ParamValidator().validate(valid, shape).has_errors()


HOOK = ("DebugHookConfig",)
RULE = ("DebugRuleConfigurations", 0)
CUSTOM = ("DebugRuleConfigurations", 1)
TWENTY_ONE = [{"CollectionName": f"c{number}"} for number in range(21)]
TWICE = [{"CollectionName": "a"}] * 2


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        # the model
        (("RoleArn",), ..., "RoleArn: must be given"),
        (("RoleArn",), "role", "RoleArn: must match"),
        (("TrainingJobName",), "a_b", "TrainingJobName: must match"),
        (("TrainingJobName",), "a\n", "TrainingJobName: must match"),
        (("TrainingJobName",), "a" * 64, "TrainingJobName: must match"),
        (("DebugRulesConfigurations",), [], "DebugRulesConfigurations: unknown member; did you mean 'DebugRuleConfig"),
        ((*HOOK, "S3OutputPath"), "bucket", "DebugHookConfig.S3OutputPath: must match"),
        ((*HOOK, "S3OutputPath"), ..., "DebugHookConfig.S3OutputPath: must be given"),
        ((*HOOK, "S3Outputpath"), "s3://b", "S3Outputpath: unknown member; did you mean 'S3OutputPath'"),
        ((*HOOK, "CollectionConfigurations"), TWENTY_ONE, "must have at most 20 items (got 21)"),
        ((*HOOK, "CollectionConfigurations"), {"a"}, "CollectionConfigurations: must be of type array"),
        ((*HOOK, "HookParameters"), {"save_interval": 5}, "save_interval: must be of type string (got 5)"),
        ((*HOOK, "HookParameters"), {"save_interval": None}, "save_interval: must be of type string (got None)"),
        ((*HOOK, "HookParameters"), {"k" * 257: "1"}, "HookParameters: must have at most 256 characters (got 257"),
        ((*RULE, "RuleParameters", "threshold"), "1" * 257, "threshold: must have at most 256 characters (got 257"),
        ((*CUSTOM, "VolumeSizeInGB"), "5", "[1].VolumeSizeInGB: must be of type integer (got '5')"),
        ((*CUSTOM, "VolumeSizeInGB"), True, "VolumeSizeInGB: must be of type integer (got True)"),
        ((*CUSTOM, "VolumeSizeInGB"), 5.0, "VolumeSizeInGB: must be of type integer (got 5.0)"),
        (("RetryStrategy", "MaximumRetryAttempts"), 0, "MaximumRetryAttempts: must be at least 1 (got 0)"),
        (("RetryStrategy", "MaximumRetryAttempts"), 99, "MaximumRetryAttempts: must be at most 30 (got 99)"),
        (("AlgorithmSpecification", "TrainingInputMode"), "file", "TrainingInputMode: must be one of ['Pipe', 'File'"),
        (("Tags", 0, "Key"), "", "Tags[0].Key: must have at least 1 characters (got '')"),
        # the service
        ((*HOOK, "CollectionConfigurations"), TWICE, "Configurations[1].CollectionName: names must"),
        ((*HOOK, "HookParameters"), {"save_interval": "x"}, "HookParameters: save_interval of the hook"),
        (
            (*HOOK, "CollectionConfigurations", 0, "CollectionParameters"),
            {"save_interval": "0"},
            "CollectionConfigurations[0].CollectionParameters: save_interval of collection 'losses'",
        ),
        ((*RULE, "RuleConfigurationName"), "Mine", "[1].RuleConfigurationName: names must be unique"),
        ((*RULE, "InstanceType"), "ml.t3.medium", "[0].InstanceType: must be left out for a built-in rule"),
        ((*RULE, "RuleParameters", "threshold"), "high", "'threshold' of rule VanishingGradient must be a number"),
        ((*RULE, "RuleParameters", "rule_to_invoke"), "Nothing", "RuleParameters: there is no rule 'Nothing'"),
        ((*RULE, "RuleParameters", "rule_to_invoke"), ..., "rule_to_invoke: must name the built-in rule"),
        ((*RULE, "RuleParameters", "rule_to_invoke"), "BatchSize", "BatchSize is a profiler rule, not a debugger rule"),
        ((*RULE, "RuleParameters", "action_json"), "stop", "RuleParameters.action_json: action_json must be a JSON"),
        (("TensorBoardOutputConfig", "LocalPath"), "/tmp/tb", "TensorBoardOutputConfig.LocalPath: "),
        (("ProfilerConfig", "ProfilingIntervalInMilliseconds"), 123, "must be one of 100, 200, 500, 1000, 5000, 60000"),
        (("ProfilerConfig",), {"DisableProfiler": True, "S3OutputPath": "s3://b"}, "S3OutputPath: must be left out"),
        (("ProfilerConfig",), {"DisableProfiler": True}, "ProfilerRuleConfigurations: must be left out with"),
    ],
)  # fmt: skip
def test_check_of_a_violation_reports_it_with_its_path(valid, path, value, problem):
    """Each kind of mistake, by itself."""
    problems = problems_of(changed(valid, path, value))
    assert any(problem in line for line in problems), problems


def test_check_of_an_unknown_rule_parameter_warns(valid):
    """The service passes it on to the rule, which does not read it."""
    with pytest.warns(DebugExtWarning, match="did you mean 'threshold'"):
        check_training_job_request(changed(valid, (*RULE, "RuleParameters", "treshold"), "1"))


def test_check_tells_all_problems_at_once(valid):
    """Those of the model and those of the service."""
    request = changed(valid, ("RoleArn",), ...)
    request = changed(request, ("OutputDataConfig",), ...)
    request = changed(request, (*RULE, "VolumeSizeInGB"), 5)
    assert [problem.partition(":")[0] for problem in problems_of(request)] == [
        "RoleArn",
        "OutputDataConfig",
        "DebugRuleConfigurations[0].VolumeSizeInGB",
    ]


def test_check_of_images_compares_their_regions(valid):
    """With the job's, or, where that is not given, with each other."""
    assert "in the region of the job, 'us-west-2'" in problems_of(valid, region="us-west-2")[0]
    other = CUSTOM_IMAGE.replace("us-east-1", "us-west-2")
    (problem,) = problems_of(changed(valid, (*CUSTOM, "RuleEvaluatorImage"), other))
    assert problem.startswith("DebugRuleConfigurations[1].RuleEvaluatorImage: the image must be in the region")


def test_check_of_an_unknown_instance_type_warns_only(valid):
    """A newer one than botocore knows may exist."""
    with pytest.warns(
        DebugExtWarning, match=r"DebugRuleConfigurations\[1\].InstanceType: unknown value 'ml.t3.mediun'"
    ):
        check_training_job_request(changed(valid, (*CUSTOM, "InstanceType"), "ml.t3.mediun"))


def test_check_of_rules_without_a_hook_warns(valid):
    """The service takes the request; the rules see nothing."""
    with pytest.warns(DebugExtWarning, match="no DebugHookConfig"):
        check_training_job_request(changed(valid, HOOK, ...))


def test_check_skips_pipeline_variables(valid):
    """Wherever they stand."""
    variable = Variable()
    request = valid
    for path in [
        (*HOOK, "S3OutputPath"),
        (*HOOK, "CollectionConfigurations", 0, "CollectionName"),
        (*HOOK, "CollectionConfigurations", 0, "CollectionParameters", "save_interval"),
        (*RULE, "RuleParameters", "threshold"),
        (*CUSTOM, "InstanceType"),
        (*CUSTOM, "VolumeSizeInGB"),
        (*CUSTOM, "RuleEvaluatorImage"),
        (*CUSTOM, "RuleConfigurationName"),
        ("ProfilerConfig", "DisableProfiler"),
        ("ProfilerConfig", "ProfilingIntervalInMilliseconds"),
        ("TensorBoardOutputConfig", "LocalPath"),
    ]:
        request = changed(request, path, variable)
    check_training_job_request(request)


def test_check_accepts_tuples_as_lists(valid):
    """As botocore does."""
    check_training_job_request(changed(valid, ("DebugRuleConfigurations",), tuple(valid["DebugRuleConfigurations"])))


def test_check_of_the_members_alone_does_not_miss_the_rest():
    """Other members are the caller's."""
    members = debugger_request(job_name="job", region="us-east-1", output_path="s3://b", rules=[])
    check_debugger_members(members)
    members["DebugHookConfig"]["HookParameters"] = {"save_interval": 5}
    with pytest.raises(RequestValidationError, match="1 problem in the request"):
        check_debugger_members(members)


def test_schema_is_a_valid_schema():
    """What botocore's model is translated to is itself JSON Schema."""
    jsonschema.Draft202012Validator.check_schema(_schema())


def test_schema_covers_every_shape_with_a_pattern_that_python_can_read():
    """No pattern of the model is lost in translation."""
    patterns = []

    def collect(schema):
        patterns.extend([schema["pattern"]] if "pattern" in schema else [])
        for value in schema.values():
            if isinstance(value, dict):
                collect(value)

    collect(_schema())
    assert len(patterns) > 20
    assert not any(r"\p{" in pattern for pattern in patterns)


@given(
    st.dictionaries(
        st.text(max_size=3) | st.just("k" * 257),
        st.text(max_size=3) | st.sampled_from(["v" * 257, "a\nb"]) | st.integers() | st.none() | st.just(["x"]),
    )
)
def test_map_of_texts_when_checked_then_has_the_errors_that_jsonschema_finds(values):
    """Maps that hold allowed texts are accepted without a validator for each text; all others are checked by it."""
    request = {
        "HyperParameters": values,
        "Environment": values,
        "DebugHookConfig": {"S3OutputPath": "s3://b", "HookParameters": values},
    }
    plain = jsonschema.Draft202012Validator(_schema())
    expected = sorted((list(error.path), error.validator) for error in plain.iter_errors(request))
    assert sorted((list(error.path), error.validator) for error in _validator().iter_errors(request)) == expected
