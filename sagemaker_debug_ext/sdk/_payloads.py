"""Training jobs inside other requests: the payload of an AWS Batch job, and the definition of a pipeline."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from sagemaker_debug_ext.errors import SMDebugValueError

Change: TypeAlias = Callable[[Mapping[str, Any]], dict[str, Any] | None]
"""Returns a changed request or definition of training jobs; None leaves it as it is."""

_LOG: Final = logging.getLogger(__name__)
_BATCH_PAYLOAD: Final = "serviceRequestPayload"
_BATCH_TYPE: Final = "SAGEMAKER_TRAINING"
_DEFINITION: Final = "PipelineDefinition"


def change_batch_job(params: Mapping[str, Any], change: Change) -> dict[str, Any] | None:
    """Return a SubmitServiceJob request whose training job is changed; None if there is nothing to change.

    Raises:
        SMDebugValueError: The payload is not a JSON object.
    """
    if params.get("serviceJobType") != _BATCH_TYPE or _BATCH_PAYLOAD not in params:
        return None
    changed = change(_parse(params[_BATCH_PAYLOAD], _BATCH_PAYLOAD))
    return None if changed is None else {**params, _BATCH_PAYLOAD: json.dumps(changed)}


def change_pipeline(params: Mapping[str, Any], change_job: Change, change_tuning: Change) -> dict[str, Any] | None:
    """Return a CreatePipeline or UpdatePipeline request whose steps are changed.

    Args:
        params: The request.
        change_job: Changes the arguments of a training step.
        change_tuning: Changes the arguments of a tuning step.

    Returns:
        The request; None if it holds no definition, such as one that names a definition on S3.

    Raises:
        SMDebugValueError: The definition is not a JSON object.
    """
    if _DEFINITION not in params:
        if "PipelineDefinitionS3Location" in params:
            _LOG.warning("the jobs of pipeline %r are not changed: its definition is on S3", params.get("PipelineName"))
        return None
    changes = {"Training": change_job, "Tuning": change_tuning}
    return {**params, _DEFINITION: json.dumps(_change_steps(_parse(params[_DEFINITION], _DEFINITION), changes))}


def _parse(text: str, member: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise SMDebugValueError(f"{member} must be JSON ({error})") from error
    if not isinstance(value, dict):
        raise SMDebugValueError(f"{member} must be a JSON object (got {type(value).__name__})")
    return value


def _change_steps(part: Any, changes: Mapping[str, Change]) -> Any:
    """Return a part of a definition with changed steps, also those in the branches of conditions."""
    if isinstance(part, list):
        return [_change_steps(item, changes) for item in part]
    if not isinstance(part, dict):
        return part
    change = changes.get(part.get("Type", ""))
    if change is None or "Name" not in part or not isinstance(part.get("Arguments"), dict):
        return {name: _change_steps(item, changes) for name, item in part.items()}
    if not _has_plain_output(part["Arguments"]):
        _LOG.warning("step %r is not changed: its S3OutputPath is known only when the pipeline runs", part["Name"])
        return part
    changed = change(part["Arguments"])
    return part if changed is None else {**part, "Arguments": changed}


def _has_plain_output(arguments: Mapping[str, Any]) -> bool:
    """Return whether the output paths of a step are texts, rather than expressions of the pipeline."""
    definitions = [arguments.get("TrainingJobDefinition"), *(arguments.get("TrainingJobDefinitions") or ())]
    jobs = [arguments, *(definition for definition in definitions if definition is not None)]
    outputs = [job["OutputDataConfig"].get("S3OutputPath") for job in jobs if "OutputDataConfig" in job]
    return all(isinstance(output, str) for output in outputs)
