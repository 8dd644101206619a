"""Environment variables of a job: those of SageMaker's training toolkit and those that the hook reads.

Scripts use them as defaults, as in ``parser.add_argument("--model-dir", default=os.environ["SM_MODEL_DIR"])``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sagemaker_debug_ext.local.layout import HOST, JobFolder, config_files
from sagemaker_debug_ext.local.source import (
    PROGRAM,
    SUBMIT_DIRECTORY,
    command_line_arguments,
    decode_hyperparameters,
    split_hyperparameters,
)

_RESERVED: Final = ("SM_", "SAGEMAKER_", "TRAINING_JOB_", "SMDEBUG_CONFIG", "TENSORBOARD_CONFIG", "CHECKPOINT_CONFIG")
"""Prefixes of variables that are not inherited, because they would belong to another job."""

_OWN_PARAMETERS: Final = frozenset(
    {
        PROGRAM,
        SUBMIT_DIRECTORY,
        "sagemaker_enable_cloudwatch_metrics",
        "sagemaker_region",
        "sagemaker_container_log_level",
        "sagemaker_job_name",
        "sagemaker_s3_output",
    }
)
"""Hyperparameters of the toolkit itself; others that start with ``sagemaker_`` belong to frameworks."""


def job_environment(
    request: Mapping[str, Any], folder: JobFolder, *, arn: str, python: str, inherited: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return all environment variables of the entry point.

    Args:
        request: The CreateTrainingJob request.
        folder: The job's folder.
        arn: The job's ARN.
        python: The interpreter for the user's code; its folder comes first in ``PATH``.
        inherited: Variables to extend; those of this process by default.
    """
    environment = inherited_environment(python, inherited)
    environment |= {
        "SAGEMAKER_BASE_DIR": str(folder.ml),
        "SAGEMAKER_JOB_NAME": request["TrainingJobName"],
        "TRAINING_JOB_NAME": request["TrainingJobName"],
        "TRAINING_JOB_ARN": arn,
        "CURRENT_HOST": HOST,
        "SMDEBUG_CONFIG_FILE_PATH": str(folder.config / "debughookconfig.json"),
        "TENSORBOARD_CONFIG_FILE_PATH": str(folder.config / "tensorboardoutputconfig.json"),
        "CHECKPOINT_CONFIG_FILE_PATH": str(folder.config / "checkpointconfig.json"),
        "SMPROFILER_CONFIG_PATH": str(folder.profiler_config),
    }
    environment |= _toolkit_variables(request, folder)
    environment |= folder.relocate(request.get("Environment", {}))
    return environment


def inherited_environment(python: str, inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that a process in a container inherits here; those of other jobs are left out.

    Args:
        python: The interpreter for the user's code; its folder comes first in ``PATH``.
        inherited: Variables to extend; those of this process by default.
    """
    inherited = os.environ if inherited is None else inherited
    environment = {name: value for name, value in inherited.items() if not name.startswith(_RESERVED)}
    return environment | {
        "PATH": os.pathsep.join([str(Path(python).parent), environment.get("PATH", os.defpath)]),
        "PYTHONUNBUFFERED": "1",  # so that lines are shown as soon as they are printed
    }


def _toolkit_variables(request: Mapping[str, Any], folder: JobFolder) -> dict[str, str]:
    files = config_files(request, folder)
    decoded = decode_hyperparameters(files["hyperparameters.json"])
    own, user = split_hyperparameters(decoded)
    channels = {name: str(folder.data / name) for name in files["inputdataconfig.json"]}
    resources = files["resourceconfig.json"]
    program = str(own.get(PROGRAM) or "")
    values: dict[str, Any] = {
        "hosts": resources["hosts"],
        "current_host": resources["current_host"],
        "current_instance_type": resources["current_instance_type"],
        "current_instance_group": resources["current_group_name"],
        "current_instance_group_hosts": resources["hosts"],
        "network_interface_name": resources["network_interface_name"],
        "is_master": True,
        "is_hetero": False,
        "num_cpus": os.cpu_count() or 1,
        "num_gpus": count_gpus(),
        "num_neurons": 0,
        "user_entry_point": program,
        "module_name": program.removesuffix(".py"),
        "module_dir": str(own.get(SUBMIT_DIRECTORY) or folder.code),
        "framework_params": {name: value for name, value in own.items() if name not in _OWN_PARAMETERS},
        "log_level": own.get("sagemaker_container_log_level", 20),
        "resource_config": resources,
        "input_data_config": files["inputdataconfig.json"],
        "input_dir": str(folder.ml / "input"),
        "input_config_dir": str(folder.config),
        "output_dir": str(folder.ml / "output"),
        "output_data_dir": str(folder.output_data),
        "output_intermediate_dir": str(folder.ml / "output" / "intermediate"),
        "model_dir": str(folder.model),
    }
    training_env = {
        **values,
        "hyperparameters": user,
        "channel_input_dirs": channels,
        "job_name": request["TrainingJobName"],
    }
    values |= {
        "training_env": training_env,
        "hps": user,
        "channels": sorted(channels),
        "user_args": command_line_arguments(user),
        **{f"channel_{name}": path for name, path in channels.items()},
        **{f"hp_{name}": value for name, value in user.items()},
    }
    return {f"SM_{name.upper()}": _as_text(value) for name, value in values.items()}


def _as_text(value: Any) -> str:
    """Render a value as the toolkit does: strings unchanged, None as an empty string, other values as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, sort_keys=True, separators=(",", ":"))


def count_gpus() -> int:
    """Return the number of NVIDIA GPUs that a process in this environment may use."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return sum(1 for device in visible.split(",") if device.strip() not in {"", "-1"})
    return sum(1 for _ in Path("/dev").glob("nvidia[0-9]*"))
