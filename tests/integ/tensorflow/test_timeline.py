"""Steps of Keras scripts that know nothing of being timed."""

from __future__ import annotations

from support.timelines import KERAS_TRAINING, count_phases, run_script


def test_batches_when_a_script_trains_then_each_is_a_step_of_its_mode(tmp_path):
    """Two epochs of six batches, validation of two, four of evaluation and two of prediction."""
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    plain = run_script(KERAS_TRAINING, **quiet)
    assert run_script(KERAS_TRAINING, tmp_path, **quiet) == plain
    assert count_phases(tmp_path) == {
        "Step:ModeKeys.TRAIN": 12,
        "Step:ModeKeys.EVAL": 2 * 2 + 4,
        "Step:ModeKeys.PREDICT": 2,
    }
