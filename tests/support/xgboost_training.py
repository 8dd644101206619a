"""Small data for XGBoost, and the training of two classes."""

from __future__ import annotations

import types

import numpy as np
import xgboost as xgb

import sagemaker_debug_ext.xgboost as smd

EVERYTHING = [
    "metrics",
    "losses",
    "hyperparameters",
    "predictions",
    "labels",
    "feature_importance",
    "average_shap",
    "full_shap",
    "trees",
]
PARAMETERS = {"eta": 0.3, "max_depth": 3, "objective": "binary:logistic", "seed": 1, "nthread": 1}


def make_data():
    """Make features, of which the last says nothing, labels for two and for three classes, and matrices of them."""
    random = np.random.default_rng(10)
    features = random.random((80, 4))
    sums = features @ [1.0, 0.6, 0.3, 0.0]
    labels = (sums > 0.95).astype(int)
    classes = np.digitize(sums, [0.8, 1.1])
    return types.SimpleNamespace(
        features=features,
        labels=labels,
        classes=classes,
        train=xgb.DMatrix(features[:60], label=labels[:60]),
        validation=xgb.DMatrix(features[60:], label=labels[60:]),
        train_classes=xgb.DMatrix(features[:60], label=classes[:60]),
        validation_classes=xgb.DMatrix(features[60:], label=classes[60:]),
    )


def everything(data):
    """Return arguments of a hook that save everything there is of two classes."""
    return {
        "include_collections": EVERYTHING,
        "hyperparameters": PARAMETERS,
        "train_data": data.train,
        "validation_data": data.validation,
    }


def train(data, hook=None, num_rounds=4, parameters=None, **arguments):
    """Train on two classes, unless the parameters say otherwise; those that are None are left out."""
    arguments.setdefault("evals", [(data.train, "train"), (data.validation, "validation")])
    callbacks = [*arguments.pop("callbacks", ()), *([hook] if hook is not None else ())]
    given = {**PARAMETERS, **(parameters or {})}
    return xgb.train(
        {name: value for name, value in given.items() if value is not None},
        arguments.pop("dtrain", data.train),
        num_rounds,
        callbacks=callbacks,
        verbose_eval=False,
        **arguments,
    )


class _AfterRound(xgb.callback.TrainingCallback):
    """Calls a function after every round, once the hook has seen the round.

    The hook is called from here because older releases of XGBoost keep callbacks in a set, in no fixed order.
    """

    def __init__(self, function, hook):
        self._function = function
        self._hook = xgb.callback.TrainingCallback() if hook is None else hook

    def before_training(self, model):
        return self._hook.before_training(model)

    def before_iteration(self, model, epoch, evals_log):
        return self._hook.before_iteration(model, epoch, evals_log)

    def after_iteration(self, model, epoch, evals_log):
        stops = self._hook.after_iteration(model, epoch, evals_log)
        self._function()
        return stops

    def after_training(self, model):
        return self._hook.after_training(model)


class Trainer:
    """Trains a model, and trains it further, a round being a step."""

    hook_class = smd.Hook

    def __init__(self, hook=None):
        self.data = make_data()
        self.hook = hook
        self.model = None
        self.histories = []
        self._is_spoiled = False

    def attach(self, hook):
        self.hook = hook

    def train(self, steps, after_step=None):
        callbacks = [] if self.hook is None else [self.hook]
        if after_step is not None:
            callbacks = [_AfterRound(after_step, self.hook)]
        history = {}
        self.model = train(
            self.data,
            num_rounds=steps,
            parameters={"subsample": 0.8},
            callbacks=callbacks,
            evals_result=history,
            xgb_model=self.model,
            custom_metric=(lambda *_: ("odd", float("nan"))) if self._is_spoiled else None,
        )
        self.histories.append(history)
        return self

    def evaluate(self, steps):
        """Do nothing: data are evaluated in every round."""
        return self

    @property
    def parameter(self):
        return self.data.features

    def spoil(self):
        """Make a metric of every round to come NaN."""
        self._is_spoiled = True

    def result(self):
        """Return all that training leaves as bytes: the model, and what XGBoost has told of its rounds."""
        return bytes(self.model.save_raw("json")) + repr(self.histories).encode()

    def attachments(self):
        """Return the attributes of the model, to which a hook adds nothing at any time."""
        return None if self.model is None else (self.model.attributes(), sorted(vars(self.model)))
