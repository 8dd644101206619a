"""XGBoost's hook keeps the promises of all hooks."""

from __future__ import annotations

from typing import ClassVar

import xgboost as xgb

from contracts.hooks import HookContract
from sagemaker_debug_ext.vocabulary import ModeKeys
from support.xgboost_training import Trainer, everything, make_data

NUMBERS = ("Tree", "Node", "Split", "Gain", "Cover")


class TestXGBoostHook(HookContract):
    """Trees for two classes."""

    trainer = Trainer
    mode = ModeKeys.GLOBAL
    loss = "train-logloss"
    arrays: ClassVar = {"include_collections": ["trees"]}
    array = "trees/Gain"
    curves = metrics = frozenset({loss, "validation-logloss"})
    histograms: ClassVar = {f"trees/{column}": f"trees/trees/{column}" for column in NUMBERS}
    observed: ClassVar = {"include_collections": ["trees"]}
    observed_array = "trees/Node"
    knows_end_of_step = True
    changes_model = False

    def everything(self):
        return everything(make_data())

    def break_capture(self, monkeypatch):
        monkeypatch.setattr(xgb.Booster, "get_score", self.fail)
