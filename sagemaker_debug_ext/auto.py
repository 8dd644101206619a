"""Capture without a further line: ``import sagemaker_debug_ext.auto`` at the top of a training script.

What is captured stands in the hook configuration file; without one the import does nothing. As a program it runs a
script that stays as it is: ``python -m sagemaker_debug_ext.auto train.py --epochs 5``.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Final

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.hooks.auto import attach

_EXIT_USAGE: Final = 2

try:
    attach()
except DebugExtError as error:
    if __name__ != "__main__":
        raise
    print(f"sagemaker-debug: {error}", file=sys.stderr)  # before the script has begun, so the status is not its own
    sys.exit(_EXIT_USAGE)

if __name__ == "__main__":
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
