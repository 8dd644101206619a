"""Automatic capture: put ``import sagemaker_debug_ext.auto`` at the top of a training script.

The hook configuration file selects the tensors; without such a file no tensors are captured. System metrics and steps
are recorded if the environment variable ``SAGEMAKER_DEBUG_EXT_PROFILE`` names a folder for them. Run as a program, the
module captures an unmodified script, ``python -m sagemaker_debug_ext.auto train.py --epochs 5``, or an unmodified
module, ``python -m sagemaker_debug_ext.auto -m package.train --epochs 5``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final, NoReturn

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.hooks.auto import attach
from sagemaker_debug_ext.hooks.auto.scripts import NoProgramError, prepare_module, prepare_script
from sagemaker_debug_ext.hooks.options.config_file import CONFIG_PATH_VARIABLE
from sagemaker_debug_ext.profiler.start import start_profiling_from_environment

_EXIT_USAGE: Final = 2


def _refuse(problem: object) -> NoReturn:
    """Exit before the script starts, with a status of our own."""
    print(f"sagemaker-debug: {problem}", file=sys.stderr)
    sys.exit(_EXIT_USAGE)


try:
    is_attached = attach()
except DebugExtError as error:
    if __name__ != "__main__":
        raise
    _refuse(error)

profiling = start_profiling_from_environment()

if __name__ == "__main__":
    del sys.argv[0]
    is_module = sys.argv[:1] == ["-m"]
    if is_module:
        del sys.argv[0]
    if not sys.argv:
        _refuse(f"name the {'module' if is_module else 'script'} to run")
    if is_module:
        try:
            run = prepare_module(sys.argv[0])
        except NoProgramError as error:
            _refuse(error)
    else:
        if not getattr(sys.flags, "safe_path", False):  # in safe-path mode Python adds no folder of its own
            sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
        try:
            run = prepare_script(sys.argv[0])
        except OSError as error:
            _refuse(f"can't open file {error.filename!r}: {error.strerror}")
    is_idle = not is_attached and profiling is None
    if is_idle and CONFIG_PATH_VARIABLE not in os.environ:  # otherwise a warning has been logged
        print(
            f"sagemaker-debug: nothing is captured: {CONFIG_PATH_VARIABLE} names no configuration file; "
            "sagemaker-debug run --output FOLDER needs none",
            file=sys.stderr,
        )
    run()
