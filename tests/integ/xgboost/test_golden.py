"""A like job with the same configuration leaves a trial of the structure that the original's hook left."""

from __future__ import annotations

import pytest

import sagemaker_debug_ext.xgboost as smd

CORRECTED_PATTERNS = {"metrics", "losses", "average_shap", "full_shap"}
"""Collections whose patterns missed names: digits and ``@`` of metrics, features that end in one of b, i, a and s."""


@pytest.fixture(scope="module")
def expected(unpack):
    return unpack("xgboost").expected


@pytest.fixture
def trial(full_hook, train, open_trial):
    """Train ten rounds on 60 rows, with 20 rows for validation, and save every third."""
    collections = [
        "metrics",
        "feature_importance",
        "average_shap",
        "full_shap",
        "predictions",
        "labels",
        "hyperparameters",
        "trees",
    ]
    hook = full_hook(save_config=smd.SaveConfig(save_interval=3), include_collections=collections)
    train(hook, num_rounds=10)
    return open_trial(hook)


def is_importance(name):
    return name.startswith("feature_importance/")


def dtype_of(value):
    return "text" if "values" in value else value["dtype"]


def test_names_and_steps_are_the_originals(trial, expected):
    """Every tensor has the same name, and the same steps, but for importances, which depend on the splits found."""
    ours, theirs = trial.tensor_names(), expected["tensor_names"]
    assert [name for name in ours if not is_importance(name)] == [name for name in theirs if not is_importance(name)]
    kinds = {name.rpartition("/")[0] for name in filter(is_importance, theirs)}
    assert {name.rpartition("/")[0] for name in filter(is_importance, ours)} == kinds
    assert trial.steps() == expected["steps"]["GLOBAL"]
    assert trial.workers() == expected["workers"]
    for name, tensor in expected["tensors"].items():
        if not is_importance(name):
            assert trial.tensor(name).steps(smd.modes.GLOBAL) == tensor["steps"]["GLOBAL"], name


def test_dtypes_and_dimensions_are_the_originals(trial, expected):
    """Values have the same dtype and number of dimensions, and the same shape where it does not depend on the tree."""
    for name, tensor in expected["tensors"].items():
        if not trial.has_tensor(name):
            assert is_importance(name)
            continue
        theirs, ours = tensor["entries"][0], trial.tensor(name).value(trial.tensor(name).steps()[0])
        assert ("text" if ours.dtype.kind == "U" else ours.dtype.name) == dtype_of(theirs["value"]), name
        assert ours.ndim == len(theirs["value"]["shape"]), name
        if not name.startswith("trees/"):
            assert list(ours.shape) == theirs["value"]["shape"], name


def test_hyperparameters_are_the_originals(trial, expected):
    """Numbers and texts come back as they were given."""
    for name in trial.tensor_names(collection="hyperparameters"):
        value, theirs = trial.tensor(name).value(0), expected["tensors"][name]["entries"][0]["value"]
        assert value.tolist() == theirs.get("head", theirs.get("values")), name


def test_collections_are_the_originals(trial, expected):
    """Collections agree in settings, and in patterns and members but for those that were wrong."""
    collections = trial.collections()
    assert sorted(collections) == sorted(expected["collections"])
    for name, wanted in expected["collections"].items():
        found = collections[name].to_json_dict()
        for key in ("save_config", "reduction_config", "save_histogram"):
            assert found[key] == wanted[key], (name, key)
        if name not in CORRECTED_PATTERNS:
            assert found["include_regex"] == wanted["include_regex"], name
        if name != "feature_importance":
            assert found["tensor_names"] == wanted["tensor_names_in_file"], name
            assert trial.tensor_names(collection=name) == wanted["tensor_names"], name
