"""The ``DebugRuleConfigurations`` and ``ProfilerRuleConfigurations`` members."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from sagemaker_debug_ext.catalog.images import (
    dns_suffix,
    parse_image_uri,
    profiler_image_uri,
    rule_image_uri,
)
from sagemaker_debug_ext.catalog.registry import get_rule_spec
from sagemaker_debug_ext.config._fields import MAX_TEXT, Text, warned_before
from sagemaker_debug_ext.config.actions import Action, ActionList, StopTraining
from sagemaker_debug_ext.config.rules import PROFILER_RULE_NAME, ProfilerRule, Rule
from sagemaker_debug_ext.errors import DebugExtWarning, SMDebugValueError
from sagemaker_debug_ext.requests._problems import Problems


@attrs.frozen(kw_only=True)
class RuleContext:
    """Properties of a job that its rules need.

    Args:
        region: Region of the job.
        job_name: Name of the job; None if it is not known yet, as in a pipeline.
        image_account: Account with a copy of the evaluator images; AWS's own if None.
        source_uris: Uploaded files with rule code: local path → S3 location.
    """

    region: str
    job_name: str | None = None
    image_account: str | None = None
    source_uris: Mapping[str, str] = attrs.field(factory=dict)


def build_rule_configurations(rules: Sequence[Rule | ProfilerRule], surroundings: RuleContext) -> list[dict[str, Any]]:
    """Build the members of all rules of one kind, in their order.

    Raises:
        RequestValidationError: Two rules have the same name, or a rule cannot be built.
    """
    problems = Problems()
    seen: set[str] = set()
    members = []
    for index, rule in enumerate(rules):
        with problems.below(f"[{index}]"):
            members.append(_build_rule(rule, surroundings))
        if isinstance(rule.name, str) and rule.name in seen:
            problems.add(
                f"[{index}].RuleConfigurationName",
                f"names of rules must be unique (got {rule.name!r} again); give this rule another name",
            )
        seen.update([rule.name] if isinstance(rule.name, str) else ())
    problems.raise_if_any()
    return members


def _build_rule(rule: Rule | ProfilerRule, surroundings: RuleContext) -> dict[str, Any]:
    problems = Problems()
    settled = rule
    with problems.below("RuleEvaluatorImage"):
        settled = attrs.evolve(settled, image_uri=_image(rule, surroundings))
    with problems.below("RuleParameters"):
        settled = attrs.evolve(settled, rule_parameters=_parameters(rule, surroundings))
    problems.raise_if_any()
    return settled.to_request_dict()


def _image(rule: Rule | ProfilerRule, surroundings: RuleContext) -> Text:
    if rule.image_uri is None and isinstance(rule.name, str) and rule.name.startswith(PROFILER_RULE_NAME):
        return profiler_image_uri(surroundings.region)
    if rule.image_uri is None:
        return rule_image_uri(surroundings.region, custom=not rule.built_in, account=surroundings.image_account)
    if isinstance(rule.image_uri, str):
        check_image_region(rule.image_uri, surroundings.region)
    return rule.image_uri


def check_image_region(uri: str, region: str | None) -> None:
    """Raise if an image in ECR is in another region or partition than the job; the service would reject it.

    Args:
        uri: URI of the image.
        region: Region of the job; the image's own if None.

    Raises:
        SMDebugValueError: The image is in another region or partition.
    """
    image = parse_image_uri(uri)
    if image is None:
        return
    if region is not None and image.region != region:
        raise SMDebugValueError(f"the image must be in the region of the job, {region!r} (got {uri!r})")
    if image.dns_suffix != dns_suffix(image.region):
        raise SMDebugValueError(
            f"hosts in region {image.region!r} must end in {dns_suffix(image.region)!r} (got {uri!r})"
        )


@warned_before()
def _parameters(rule: Rule | ProfilerRule, surroundings: RuleContext) -> dict[str, Text]:
    parameters = dict(rule.rule_parameters)
    if rule.built_in and isinstance(rule.rule_to_invoke, str):
        get_rule_spec(rule.rule_to_invoke).check_parameters(parameters, strict=False)
    if isinstance(rule.source, str):
        parameters["source_s3_uri"] = _source_uri(rule.source, surroundings.source_uris)
    if isinstance(rule, Rule) and rule.actions is not None:
        parameters["action_json"] = render_actions(rule.actions, surroundings.job_name)
    return parameters


def _source_uri(source: str, uploaded: Mapping[str, str]) -> str:
    uri = uploaded.get(source, source)
    if not uri.startswith(("s3://", "file://")):
        raise SMDebugValueError(
            "source_s3_uri must be on S3: upload the file and give its location in source_uris; for a job that runs on "
            f"this machine, give {Path(source).absolute().as_uri()!r} (got {source!r})"
        )
    return uri


def render_actions(actions: Action | ActionList, job_name: str | None) -> str:
    """Return the value of the parameter ``action_json``; the job's name is the default prefix.

    Raises:
        SMDebugValueError: The value is too long for a parameter, or the job's name is needed and not known.
    """
    members = actions.actions if isinstance(actions, ActionList) else (actions,)
    for action in members:
        if isinstance(action, StopTraining):
            prefix = action.training_job_prefix or job_name
            if prefix is None:
                raise SMDebugValueError(
                    "StopTraining must have a training_job_prefix if the name of the job is not known in advance, "
                    "as in a pipeline"
                )
            _warn_of_capitals(prefix)
    text = actions.serialize(job_name)
    if len(text) > MAX_TEXT:
        raise SMDebugValueError(
            f"actions must take at most {MAX_TEXT} characters when written out (got {len(text)}); "
            "name fewer of them, or give StopTraining a shorter prefix"
        )
    return text


def _warn_of_capitals(prefix: str) -> None:
    if prefix != prefix.lower():
        warnings.warn(
            f"StopTraining will not stop a job called {prefix!r}: AWS's rule container looks for the prefix in lower "
            "case, and names of jobs are case-sensitive",
            DebugExtWarning,
            stacklevel=2,
        )
