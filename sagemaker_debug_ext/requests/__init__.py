"""Pure functions that build request dictionaries from configurations; they send, read and change nothing.

`sagemaker_debug_ext.requests.checks` validates finished requests; it imports botocore and jsonschema.
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
