"""Training with XGBoost as the original tests it, on both libraries."""

import json
import sys
import time
import types

import numpy as np
import pytest
from packaging.version import Version

xgboost = pytest.importorskip("xgboost")

pytestmark = pytest.mark.filterwarnings("ignore")  # the original's use of NumPy and XGBoost is deprecated


@pytest.fixture
def smd(library, monkeypatch):
    """The library's module for XGBoost, without a hook of another test.

    The original asks a module that recent setuptools are without for the version of a package that may be xgboost-cpu.
    """
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")
    versions = types.ModuleType("pkg_resources")
    versions.parse_version = Version
    versions.get_distribution = lambda _: types.SimpleNamespace(version=xgboost.__version__)
    monkeypatch.setitem(sys.modules, "pkg_resources", versions)
    module = library.module("xgboost")
    module.del_hook()
    yield module
    module.del_hook()


def matrix(seed=42):
    """Five rows of ten features."""
    generator = np.random.default_rng(seed)
    return xgboost.DMatrix(generator.random((5, 10)), label=generator.integers(2, size=5))


def train(hook, num_rounds=10):
    data = matrix()
    xgboost.train({}, data, num_rounds, evals=[(data, "train"), (matrix(7), "test")], callbacks=[hook])


def open_trial(library, folder):
    return library.module("trials").create_trial(str(folder))


def test_hook_when_made_then_the_job_has_not_ended_and_trains(library, smd, tmp_path):
    """Nothing is marked as ended before training."""
    folder = str(tmp_path / "trial")
    hook = smd.Hook(out_dir=folder, save_config=smd.SaveConfig(save_steps=[0, 1, 2, 3]))
    assert library.module("core.access_layer.utils").has_training_ended(folder) is False
    train(hook)
    assert open_trial(library, folder).steps() == [0, 1, 2, 3]


FULL = {
    "HookParameters": {
        "include_regex": "regexe1,regex2",
        "include_collections": "collection_obj_name1,collection_obj_name2",
        "save_all": False,
        "save_interval": 100,
        "save_steps": "1,2,3,4",
        "start_step": 1,
    },
    "CollectionConfigurations": [
        {
            "CollectionName": f"collection_obj_name{number}",
            "CollectionParameters": {
                "include_regex": f"regexe{number}*",
                "save_interval": 100,
                "save_steps": "1,2,3",
                "start_step": 1,
            },
        }
        for number in (1, 2)
    ],
}


@pytest.mark.parametrize("settings", [{"HookParameters": {"save_all": False, "save_steps": "0,1,2,3"}}, FULL])
def test_hook_when_made_from_the_file_of_a_job_then_trains(library, smd, tmp_path, monkeypatch, settings):
    """Parameters of older releases are in the file, too."""
    folder = str(tmp_path / "trial")
    (tmp_path / "config.json").write_text(json.dumps({"S3Path": "s3://b/p", "LocalPath": folder, **settings}))
    constants = library.module("core.config_constants")
    monkeypatch.setenv(constants.CONFIG_FILE_PATH_ENV_STR, str(tmp_path / "config.json"))
    hook = smd.Hook.create_from_json_file()
    assert library.module("core.access_layer").has_training_ended(folder) is False
    train(hook)
    hook.close()
    assert library.module("core.access_layer").has_training_ended(folder) is True


def test_hook_when_there_is_no_file_then_says_so(library, smd, monkeypatch):
    """Zero code change asks for a hook only where the file is."""
    monkeypatch.delenv(library.module("core.config_constants").CONFIG_FILE_PATH_ENV_STR, raising=False)
    with pytest.raises(FileNotFoundError):
        smd.Hook.create_from_json_file()


def test_everything_when_saved_then_metrics_and_importances_are_there(library, smd, tmp_path):
    """The collections have the names of the original."""
    folder = str(tmp_path / "trial")
    train(smd.Hook(out_dir=folder, save_config=smd.SaveConfig(save_steps=[0, 1, 2, 3]), save_all=True))
    trial = open_trial(library, folder)
    names = trial.tensor_names()
    assert len(trial.steps()) == 4
    assert {"metrics", "feature_importance", "all"} <= set(trial.collections())
    assert {"train-rmse", "test-rmse"} <= set(names)
    assert any(name.startswith("feature_importance/") for name in names)
    assert any(name.startswith("trees/") for name in names)


def test_collections_when_each_has_its_interval_then_steps_follow(library, smd, tmp_path):
    """The last step is saved, too, if the original does so."""
    folder = str(tmp_path / "trial")
    hook = smd.Hook(out_dir=folder, include_collections=["metrics", "feature_importance"])
    hook.get_collection("metrics").save_config = smd.SaveConfig(save_interval=2)
    hook.get_collection("feature_importance").save_config = smd.SaveConfig(save_interval=3)
    train(hook)
    trial = open_trial(library, folder)
    assert all(step % 2 == 0 for step in trial.tensor("train-rmse").steps()[:-1])
    [name, *_] = trial.tensor_names(regex="^feature_importance/")
    assert all(step % 3 == 0 for step in trial.tensor(name).steps()[:-1])


@pytest.mark.parametrize(
    ("collection", "pattern"),
    [
        ("average_shap", "^average_shap/"),
        ("full_shap", "^full_shap/"),
        ("trees", "^trees/"),
        ("hyperparameters", "^hyperparameters/"),
    ],
)
def test_collection_when_asked_for_with_training_data_then_is_saved(library, smd, tmp_path, collection, pattern):
    """Contributions of features need the data."""
    folder = str(tmp_path / "trial")
    train(smd.Hook(out_dir=folder, include_collections=[collection], train_data=matrix(), hyperparameters={"a": 1}))
    trial = open_trial(library, folder)
    assert collection in trial.collections()
    names = trial.tensor_names(regex=pattern)
    assert names
    assert trial.tensor(names[0]).value(0) is not None


def test_predictions_when_validation_data_is_given_then_are_saved_with_labels(library, smd, tmp_path):
    """Labels do not change, predictions do."""
    folder = str(tmp_path / "trial")
    valid = matrix(9)
    train(
        smd.Hook(
            out_dir=folder,
            include_collections=["labels", "predictions"],
            save_config=smd.SaveConfig(save_interval=2),
            train_data=matrix(),
            validation_data=valid,
        )
    )
    trial = open_trial(library, folder)
    np.testing.assert_array_equal(trial.tensor("labels").value(0), valid.get_label())
    assert trial.tensor("predictions").value(0).shape == (5,)
    assert not np.array_equal(trial.tensor("predictions").value(0), trial.tensor("predictions").value(8))


@pytest.mark.parametrize("collection", ["all", "scalars"])
@pytest.mark.parametrize("is_per_mode", [False, True])
def test_scalars_when_saved_before_and_after_training_then_are_in_the_trial(
    library, smd, tmp_path, collection, is_per_mode
):
    """With times of the script's own."""
    modes = library.module("core.modes").ModeKeys
    save_config = (
        smd.SaveConfig(
            {
                modes.TRAIN: smd.SaveConfigMode(save_interval=2),
                modes.GLOBAL: smd.SaveConfigMode(save_interval=3),
                modes.EVAL: smd.SaveConfigMode(save_interval=1),
            }
        )
        if is_per_mode
        else smd.SaveConfig(save_steps=[0, 2, 4, 6, 8])
    )
    folder = tmp_path / "trial"
    hook = smd.Hook(
        out_dir=str(folder), include_collections=[collection], save_config=save_config, export_tensorboard=True
    )
    times = {}

    def save(name, value, sm_metric):
        times[f"scalar/{name}"] = (time.time(), value)
        hook.save_scalar(name, value, sm_metric=sm_metric, timestamp=times[f"scalar/{name}"][0])

    save("xg_num_steps", 10, True)
    save("xg_before_train", 1, False)
    hook.set_mode(modes.TRAIN)
    train(hook)
    save("xg_after_train", 1, False)
    hook.close()
    assert set(times) <= set(open_trial(library, folder).tensor_names(regex="^scalar"))
    events = {}
    for file in (folder / "events").rglob("*.tfevents"):
        for event in library.module("core.reader").FileReader(str(file)).read_events(regex_list=["scalar"]):
            events.setdefault(str(event["name"]), (event["timestamp"], event["value"][0]))
    assert {name: events[name] for name in times} == times


def test_tree_when_taken_from_a_booster_then_is_that_of_xgboosts_table(library, smd):
    """Without pandas, one tree at a time."""
    pytest.importorskip("pandas")
    utils = library.module("xgboost.utils")
    booster = xgboost.train({"objective": "binary:logistic", "min_child_weight": 0}, matrix(), 3)
    table = booster.trees_to_dataframe()
    assert utils.is_xgb_1_3_and_later()
    assert utils.is_xgb_1_7_and_later()
    for number in range(3):
        expected = table[table["Tree"] == number].reset_index(drop=True)
        tree = utils.parse_tree_model(booster, number)
        assert set(tree) == set(expected.columns) - {"Target"}  # which newer tables have, for several targets
        assert len(expected) > 1
        for column, values in tree.items():
            known = expected[column].notna()  # what is missing has a value of its own in newer tables
            wanted = expected[column].astype(object).where(known, float("nan")).to_numpy().astype(values.dtype)
            if values.dtype.kind == "f":  # newer tables have more digits than the dump
                np.testing.assert_allclose(values, wanted, rtol=1e-6)
            else:
                assert values.tolist() == wanted.tolist()
