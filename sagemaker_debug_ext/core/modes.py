"""Public face of the modes."""

from __future__ import annotations

from typing import Final

from sagemaker_debug_ext._imports.lazy import lazy_names
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.vocabulary import ModeKeys

__all__ = ["ALLOWED_MODES", "ALLOWED_MODE_NAMES", "ModeKeys", "str_to_mode_keys"]

ALLOWED_MODES: Final = list(ModeKeys)
ALLOWED_MODE_NAMES: Final = [mode.name for mode in ModeKeys]


def str_to_mode_keys(mode_str: str) -> ModeKeys:
    """Return the mode of a lower-case name.

    Raises:
        SMDebugValueError: There is no such mode.
    """
    names = {mode.name.lower(): mode for mode in ModeKeys}
    if mode_str not in names:
        raise SMDebugValueError(f"a mode must be one of {', '.join(names)} (got {mode_str!r})")
    return names[mode_str]


__path__: list[str] = []  # submodules and further names come from the table of public names
__getattr__ = lazy_names(__name__)
