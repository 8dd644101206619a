"""Capture without a further line: ``import sagemaker_debug_ext.auto`` at the top of a training script.

What is captured stands in the hook configuration file; without one the import does nothing. As a program it runs a
script that stays as it is: ``python -m sagemaker_debug_ext.auto train.py --epochs 5``.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from sagemaker_debug_ext.hooks.auto import attach

attach()

if __name__ == "__main__":
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
