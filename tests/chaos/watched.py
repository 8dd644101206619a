"""A program that trains and is watched: it writes a trial, starts the watcher of its job, and waits for it.

``python watched.py FOLDER``: prints the process ID of the watcher, then ``closing`` when training has ended.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np

from sagemaker_debug_ext.config.job_spec import decode_job_spec, job_name
from sagemaker_debug_ext.hooks.process.watcher import WatcherProcess
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.vocabulary import ModeKeys

NUM_STEPS = 60
FIRST_BAD_STEP = 30
STEP_SECONDS = 0.03


def main() -> None:
    """Train, with gradients that vanish halfway."""
    spec = decode_job_spec(os.environ)
    watcher = WatcherProcess()
    watcher.configure(spec.watch)
    watcher.start()
    print(watcher._process.pid, flush=True)
    trial = SmallTrial(spec.trial_location(job_name(os.environ)))
    for step in range(NUM_STEPS):
        size = 1.0 if step < FIRST_BAD_STEP else 1e-12
        trial.write(ModeKeys.TRAIN, step, {"gradient/weight": np.full(100, size, np.float32)})
        time.sleep(STEP_SECONDS)
    trial.end()
    print("closing", flush=True)
    watcher.drain()


if __name__ == "__main__":
    sys.exit(main())
