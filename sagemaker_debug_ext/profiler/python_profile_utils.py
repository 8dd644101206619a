"""Modes, phases and timers of Python profiles, as their folder names have them (profiler format, section 1.4)."""

from __future__ import annotations

import enum
import os

from sagemaker_debug_ext.config.profiler import cProfileTimer
from sagemaker_debug_ext.profiler.profiler_constants import CPROFILE_NAME, PYINSTRUMENT_NAME
from sagemaker_debug_ext.vocabulary import ModeKeys

__all__ = [
    "PythonProfileModes",
    "PythonProfilerName",
    "StepPhase",
    "cProfileTimer",
    "cpu_time",
    "mode_keys_to_python_profile_mode",
    "off_cpu_time",
    "python_profile_mode_to_str",
    "str_to_python_profile_mode",
    "total_time",
]


class PythonProfileModes(enum.IntEnum):
    """Activity of the script: a mode of the hook, or the time before or after it."""

    TRAIN = 1
    EVAL = 2
    PREDICT = 3
    GLOBAL = 4
    PRE_STEP_ZERO = 5
    POST_HOOK_CLOSE = 6


class StepPhase(enum.Enum):
    """The point within a step, in order of time."""

    START = "start"
    STEP_START = "stepstart"
    FORWARD_PASS_END = "forwardpassend"  # noqa: S105 - a pass through a network
    STEP_END = "stepend"
    END = "end"


class PythonProfilerName(enum.Enum):
    """The Python profilers."""

    CPROFILE = CPROFILE_NAME
    PYINSTRUMENT = PYINSTRUMENT_NAME


def str_to_python_profile_mode(mode_str: str) -> PythonProfileModes:
    """Return the mode of a word in a folder name, such as ``prestepzero``.

    Raises:
        KeyError: There is no such mode.
    """
    return {python_profile_mode_to_str(mode): mode for mode in PythonProfileModes}[mode_str]


def python_profile_mode_to_str(mode: PythonProfileModes) -> str:
    """Return the word for a mode in a folder name."""
    return mode.name.replace("_", "").lower()


def mode_keys_to_python_profile_mode(mode: ModeKeys) -> PythonProfileModes:
    """Return the mode of the same name."""
    return PythonProfileModes[mode.name]


def total_time() -> float:
    """Return the elapsed time in seconds."""
    return os.times().elapsed


def cpu_time() -> float:
    """Return the time that this process has used the processor, in seconds."""
    times = os.times()
    return times.user + times.system


def off_cpu_time() -> float:
    """Return the elapsed time without the time on the processor, in seconds."""
    return total_time() - cpu_time()
