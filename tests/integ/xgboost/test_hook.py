"""What is saved of a model, under which name, and with which value."""

from __future__ import annotations

import contextlib
import json

import numpy as np
import pytest
import xgboost as xgb

import sagemaker_debug_ext.xgboost as smd
from sagemaker_debug_ext.config.reductions import ReductionConfig


def table_of(trial, step):
    """Return the saved trees as rows."""
    names = [name for name in trial.tensor_names(step=step) if name.startswith("trees/")]
    columns = {name.removeprefix("trees/"): trial.tensor(name).value(step).tolist() for name in names}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


# --- defaults ---------------------------------------------------------------------------------------------------------


def test_defaults_when_nothing_is_configured_then_metrics_every_tenth_round(tmp_path, train, open_trial):
    """A hook saves the metrics of rounds 0, 10, 20 and so on."""
    hook = smd.Hook(tmp_path / "out")
    train(hook, num_rounds=25)
    trial = open_trial(hook)
    assert trial.steps() == [0, 10, 20]
    assert trial.tensor_names() == ["train-logloss", "validation-logloss"]
    assert hook.has_default_hook_configuration()


def test_configuration_file_when_it_says_nothing_then_interval_is_ten(tmp_path, train, open_trial):
    """Both names of the method read the file, and settings in it count."""
    document = {
        "LocalPath": str(tmp_path / "out"),
        "CollectionConfigurations": [
            {"CollectionName": "losses", "CollectionParameters": {"save_interval": "5"}},
            {"CollectionName": "feature_importance"},
        ],
    }
    (tmp_path / "hook.json").write_text(json.dumps(document))
    hook = smd.Hook.hook_from_config(str(tmp_path / "hook.json"))
    train(hook, num_rounds=12, parameters={"eval_metric": ["logloss", "auc"]})
    trial = open_trial(hook)
    assert trial.tensor("train-logloss").steps() == [0, 5, 10]
    assert trial.tensor("train-auc").steps() == [0, 10]
    assert trial.tensor("feature_importance/weight/f0").steps() == [0, 10]


@pytest.mark.parametrize("bases", [(xgb.callback.TrainingCallback, smd.Hook), (smd.Hook,)], ids=["both", "ours"])
def test_subclass_when_it_names_the_callback_of_xgboost_first_then_captures(bases, tmp_path, train, open_trial):
    """Scripts derive from both, because the hook of smdebug is no callback; their own methods are called, too."""
    rounds = []

    class Own(*bases):
        def __init__(self, out_dir):
            smd.Hook.__init__(self, out_dir)

        def before_iteration(self, model, epoch, evals_log):
            rounds.append(epoch)
            return smd.Hook.before_iteration(self, model, epoch, evals_log)

    hook = Own(tmp_path / "out")
    assert isinstance(hook, xgb.callback.TrainingCallback)
    train(hook, num_rounds=12)
    assert open_trial(hook).tensor("train-logloss").steps() == [0, 10]
    assert rounds == list(range(12))


def test_subclass_when_it_drops_the_error_of_the_constructor_then_training_goes_on(train, caplog):
    """It captures nothing, and a line in the log says so."""

    class Own(xgb.callback.TrainingCallback, smd.Hook):
        def __init__(self):
            with contextlib.suppress(Exception):
                smd.Hook.__init__(self)  # the folder is missing

    assert train(Own(), num_rounds=3).num_boosted_rounds() == 3
    assert "the hook could not be created" in caplog.text


def test_get_hook_when_there_is_a_file_then_creates_it(tmp_path, monkeypatch):
    """As in scripts for SageMaker's container; without a file there is no hook."""
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    assert smd.get_hook() is None
    (tmp_path / "hook.json").write_text(json.dumps({"LocalPath": str(tmp_path / "out")}))
    hook = smd.get_hook()
    assert smd.get_hook() is hook
    hook.close()


# --- metrics and losses -----------------------------------------------------------------------------------------------

LOSSES = [
    "train-logloss", "val1-error", "val1-error@0.7", "validation_0-mlogloss", "test-rmse", "test-mape", "eval-mphe",
    "train-gamma-nloglik", "train-tweedie-nloglik@1.5", "train-cox-nloglik", "train-aft-nloglik", "dév-mae", "e.v-mae",
]  # fmt: skip
SCORES = [
    "train-auc", "val1-aucpr", "val1-map", "val1-map@3-", "test-ndcg@10", "test-ndcg@10-", "test-ndcg-", "test-pre@5",
    "train-interval-regression-accuracy", "validation_0-accuracy_score", "test-logloss-std",
]  # fmt: skip
OTHERS = [
    "predictions", "labels", "hyperparameters/scale-pos-weight", "feature_importance/weight/pre-tax", "trees/Node",
    "average_shap/a-b", "scalar/test-auc",
]  # fmt: skip


def test_patterns_of_metrics_then_match_all_metrics_and_nothing_else():
    """Digits, ``@``, further dashes and any letters may stand in the names; losses are what falls as models improve."""
    metrics, losses = (smd.Collection(name, smd.Hook.builtin_patterns[name]) for name in ("metrics", "losses"))
    assert [name for name in LOSSES + SCORES + OTHERS if metrics.matches(name)] == LOSSES + SCORES
    assert [name for name in LOSSES + SCORES + OTHERS if losses.matches(name)] == LOSSES


def test_metrics_when_names_are_unusual_then_are_saved(make_hook, data, open_trial):
    """Names of data may hold digits, dots and slashes, metrics of rankings an ``@``."""
    hook = make_hook(include_collections=["losses"])
    parameters = {"objective": "rank:ndcg", "eval_metric": ["ndcg@3", "map@2-", "error@0.7"], "max_depth": 2}
    ranked = xgb.DMatrix(data.features, label=data.labels, qid=np.repeat(range(8), 10))
    xgb.train(parameters, ranked, 2, evals=[(ranked, "val1"), (ranked, "a/b")], callbacks=[hook], verbose_eval=False)
    trial = open_trial(hook)
    names = [f"{part}-{metric}" for part in ("a/b", "val1") for metric in ("error@0.7", "map@2-", "ndcg@3")]
    assert trial.tensor_names() == trial.tensor_names(collection="metrics") == names
    assert trial.tensor_names(collection="losses") == ["val1-error@0.7"]


def test_metrics_when_custom_then_are_saved(make_hook, train, open_trial):
    """So are functions of the script."""
    hook = make_hook()
    train(hook, custom_metric=lambda predictions, matrix: ("spread", float(np.ptp(predictions))))
    assert "validation-spread" in open_trial(hook).tensor_names(collection="metrics")


def test_losses_when_metrics_are_disabled_then_are_saved_alone(make_hook, train, open_trial):
    """A collection whose saving ends at step 0 is switched off."""
    hook = make_hook(include_collections=["losses"])
    hook.get_collection("metrics").save_config = smd.SaveConfig(end_step=0)
    train(hook, parameters={"eval_metric": ["auc", "logloss"]})
    assert open_trial(hook).tensor_names() == ["train-logloss", "validation-logloss"]


# --- predictions, labels, importance, contributions -------------------------------------------------------------------


def test_predictions_and_labels_then_are_those_of_the_validation_data(full_hook, train, data, open_trial):
    """What is saved last is what the trained model predicts."""
    hook = full_hook()
    model = train(hook)
    trial = open_trial(hook)
    assert np.array_equal(trial.tensor("predictions").value(3), model.predict(data.validation))
    assert np.array_equal(trial.tensor("labels").value(3), data.labels[60:].astype(np.float32))


def test_importance_then_are_shares_of_features_that_are_used(full_hook, train, open_trial):
    """All five kinds add up to one, and have the proportions that XGBoost tells."""
    hook = full_hook()
    model = train(hook)
    trial = open_trial(hook)
    for kind in ("weight", "gain", "cover", "total_gain", "total_cover"):
        scores = model.get_score(importance_type=kind)
        names = trial.tensor_names(step=3, regex=f"^feature_importance/{kind}/")
        shares = {name.rpartition("/")[2]: trial.tensor(name).value(3).item() for name in names}
        total = sum(scores.values())
        assert shares == pytest.approx({feature: score / total for feature, score in scores.items()})
        assert sum(shares.values()) == pytest.approx(1)


def test_contributions_then_are_those_of_each_feature(full_hook, train, data, open_trial):
    """Each tensor of full_shap holds the contributions of all features; with the base value they give the margin."""
    hook = full_hook()
    for name in ("average_shap", "full_shap"):
        hook.get_collection(name).include("/bias$")
    model = train(hook)
    trial = open_trial(hook)
    expected = model.predict(data.train, pred_contribs=True)
    names = ["f0", "f1", "f2", "f3", "bias"]
    for name in names:
        saved = trial.tensor(f"full_shap/{name}").value(3)
        assert np.array_equal(saved, expected)
    assert saved.shape == (data.train.num_row(), 5)
    assert np.allclose(saved.sum(axis=1), model.predict(data.train, output_margin=True), atol=1e-5)
    averages = [trial.tensor(f"average_shap/{name}").value(3).item() for name in names]
    assert averages == expected.mean(axis=0).tolist()


def test_base_value_when_not_asked_for_then_is_not_saved(full_hook, train, open_trial):
    """It is no feature."""
    hook = full_hook()
    train(hook)
    assert not open_trial(hook).tensor_names(regex="bias")


FEATURES = ["alpha", "sales", "club", "hi", "bias", "a/b", 'with "quotes", and spaces', "Größe\t%"]


def test_features_when_names_are_unusual_then_all_are_saved(make_hook, data, open_trial):
    """No letter at the end, no slash and no quote keeps a feature from being saved, nor does being called ``bias``."""
    columns = np.tile(data.features, 2)[:, : len(FEATURES)] + np.random.default_rng(0).random((80, len(FEATURES)))
    matrix = xgb.DMatrix(columns, label=data.labels, feature_names=FEATURES)
    hook = make_hook(
        include_collections=["average_shap", "full_shap", "feature_importance", "trees"], train_data=matrix
    )
    xgb.train({"max_depth": 6}, matrix, 3, evals=[(matrix, "train")], callbacks=[hook], verbose_eval=False)
    trial = open_trial(hook)
    for name in ("average_shap", "full_shap"):
        assert trial.tensor_names(collection=name) == sorted(f"{name}/{feature}" for feature in FEATURES)
    used = {row["Feature"] for step in trial.steps() for row in table_of(trial, step)} - {"Leaf"}
    assert used <= set(FEATURES)
    assert {name.removeprefix("feature_importance/weight/") for name in
            trial.tensor_names(regex="^feature_importance/weight/")} == used  # fmt: skip


def test_hyperparameters_when_of_any_kind_then_are_saved_as_numbers_or_texts(make_hook, train, open_trial):
    """Numbers, texts and lists stay what they are, None is left out, and anything else becomes a text."""
    given = {
        "eta": 0.3, "max_depth": 3, "eval_metric": ["auc", "error"], "monotone": (1, -1), "enabled": True,
        "unset": None, "groups": [[0, 1], [2]], "pairs": [(0, 1)], "mapping": {"f0": 1},
    }  # fmt: skip
    hook = make_hook(include_collections=["hyperparameters"], hyperparameters=given)
    train(hook, num_rounds=1)
    trial = open_trial(hook)
    saved = {name.partition("/")[2]: trial.tensor(name).value(0).tolist() for name in
             trial.tensor_names(collection="hyperparameters")}  # fmt: skip
    assert saved == {
        "eta": [0.3], "max_depth": [3], "eval_metric": ["auc", "error"], "monotone": [1, -1], "enabled": [True],
        "groups": ["[[0, 1], [2]]"], "pairs": ["[(0, 1)]"], "mapping": ["{'f0': 1}"],
    }  # fmt: skip


# --- trees ------------------------------------------------------------------------------------------------------------


def as_told(value):
    """Return a cell of XGBoost's own table as it is saved."""
    return "nan" if value is None or value != value else value  # only NaN differs from itself


def test_trees_then_are_what_xgboost_tells_of_them(full_hook, train, open_trial):
    """Each round holds the tree it added, node by node, as XGBoost's own table has it."""
    pytest.importorskip("pandas")
    hook = full_hook()
    model = train(hook)
    trial = open_trial(hook)
    saved = [row for step in trial.steps() for row in table_of(trial, step)]
    told = model.trees_to_dataframe().to_dict("records")
    assert len(saved) == len(told) > 10
    for ours, theirs in zip(saved, told, strict=True):
        for column in ("Tree", "Node", "ID", "Feature", "Yes", "No", "Missing"):
            assert ours[column] == as_told(theirs[column]), (ours, theirs)
        for column in ("Split", "Gain", "Cover"):
            told_number = np.nan if theirs[column] is None else theirs[column]
            assert ours[column] == pytest.approx(told_number, rel=1e-6, nan_ok=True), (ours, theirs)
        assert ours["Category"] == "nan"


# --- what costs something is computed only where it is asked for ------------------------------------------------------


class CountingMatrix(xgb.DMatrix):
    """A matrix that counts how often it is predicted."""

    num_predictions = 0

    @property
    def feature_names(self):
        self.num_predictions += 1
        return None

    @feature_names.setter
    def feature_names(self, names):
        pass


@pytest.mark.parametrize(
    ("collections", "patterns", "expected"),
    [
        (["average_shap", "full_shap"], None, 3),
        (["metrics"], None, 0),
        (["metrics"], ["^average_shap/f2$"], 3),
        (["metrics"], ["f2$"], 3),
        (["metrics"], ["^average_shap/nobody$", "^train.*", "^trees/(Node|ID)$"], 0),
    ],
)
def test_contributions_then_are_computed_in_saved_rounds_and_only_if_asked_for(
    make_hook, data, train, open_trial, collections, patterns, expected
):
    """Of ten rounds three are saved; a pattern of the script's own counts as asking."""
    matrix = CountingMatrix(data.features[:60], label=data.labels[:60])
    hook = make_hook(
        save_config=smd.SaveConfig(save_interval=4),
        include_collections=collections,
        include_regex=patterns,
        train_data=matrix,
    )
    matrix.num_predictions = 0
    train(hook, num_rounds=10)
    assert matrix.num_predictions == expected
    if patterns and expected:
        assert "average_shap/f2" in open_trial(hook).tensor_names(collection="default")


def test_reductions_when_configured_then_have_no_effect(make_hook, train, data, open_trial, caplog):
    """Rules for XGBoost need the values; a warning says so."""
    config = ReductionConfig(reductions=["mean"])
    hook = make_hook(reduction_config=config, include_collections=["predictions"], validation_data=data.validation)
    hook.get_collection("predictions").reduction_config = config
    train(hook, num_rounds=1)
    assert open_trial(hook).tensor("predictions").value(0).shape == (20,)
    assert caplog.text.count("no effect") == 2


def test_everything_when_save_all_then_what_there_is_is_saved(make_hook, train, data, open_trial, caplog):
    """Collections that lack data stay empty, which a warning says, and all else is saved."""
    hook = make_hook(save_all=True, train_data=data.train)
    train(hook)
    trial = open_trial(hook)
    assert trial.tensor_names(collection="average_shap")
    assert trial.tensor_names(collection="trees")
    assert not trial.tensor_names(collection="predictions")
    assert "'predictions' stays empty" in caplog.text
