"""Rounds of XGBoost scripts that know nothing of being timed."""

from __future__ import annotations

from support.timelines import count_phases, events_of, run_script

TRAINING = """
import hashlib
import numpy as np
import xgboost as xgb

random = np.random.default_rng(0)
data = xgb.DMatrix(random.normal(size=(200, 4)), label=random.integers(0, 2, 200))
booster = xgb.train({"objective": "binary:logistic", "nthread": 1}, data, 10, [(data, "train")], verbose_eval=False)
xgb.XGBClassifier(n_estimators=3, n_jobs=1).fit(random.normal(size=(50, 4)), random.integers(0, 2, 50))
print(hashlib.sha256(booster.save_raw()).hexdigest())
"""


def test_rounds_when_a_script_trains_then_each_update_is_a_step(tmp_path):
    """Evaluations are between steps, and the model is the same to the last bit."""
    assert run_script(TRAINING) == run_script(TRAINING, tmp_path)
    # XGBoost evaluates after every round, also where it was given nothing to evaluate.
    assert count_phases(tmp_path) == {"Step:ModeKeys.TRAIN": 13, "Evaluation": 13}
    steps = [event for event in events_of(tmp_path) if event.event_phase == "Step:ModeKeys.TRAIN"]
    assert [event.step for event in steps] == list(range(13))
