"""A CreateProcessingJob request that evaluates rules over a trial on S3, on one or more instances.

The job runs `sagemaker_debug_ext.rules.processing` in an image that has this package installed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from sagemaker_debug_ext._s3_urls import KMS_VARIABLE
from sagemaker_debug_ext.config._fields import MAX_TEXT
from sagemaker_debug_ext.config.job_spec import WatchOptions
from sagemaker_debug_ext.config.rules import Rule
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.requests.rules import render_actions

_WATCHER: Final = ("python3", "-m", "sagemaker_debug_ext.watch.program")

START_FILE: Final = "start.sh"
"""Script beside the wheels of this package, which installs them and starts the watcher."""

ENTRYPOINT: Final = ("python3", "-m", "sagemaker_debug_ext.rules.processing")

DEFAULT_INSTANCE: Final = "ml.t3.medium"
"""Type of the instance that evaluates the rules of one training job."""

_GPU_MARK: Final = "-gpu-"
"""Part of the names of images for GPUs."""

_HANDOVER_SECONDS: Final = 600
_EXTRA_SECONDS: Final = 3_600  # for the end of training and the last steps
_DAY_SECONDS: Final = 86_400  # of a training job that sets no limit

INDEX_FOLDER: Final = "/opt/ml/processing/input/index"
WHEELS_FOLDER: Final = "/opt/ml/processing/input/wheels"
CODE_FOLDER: Final = "/opt/ml/processing/input/code"
RESULTS_FOLDER: Final = "/opt/ml/processing/output"

_NOT_FOR_THE_RULE: Final = ("rule_to_invoke", "source_s3_uri")


def processing_job_request(
    *,
    job_name: str,
    image_uri: str,
    role_arn: str,
    trial_path: str,
    output_path: str,
    rules: Iterable[Rule],
    training_job_name: str | None = None,
    instance_type: str = "ml.m5.xlarge",
    instance_count: int = 1,
    volume_size_in_gb: int = 30,
    max_runtime_in_seconds: int | None = None,
    environment: Mapping[str, str] | None = None,
    fail_on_issues: bool = False,
) -> dict[str, Any]:
    """Return a request for ``create_processing_job(**request)`` that evaluates rules over a trial.

    SageMaker distributes the trial's index among the instances by S3 key, which determines the steps that each instance
    evaluates. Values are read from S3 on demand. The results in `output_path` are ``summary.json`` and, for each rule,
    a folder with ``rule-result.json``. Validate a request with `requests.checks.check_processing_job_request`.

    Args:
        job_name: Name of the processing job.
        image_uri: Image with Python, this package and the extras that the trial needs.
        role_arn: Role of the job, which must allow reading the trial and writing the results.
        trial_path: S3 location of the trial: the folder with ``collections``, ``index`` and ``events``.
        output_path: S3 location for the results.
        rules: Rules on tensors; profiler rules are not supported.
        training_job_name: Training job that actions stop, as a prefix of its name.
        instance_type: Type of the instances.
        instance_count: Number of instances, among which the steps are divided.
        volume_size_in_gb: Volume size of each instance.
        max_runtime_in_seconds: Time limit of the job; the service's default if not given.
        environment: Additional environment variables of the containers.
        fail_on_issues: Whether the job fails if a rule finds an issue.

    Raises:
        SMDebugTypeError: A rule is not a rule on tensors.
        SMDebugValueError: A path or a rule file is not on S3, there are no rules, or two rules have the same name.

    Example:
        >>> request = processing_job_request(
        ...     job_name="evaluate-run1", image_uri=image, role_arn=role, instance_count=4,
        ...     trial_path="s3://bucket/run1/debug-output", output_path="s3://bucket/run1/evaluation",
        ...     rules=[Rule.sagemaker(rule_configs.exploding_tensor())],
        ... )
        >>> boto3.client("sagemaker").create_processing_job(**request)
    """
    trial, output = _on_s3(trial_path, "trial_path"), _on_s3(output_path, "output_path")
    described, code = _describe(rules, training_job_name)
    arguments = ["--trial", trial, "--rules", *_pieces(json.dumps(described, separators=(",", ":")))]
    request: dict[str, Any] = {
        "ProcessingJobName": job_name,
        "RoleArn": role_arn,
        "AppSpecification": {
            "ImageUri": image_uri,
            "ContainerEntrypoint": list(ENTRYPOINT),
            "ContainerArguments": [*arguments, *(["--fail-on-issues"] if fail_on_issues else [])],
        },
        "ProcessingInputs": [_input("index", f"{trial}/index/", INDEX_FOLDER, "ShardedByS3Key"), *code],
        "ProcessingOutputConfig": {
            "Outputs": [
                {
                    "OutputName": "results",
                    "S3Output": {"S3Uri": output, "LocalPath": RESULTS_FOLDER, "S3UploadMode": "EndOfJob"},
                }
            ]
        },
        "ProcessingResources": {
            "ClusterConfig": {
                "InstanceCount": instance_count,
                "InstanceType": instance_type,
                "VolumeSizeInGB": volume_size_in_gb,
            }
        },
    }
    if max_runtime_in_seconds is not None:
        request["StoppingCondition"] = {"MaxRuntimeInSeconds": max_runtime_in_seconds}
    if environment:
        request["Environment"] = dict(environment)
    return request


def _describe(rules: Iterable[Rule], training_job_name: str | None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the rules as the program in the container reads them, by name, and the inputs with their files."""
    described: dict[str, Any] = {}
    inputs = []
    for number, rule in enumerate(rules):
        if not isinstance(rule, Rule):
            raise SMDebugTypeError(f"rules must hold rules on tensors (got {rule!r})")
        name = str(rule.name)
        if name in described:
            raise SMDebugValueError(f"names of rules must differ (got {name!r} twice)")
        described[name] = {"rule": rule.rule_to_invoke or name, "parameters": _parameters(rule, training_job_name)}
        if rule.source is not None:
            source = _on_s3(str(rule.source), f"source of rule {name!r}")
            folder = f"{CODE_FOLDER}/{number}"
            inputs.append(_input(f"code-{number}", source, folder, "FullyReplicated"))
            described[name]["source"] = f"{folder}/{source.rpartition('/')[2]}"
    if not described:
        raise SMDebugValueError("rules must hold at least one rule (got none)")
    return described, inputs


def watcher_job_request(
    *,
    training_job_name: str,
    image_uri: str,
    role_arn: str,
    instance_type: str = DEFAULT_INSTANCE,
    volume_size_in_gb: int = 10,
    max_runtime_in_seconds: int | None = None,
    number: int = 1,
    environment: Mapping[str, str] | None = None,
    wheels_uri: str | None = None,
) -> dict[str, Any]:
    """Return a request for ``create_processing_job(**request)`` that evaluates the rules of a running self-managed job.

    The training job was submitted with ``SelfManaged(place="processing")``; the processing job finds the rules in its
    description, and ends after the last rule. The name is made of that of the training job, so a second request for the
    same job is refused.

    Args:
        training_job_name: The training job.
        image_uri: Image with Python and this package; with `wheels_uri`, with Python and pip.
        role_arn: Role of the processing job, with the rights of a watcher; rules run with this role, not with that of
            the training job.
        instance_type: Type of the instance.
        volume_size_in_gb: Size of its volume.
        max_runtime_in_seconds: Time limit of the processing job; by default what the service allows, nine days. Ten
            minutes before, or after half of a shorter limit, the watcher writes the phase ``handover`` and ends.
        number: 1 for the first processing job, 2 for the one that takes over from it, and so on.
        environment: Additional environment variables of the container.
        wheels_uri: S3 folder that ``sagemaker-debug self-managed wheels`` has written.

    Raises:
        SMDebugValueError: The time limit is longer than the service allows, the number is less than 1, or the wheels
            are not on S3.
        RequestValidationError: The service would refuse the request for another reason, such as a variable of more than
            256 characters.

    Example:
        >>> request = watcher_job_request(training_job_name="digits-1", image_uri=image, role_arn=role)
        >>> boto3.client("sagemaker").create_processing_job(**request)
    """
    from sagemaker_debug_ext.requests.checks import (  # noqa: PLC0415 - loads botocore
        check_processing_job_request,
        longest_processing_seconds,
    )

    longest = longest_processing_seconds()
    max_runtime_in_seconds = longest if max_runtime_in_seconds is None else max_runtime_in_seconds
    if not 1 <= max_runtime_in_seconds <= longest:
        raise SMDebugValueError(f"max_runtime_in_seconds must be 1 to {longest} (got {max_runtime_in_seconds})")
    if number < 1:
        raise SMDebugValueError(f"number must be at least 1 (got {number})")
    seconds = max(max_runtime_in_seconds - _HANDOVER_SECONDS, max_runtime_in_seconds // 2)
    digits = hashlib.sha256(training_job_name.encode()).hexdigest()[:8]
    cluster = {"InstanceCount": 1, "InstanceType": instance_type, "VolumeSizeInGB": volume_size_in_gb}
    request: dict[str, Any] = {
        "ProcessingJobName": f"{training_job_name[:46].rstrip('-')}-watch-{digits}"
        + (f"-{number}" if number > 1 else ""),
        "RoleArn": role_arn,
        "AppSpecification": {
            "ImageUri": image_uri,
            "ContainerEntrypoint": list(_WATCHER),
            "ContainerArguments": ["--job", training_job_name, "--place", "processing", "--max-seconds", str(seconds)],
        },
        "ProcessingResources": {"ClusterConfig": cluster},
        "StoppingCondition": {"MaxRuntimeInSeconds": max_runtime_in_seconds},
    }
    if wheels_uri is not None:
        wheels = _on_s3(wheels_uri, "wheels_uri")
        request["AppSpecification"]["ContainerEntrypoint"] = ["bash", f"{WHEELS_FOLDER}/{START_FILE}"]
        request["ProcessingInputs"] = [_input("wheels", f"{wheels}/", WHEELS_FOLDER, "FullyReplicated")]
    if environment:
        request["Environment"] = dict(environment)
    check_processing_job_request(request)
    return request


def watcher_job_of(request: Mapping[str, Any], options: WatchOptions, number: int = 1) -> dict[str, Any] | None:
    """Return the request of the processing job that is started with a training job; None if none is.

    Its role is that of the training job unless the settings name another, and it may run for an hour longer.

    Args:
        request: The request of the training job.
        options: The settings of its watcher.
        number: 1 for the first processing job, 2 for the one that takes over from it, and so on.

    Raises:
        SMDebugValueError: The image of the training job would be used, but has no place on a small instance.
    """
    if not options.starts_job:
        return None
    key = (request.get("Environment") or {}).get(KMS_VARIABLE)
    limit = request.get("StoppingCondition", {}).get("MaxRuntimeInSeconds", _DAY_SECONDS)
    from sagemaker_debug_ext.requests.checks import longest_processing_seconds  # noqa: PLC0415 - loads botocore

    return watcher_job_request(
        training_job_name=request["TrainingJobName"],
        image_uri=options.image or _image_without_gpu(request),
        wheels_uri=options.wheels,
        role_arn=options.role or request["RoleArn"],
        instance_type=options.instance or DEFAULT_INSTANCE,
        max_runtime_in_seconds=min(limit + _EXTRA_SECONDS, longest_processing_seconds()),
        number=number,
        environment=None if key is None else {KMS_VARIABLE: key},
    )


def _image_without_gpu(request: Mapping[str, Any]) -> str:
    """Return the image of a training job, for a small instance."""
    image = request.get("AlgorithmSpecification", {}).get("TrainingImage")
    if image is None or _GPU_MARK in image:
        raise SMDebugValueError(
            "SelfManaged.rule_image_uri must name an image with Python, because images for GPUs are too large for the "
            f"instance of a watcher (got none, and the training image {image!r})"
        )
    return str(image)


def _on_s3(path: str, name: str) -> str:
    if not path.startswith("s3://"):
        raise SMDebugValueError(f"{name} must be on S3: s3://bucket/prefix (got {path!r})")
    return path.rstrip("/")


def _input(name: str, uri: str, folder: str, distribution: str) -> dict[str, Any]:
    return {
        "InputName": name,
        "S3Input": {
            "S3Uri": uri,
            "LocalPath": folder,
            "S3DataType": "S3Prefix",
            "S3InputMode": "File",
            "S3DataDistributionType": distribution,
        },
    }


def _parameters(rule: Rule, training_job_name: str | None) -> dict[str, str]:
    found = {name: str(value) for name, value in rule.rule_parameters.items() if name not in _NOT_FOR_THE_RULE}
    if rule.actions is not None:
        found["action_json"] = render_actions(rule.actions, training_job_name)
    return found


def _pieces(text: str) -> list[str]:
    """Split a string into arguments of a container; no argument is empty or starts like an option."""
    pieces: list[str] = []
    while text:
        length = min(MAX_TEXT, len(text))
        while text[length : length + 1] == "-":  # the next piece would look like an option
            length -= 1
        pieces.append(text[:length])
        text = text[length:]
    return pieces
