"""Turns configurations into request dictionaries. Pure functions: nothing is sent, read or changed.

The checks of a finished request are in `sagemaker_debug_ext.requests.checks`, which loads botocore and jsonschema.
"""

from __future__ import annotations

from sagemaker_debug_ext.requests.outputs import (
    ArtifactPaths,
    artifact_paths,
    debugger_artifacts_path,
    profiler_artifacts_path,
    rule_output_path,
    tensorboard_artifacts_path,
)
from sagemaker_debug_ext.requests.training_job import DEBUGGER_MEMBERS, debugger_request, training_job_request

__all__ = [
    "DEBUGGER_MEMBERS",
    "debugger_request",
    "training_job_request",
    "ArtifactPaths",
    "artifact_paths",
    "debugger_artifacts_path",
    "profiler_artifacts_path",
    "rule_output_path",
    "tensorboard_artifacts_path",
]
