"""Which image evaluates a rule."""

import pytest

from sagemaker_debug_ext.catalog import images, rule_image_uri, rule_regions
from sagemaker_debug_ext.catalog.images import dns_suffix, get_rule_container_image_uri, parse_image_uri
from sagemaker_debug_ext.errors import SMDebugValueError


@pytest.mark.parametrize(
    ("region", "custom", "uri"),
    [
        ("us-east-1", False, "503895931360.dkr.ecr.us-east-1.amazonaws.com/sagemaker-debugger-rules:latest"),
        ("us-east-1", True, "864354269164.dkr.ecr.us-east-1.amazonaws.com/sagemaker-debugger-rule-evaluator:latest"),
        ("cn-north-1", False, "618459771430.dkr.ecr.cn-north-1.amazonaws.com.cn/sagemaker-debugger-rules:latest"),
        ("us-gov-west-1", False, "515509971035.dkr.ecr.us-gov-west-1.amazonaws.com/sagemaker-debugger-rules:latest"),
        ("eu-north-1", True, "091235270104.dkr.ecr.eu-north-1.amazonaws.com/sagemaker-debugger-rule-evaluator:latest"),
    ],
)
def test_rule_image_uri_of_a_known_region(region, custom, uri):
    """Partition and account belong to the region; accounts keep leading zeros."""
    assert rule_image_uri(region, custom) == uri


def test_sdks_name_gives_the_same_image():
    """For scripts that ask for it by that name."""
    assert get_rule_container_image_uri("eu-west-1") == rule_image_uri("eu-west-1")


@pytest.mark.parametrize(
    ("region", "custom", "match"),
    [
        ("il-central-1", False, "Debugger has no evaluator for built-in rules in region 'il-central-1'"),
        ("us-west-3", True, "did you mean 'us-west-2'"),
    ],
    ids=["a region without Debugger", "a misspelt region"],
)
def test_rule_image_uri_of_an_unknown_region_is_refused(region, custom, match):
    """The error has the region, and either the lack of Debugger there or the nearest region."""
    with pytest.raises(SMDebugValueError, match=match):
        rule_image_uri(region, custom=custom)


def test_rule_image_uri_with_an_account_works_in_every_region():
    """A copy of the image may lie anywhere."""
    uri = rule_image_uri("il-central-1", account="123456789012")
    assert uri == "123456789012.dkr.ecr.il-central-1.amazonaws.com/sagemaker-debugger-rules:latest"


@pytest.mark.parametrize("custom", [False, True])
def test_parse_image_uri_undoes_rule_image_uri(custom):
    """For every region of both tables."""
    assert len(rule_regions(custom)) == (20 if custom else 24)
    for region in rule_regions(custom):
        image = parse_image_uri(rule_image_uri(region, custom))
        assert (image.region, image.dns_suffix) == (region, dns_suffix(region))
        assert len(image.account) == 12


def test_parse_image_uri_of_another_registry_is_none():
    """Only addresses in ECR name a region."""
    assert parse_image_uri("docker.io/library/python:3.11") is None
    assert parse_image_uri("123456789012.dkr.ecr.us-east-1.amazonaws.com/a/b@sha256:00").repository == "a/b"


@pytest.mark.parametrize(
    ("region", "suffix"),
    [("us-iso-east-1", "c2s.ic.gov"), ("us-isob-east-1", "sc2s.sgov.gov"), ("eu-west-1", "amazonaws.com")],
)
def test_dns_suffix_is_that_of_the_partition(region, suffix):
    """A region's name tells its partition."""
    assert dns_suffix(region) == suffix


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5.1-gpu-py311", ("pytorch", "2.5.1")),
        ("763104351884.dkr.ecr.us-east-1.amazonaws.com/huggingface-pytorch-training:2.1.0-x", ("pytorch", "2.1.0")),
        ("763104351884.dkr.ecr.us-east-1.amazonaws.com/tensorflow-training:2.11.0", ("tensorflow", "2.11.0")),
        ("683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.3-1", ("xgboost", "1.3")),
        ("683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost@sha256:abc", ("xgboost", None)),
        ("382416733822.dkr.ecr.us-east-1.amazonaws.com/kmeans:1", (None, None)),
        ("my-image", (None, None)),
    ],
)
def test_framework_of_image_reads_the_address(uri, expected):
    """What it does not tell is None."""
    assert images.framework_of_image(uri) == expected


def test_image_of_sagemaker_profiler_has_a_function_and_the_name_of_the_sdk():
    """The image of SageMaker Profiler is found by its own function, and by the SDK's name for both images."""
    image = "915447279597.dkr.ecr.us-east-2.amazonaws.com/detailed-profiler-processing:latest"
    assert images.profiler_image_uri("us-east-2") == image
    assert images.get_rule_container_image_uri("DetailedProfilerProcessingJobConfig-1", "us-east-2") == image
    assert images.get_rule_container_image_uri("Overfit", "us-east-2") == images.rule_image_uri("us-east-2")


def test_image_of_sagemaker_profiler_in_a_region_without_it_is_refused():
    """The error has the region in which SageMaker Profiler does not run."""
    with pytest.raises(SMDebugValueError, match="SageMaker Profiler does not run in region 'eu-west-3'"):
        images.profiler_image_uri("eu-west-3")


def test_image_by_the_name_of_the_sdk_needs_a_region():
    """The function of the SDK's name refuses a call without a region."""
    with pytest.raises(SMDebugValueError, match="region must be given"):
        images.get_rule_container_image_uri()


def test_supports_debugger_is_a_list_of_what_is_known():
    """New regions are not taken for supported."""
    assert images.supports_debugger("cn-north-1")
    assert not images.supports_debugger("ca-west-1")
