"""Run a CreateTrainingJob request on this machine, with its rules, and describe the job as SageMaker would."""

from __future__ import annotations

from sagemaker_debug_ext.local.description import describe_training_job
from sagemaker_debug_ext.local.events import (
    ActionTaken,
    Event,
    IssueFound,
    LinePrinted,
    RuleStatusChanged,
    StatusChanged,
    StepSaved,
)
from sagemaker_debug_ext.local.job import LocalTrainingJob, run_training_job
from sagemaker_debug_ext.local.paths import Locations
from sagemaker_debug_ext.local.source import script_hyperparameters, upload_source

__all__ = [
    # run
    "run_training_job",
    "LocalTrainingJob",
    "describe_training_job",
    # prepare
    "upload_source",
    "script_hyperparameters",
    "Locations",
    # watch
    "Event",
    "StatusChanged",
    "StepSaved",
    "RuleStatusChanged",
    "IssueFound",
    "ActionTaken",
    "LinePrinted",
]
