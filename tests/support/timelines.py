"""Scripts whose steps are timed, and the events that they left."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from sagemaker_debug_ext.profiler import LocalAlgorithmMetricsReader, TraceEvent
from sagemaker_debug_ext.profiler.timeline.start import timeline_environment

ROOT = Path(__file__).parents[2]

KERAS_TRAINING = """
import hashlib, os, sys
import keras
import numpy as np

keras.utils.set_random_seed(0)
inputs, targets = np.random.normal(size=(64, 4)), np.random.normal(size=(64, 1))
model = keras.Sequential([keras.layers.Dense(8), keras.layers.Dropout(0.5), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(inputs, targets, batch_size=8, epochs=2, validation_split=0.25, verbose=0)
model.evaluate(inputs, targets, batch_size=16, verbose=0)
model.predict(inputs, batch_size=32, verbose=0)
keras.models.clone_model(model)
print(hashlib.sha256(b"".join(keras.ops.convert_to_numpy(value).tobytes() for value in model.weights)).hexdigest())
"""
"""Two epochs of six batches, with validation of two, then four batches of evaluation and two of prediction."""


def environment(output=None, **variables):
    """Return the environment of a script, which times its steps if an output folder is given."""
    plain = {**os.environ, "PYTHONPATH": str(ROOT), "SMPROFILER_CONFIG_PATH": "/nowhere", **variables}
    return plain if output is None else timeline_environment(output, plain)


def run_script(text, output=None, arguments=(), **variables):
    """Run a script to its end, and return what it printed."""
    command = [sys.executable, "-c", text, *map(str, arguments)]
    done = subprocess.run(
        command, env=environment(output, **variables), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "no longer timed" not in done.stderr, done.stderr
    assert "not timed" not in done.stderr, done.stderr
    return done.stdout


def events_of(output) -> list[TraceEvent]:
    """Return all events of a folder, sorted by start."""
    return sorted(LocalAlgorithmMetricsReader(output).get_all_events(), key=lambda event: event.start_time)


def count_phases(output) -> Counter[str]:
    """Return how many events each phase has."""
    return Counter(event.event_phase for event in events_of(output))
