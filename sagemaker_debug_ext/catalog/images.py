"""Images that evaluate rules: region → account, repository and host."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from sagemaker_debug_ext.config.rules import PROFILER_RULE_NAME
from sagemaker_debug_ext.errors import SMDebugValueError, did_you_mean

BUILTIN_REPOSITORY: Final = "sagemaker-debugger-rules"
CUSTOM_REPOSITORY: Final = "sagemaker-debugger-rule-evaluator"
PROFILER_REPOSITORY: Final = "detailed-profiler-processing"

_BUILTIN_ACCOUNTS: Final[Mapping[str, str]] = {
    "af-south-1": "314341159256",
    "ap-east-1": "199566480951",
    "ap-northeast-1": "430734990657",
    "ap-northeast-2": "578805364391",
    "ap-northeast-3": "479947661362",
    "ap-south-1": "904829902805",
    "ap-southeast-1": "972752614525",
    "ap-southeast-2": "184798709955",
    "ca-central-1": "519511493484",
    "cn-north-1": "618459771430",
    "cn-northwest-1": "658757709296",
    "eu-central-1": "482524230118",
    "eu-north-1": "314864569078",
    "eu-south-1": "563282790590",
    "eu-west-1": "929884845733",
    "eu-west-2": "250201462417",
    "eu-west-3": "447278800020",
    "me-south-1": "986000313247",
    "sa-east-1": "818342061345",
    "us-east-1": "503895931360",
    "us-east-2": "915447279597",
    "us-gov-west-1": "515509971035",
    "us-west-1": "685455198987",
    "us-west-2": "895741380848",
}

_CUSTOM_ACCOUNTS: Final[Mapping[str, str]] = {
    "ap-east-1": "645844755771",
    "ap-northeast-1": "670969264625",
    "ap-northeast-2": "326368420253",
    "ap-south-1": "552407032007",
    "ap-southeast-1": "631532610101",
    "ap-southeast-2": "445670767460",
    "ca-central-1": "105842248657",
    "cn-north-1": "617202126805",
    "cn-northwest-1": "658559488188",
    "eu-central-1": "691764027602",
    "eu-north-1": "091235270104",
    "eu-west-1": "606966180310",
    "eu-west-2": "074613877050",
    "eu-west-3": "224335253976",
    "me-south-1": "050406412588",
    "sa-east-1": "466516958431",
    "us-east-1": "864354269164",
    "us-east-2": "840043622174",
    "us-west-1": "952348334681",
    "us-west-2": "759209512951",
}

_PROFILER_ACCOUNTS: Final[Mapping[str, str]] = {
    "eu-central-1": "482524230118",
    "eu-west-1": "929884845733",
    "il-central-1": "216881608335",
    "us-east-1": "503895931360",
    "us-east-2": "915447279597",
    "us-west-2": "895741380848",
}

_DNS_SUFFIXES: Final = {
    "cn-": "amazonaws.com.cn",
    "us-iso-": "c2s.ic.gov",
    "us-isob-": "sc2s.sgov.gov",
    "us-isof-": "csp.hci.ic.gov",
    "eu-isoe-": "cloud.adc-e.uk",
    "eusc-": "amazonaws.eu",
}
"""First part of a region's name → DNS suffix of its partition; all other regions have the standard suffix."""

_ECR_URI: Final = re.compile(r"(\d{12})\.dkr\.ecr(?:-fips)?\.([a-z0-9-]+)\.([a-z0-9.-]+)/([^:@]+).*")


class ImageLocation(NamedTuple):
    """The location of an image: the parts of its URI."""

    account: str
    region: str
    dns_suffix: str
    repository: str


def dns_suffix(region: str) -> str:
    """Return the DNS suffix of the partition that `region` belongs to."""
    return next((suffix for start, suffix in _DNS_SUFFIXES.items() if region.startswith(start)), "amazonaws.com")


def rule_regions(custom: bool = False) -> tuple[str, ...]:
    """Return the regions whose evaluator is known, sorted."""
    return tuple(sorted(_CUSTOM_ACCOUNTS if custom else _BUILTIN_ACCOUNTS))


def rule_image_uri(region: str, custom: bool = False, account: str | None = None) -> str:
    """Return the URI of the image that evaluates rules in `region`.

    Args:
        region: Name of the region.
        custom: Whether to return the evaluator for custom rules instead of the one for built-in rules.
        account: Account that holds the image, for regions without a known account or for a private copy.

    Raises:
        SMDebugValueError: No image is known for the region, and no account is given.
    """
    accounts = _CUSTOM_ACCOUNTS if custom else _BUILTIN_ACCOUNTS
    owner = account or accounts.get(region)
    if owner is None:
        kind = "custom" if custom else "built-in"
        raise SMDebugValueError(
            f"Debugger has no evaluator for {kind} rules in region {region!r}, only in {', '.join(sorted(accounts))}; "
            f"give the account of a copy, or leave the rules out{did_you_mean(region, tuple(accounts))}"
        )
    repository = CUSTOM_REPOSITORY if custom else BUILTIN_REPOSITORY
    return f"{owner}.dkr.ecr.{region}.{dns_suffix(region)}/{repository}:latest"


def profiler_image_uri(region: str) -> str:
    """Return the URI of the image that processes the recordings of SageMaker Profiler.

    Raises:
        SMDebugValueError: SageMaker Profiler does not run in the region.
    """
    account = _PROFILER_ACCOUNTS.get(region)
    if account is None:
        raise SMDebugValueError(
            f"SageMaker Profiler does not run in region {region!r}, only in {', '.join(sorted(_PROFILER_ACCOUNTS))}"
        )
    return f"{account}.dkr.ecr.{region}.{dns_suffix(region)}/{PROFILER_REPOSITORY}:latest"


def supports_debugger(region: str) -> bool:
    """Return whether Debugger runs in `region`, that is, whether there is an evaluator for built-in rules."""
    return region in _BUILTIN_ACCOUNTS


def get_rule_container_image_uri(name: str | None = None, region: str | None = None) -> str:
    """Return the URI of the image that evaluates a rule; the SDK's name for `rule_image_uri`.

    Args:
        name: Name of the rule; it only matters for the processing rule of SageMaker Profiler. If it is the only
            argument, it is the region.
        region: Name of the region.

    Raises:
        SMDebugValueError: There is no such image in the region.
    """
    if region is None:
        name, region = None, name
    if region is None:
        raise SMDebugValueError("region must be given")
    if name is not None and name.startswith(PROFILER_RULE_NAME):
        return profiler_image_uri(region)
    return rule_image_uri(region)


def parse_image_uri(uri: str) -> ImageLocation | None:
    """Parse the URI of an image in ECR; None for other registries."""
    match = _ECR_URI.fullmatch(uri)
    return ImageLocation(*match.groups()) if match else None


_FRAMEWORK_REPOSITORIES: Final = re.compile(
    r"(?:sagemaker-)?(?:huggingface-)?(pytorch|tensorflow|mxnet|xgboost)(?:-trcomp)?(?:-training|-scriptmode)?"
)
_VERSION: Final = re.compile(r"\d+(?:\.\d+)*")


def framework_of_image(uri: str) -> tuple[str | None, str | None]:
    """Return the framework and version in the URI of an AWS training image; None for a part that is missing.

    Example:
        >>> framework_of_image("763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5.1-gpu-py311")
        ('pytorch', '2.5.1')
    """
    repository, _, tag = uri.partition("@")[0].rpartition("/")[2].partition(":")
    framework = _FRAMEWORK_REPOSITORIES.fullmatch(repository)
    version = _VERSION.match(tag)
    return (framework[1], version[0] if version else None) if framework else (None, None)
