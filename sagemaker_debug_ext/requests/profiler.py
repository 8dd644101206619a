"""The ``ProfilerConfig`` member."""

from __future__ import annotations

from typing import Any

from sagemaker_debug_ext import config as configs  # loads the classes for the profiler on first use
from sagemaker_debug_ext.config._fields import Text
from sagemaker_debug_ext.errors import ConflictingSettingsError
from sagemaker_debug_ext.requests.outputs import required_output_path


def resolve_profiler(
    config: configs.ProfilerConfig | None, disable_profiler: bool | None, has_rules: bool
) -> configs.ProfilerConfig | None:
    """Return the profiler configuration for a combination of settings; None if they do not mention the profiler.

    Args:
        config: Configuration of the profiler.
        disable_profiler: True switches the profiler off, False on.
        has_rules: Whether there are profiler rules, which need the profiler.

    Raises:
        ConflictingSettingsError: The settings exclude each other.
    """
    off_by_config = config is not None and config.disable_profiler is True
    if disable_profiler is True and config is not None and not off_by_config:
        raise ConflictingSettingsError(
            "profiler_config.disable_profiler cannot be False when disable_profiler is True. Leave out one of them"
        )
    if disable_profiler is False and off_by_config:
        raise ConflictingSettingsError("disable_profiler=False must not come with a profiler_config that is disabled")
    if has_rules and (disable_profiler is True or off_by_config):
        switch = "disable_profiler" if disable_profiler is True else "profiler_config.disable_profiler"
        raise ConflictingSettingsError(
            f"ProfilerRule cannot be set when {switch} is True. Profiler rules read what the profiler collects"
        )
    if config is None and (disable_profiler is not None or has_rules):
        return configs.ProfilerConfig(disable_profiler=disable_profiler is True)
    return config


def build_profiler_config(config: configs.ProfilerConfig, output_path: Text | None = None) -> dict[str, Any]:
    """Build the member. ``DisableProfiler`` is left out if it is False because old clients do not know it.

    Raises:
        RequestValidationError: No S3 location is given.
    """
    member = config.to_request_dict()
    if config.disable_profiler is True:
        return member
    if config.disable_profiler is False:
        del member["DisableProfiler"]
    return {"S3OutputPath": required_output_path(config.s3_output_path, output_path), **member}
