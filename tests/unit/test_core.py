"""Module paths of the original lead to the same classes."""

from __future__ import annotations

import importlib

import pytest

import sagemaker_debug_ext
from sagemaker_debug_ext import trials
from sagemaker_debug_ext.config.groups import Collection


@pytest.mark.parametrize(
    ("module", "name", "wanted"),
    [
        ("core.collection", "Collection", Collection),
        ("core.collection", "CollectionKeys", sagemaker_debug_ext.CollectionKeys),
        ("core.save_config", "SaveConfig", sagemaker_debug_ext.SaveConfig),
        ("core.save_config", "SaveConfigMode", sagemaker_debug_ext.SaveConfigMode),
        ("core.reduction_config", "ReductionConfig", sagemaker_debug_ext.ReductionConfig),
        ("core.modes", "ModeKeys", sagemaker_debug_ext.modes),
        ("core.tensor", "StepState", trials.StepState),
        ("trials.local_trial", "LocalTrial", trials.LocalTrial),
        ("trials.s3_trial", "S3Trial", trials.S3Trial),
    ],
)
def test_module_of_the_original_when_imported_then_has_the_class(module, name, wanted):
    """Not copies: what they give compares equal to what the package itself uses."""
    assert getattr(importlib.import_module(f"sagemaker_debug_ext.{module}"), name) is wanted
