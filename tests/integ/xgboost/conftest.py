"""Small data, a hook that saves every round, and trials of what it wrote."""

from __future__ import annotations

import types

import numpy as np
import pytest

xgb = pytest.importorskip("xgboost")

import sagemaker_debug_ext.xgboost as smd  # noqa: E402

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


def pytest_collection_modifyitems(items):
    """Let the newest versions warn of boosters that they are going to give up, and that the hook still knows."""
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("ignore:(?s).*booster=(gblinear|dart). is deprecated:UserWarning"))


@pytest.fixture(autouse=True)
def _steady(outside_of_jobs):
    yield
    smd.del_hook()


@pytest.fixture
def data():
    """Features, of which the last says nothing, labels for two and for three classes, and matrices of them."""
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


@pytest.fixture
def hook_class():
    return smd.Hook


@pytest.fixture
def full_hook(make_hook, data):
    """Make a hook that saves everything there is of two classes."""

    def make(**arguments):
        settings = {
            "include_collections": EVERYTHING,
            "hyperparameters": PARAMETERS,
            "train_data": data.train,
            "validation_data": data.validation,
            **arguments,
        }
        return make_hook(**settings)

    return make


@pytest.fixture
def train(data):
    """Return a function that trains on two classes."""

    def run(hook=None, num_rounds=4, parameters=None, **arguments):
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

    return run
