"""The original library opens trials of XGBoost jobs, and its own hook saves the same of the same training."""

import importlib
import sys
import types
import warnings

import numpy as np
import pytest

xgb = pytest.importorskip("xgboost")

import sagemaker_debug_ext.xgboost as smd  # noqa: E402
from sagemaker_debug_ext import create_trial, modes  # noqa: E402

COLLECTIONS = [
    "metrics",
    "hyperparameters",
    "predictions",
    "labels",
    "feature_importance",
    "average_shap",
    "full_shap",
    "trees",
]
MODELS = {
    "two classes": {"objective": "binary:logistic"},
    "three classes": {"objective": "multi:softprob", "num_class": 3},
    "dart": {"objective": "binary:logistic", "booster": "dart"},
    "linear": {"objective": "binary:logistic", "booster": "gblinear"},
    "categories": {"objective": "binary:logistic", "tree_method": "hist", "max_cat_to_onehot": 1},
}


def make_matrices(kind):
    random = np.random.default_rng(0)
    features = random.random((80, 3))
    labels = (features.sum(axis=1) * (1 if kind == "three classes" else 2 / 3)).astype(int)
    details = {}
    if kind == "categories":
        features[:, 2] = (features[:, 2] * 5).astype(int)
        details = {"feature_types": ["q", "q", "c"], "enable_categorical": True}
    elif kind == "two classes":
        details = {"feature_names": ["alpha", "with space", "Größe"]}
    return tuple(xgb.DMatrix(features[rows], label=labels[rows], **details) for rows in (slice(0, 60), slice(60, 80)))


@pytest.fixture(params=MODELS)
def pair(request, original, tmp_path):
    """Train with everything saved, and open the trial with both libraries."""
    training, validation = make_matrices(request.param)
    parameters = MODELS[request.param]
    hook = smd.Hook(
        tmp_path / "out",
        save_config=smd.SaveConfig(save_interval=2),
        include_collections=COLLECTIONS,
        hyperparameters=parameters,
        train_data=training,
        validation_data=validation,
        strict=True,
    )
    xgb.train(parameters, training, 5, evals=[(validation, "val1")], callbacks=[hook], verbose_eval=False)
    hook.save_scalar("last", 1.0)
    hook.close()
    return create_trial(hook.out_dir), original.create_trial(hook.out_dir)


def same(left, right):
    return (left.dtype.kind, left.shape) == (right.dtype.kind, right.shape) and np.array_equal(
        left, right, equal_nan=left.dtype.kind == "f"
    )


def test_trial_then_is_read_alike(pair, original):
    """Names, steps, values and collections agree, texts and names beyond ASCII included."""
    ours, theirs = pair
    assert ours.tensor_names() == theirs.tensor_names()
    assert len(ours.tensor_names()) > 10
    assert ours.steps() == theirs.steps() == [0, 2, 4]
    assert theirs.loaded_all_steps
    assert ours.steps(mode=modes.GLOBAL) == theirs.steps(mode=original.modes.GLOBAL)
    assert ours.workers() == theirs.workers()
    for name in ours.tensor_names():
        left, right = ours.tensor(name).values(), theirs.tensor(name).values()
        assert list(left) == sorted(right), name
        for step, value in left.items():
            assert same(value, right[step]), (name, step)
    for name, collection in theirs.collections().items():
        assert ours.collection(name).to_json_dict() == collection.to_json_dict()
        assert ours.tensor_names(collection=name) == theirs.tensor_names(collection=name)


@pytest.fixture
def original_hook(original, monkeypatch):
    """Return the original's hook class, which asks the installation for XGBoost's version in a way that is gone."""
    version = importlib.import_module("packaging.version")
    resources = types.ModuleType("pkg_resources")
    resources.get_distribution = lambda name: types.SimpleNamespace(version=xgb.__version__)
    resources.parse_version = version.parse
    monkeypatch.setitem(sys.modules, "pkg_resources", resources)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield importlib.import_module("smdebug.xgboost").Hook
        importlib.import_module("smdebug.xgboost").del_hook()


def test_training_when_both_hooks_capture_it_then_they_save_the_same(original, original_hook, tmp_path):
    """Of one training with two classes everything is equal, to the bit, but for what the original gets wrong."""
    training, validation = make_matrices("dart")
    parameters = {"objective": "binary:logistic", "max_depth": 3, "eta": 0.3, "eval_metric": ["auc", "logloss"]}
    arguments = {
        "include_collections": COLLECTIONS,
        "hyperparameters": parameters,
        "train_data": training,
        "validation_data": validation,
    }
    ours = smd.Hook(tmp_path / "ours", save_config=smd.SaveConfig(save_interval=3), strict=True, **arguments)
    save_config = importlib.import_module("smdebug").SaveConfig(save_interval=3)
    theirs = original_hook(str(tmp_path / "theirs"), save_config=save_config, **arguments)
    evals = [(training, "train"), (validation, "validation")]
    xgb.train(parameters, training, 10, evals=evals, callbacks=[ours, theirs], verbose_eval=False)
    ours.close()
    theirs.close()
    left, right = create_trial(ours.out_dir), create_trial(str(tmp_path / "theirs"))
    assert left.tensor_names() == right.tensor_names()
    assert left.steps() == right.steps() == [0, 3, 6, 9]
    for name in left.tensor_names():
        assert left.tensor(name).steps() == right.tensor(name).steps(), name
        for step, value in left.tensor(name).values().items():
            expected = right.tensor(name).value(step)
            assert same(value, expected), (name, step)
