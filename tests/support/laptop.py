"""Scripts that are submitted to the server of this machine, and how they are run."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

TRAIN = """
import time

import numpy as np
import xgboost

import sagemaker_debug_ext.xgboost as smd


class Pause(xgboost.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.02)
        return False


data = xgboost.DMatrix(np.random.default_rng(0).random((200, 4)), np.arange(200) % 2)
hook = smd.Hook.create_from_json_file()
options = {"objective": "binary:logistic", "nthread": 1}
xgboost.train(options, data, 100_000, evals=[(data, "train")], callbacks=[hook, Pause()], verbose_eval=False)
"""
"""Training for half an hour, unless it is stopped."""


def submit_to_laptop(folder: Path, submit: str) -> subprocess.CompletedProcess[str]:
    """Run a script, which submits ``source/train.py``, by ``sagemaker-debug laptop run`` in a folder."""
    source = folder / "source"
    source.mkdir()
    (source / "train.py").write_text(TRAIN)
    (folder / "submit.py").write_text(textwrap.dedent(submit))
    return subprocess.run(
        [sys.executable, "-m", "sagemaker_debug_ext.cli.main", "laptop", "run", "submit.py"],
        cwd=folder,
        env={**os.environ, "SAGEMAKER_SUPPRESS_V2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
