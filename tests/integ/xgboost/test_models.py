"""Boosters, objectives and data of all kinds are captured, each as far as there is something to tell of it."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost as xgb

from sagemaker_debug_ext.errors import SMDebugValueError

MULTI = {"objective": "multi:softprob", "num_class": 3}


@pytest.fixture
def class_hook(full_hook, data):
    """Make a hook that saves everything there is of three classes."""

    def make(**arguments):
        return full_hook(**{"train_data": data.train_classes, "validation_data": data.validation_classes, **arguments})

    return make


@pytest.fixture
def train_classes(train, data):
    """Return a function that trains on three classes."""

    def run(hook, parameters=None, **arguments):
        given = {**MULTI, **(parameters or {})}
        evals = [(data.train_classes, "train"), (data.validation_classes, "validation")]
        return train(hook, parameters=given, dtrain=data.train_classes, evals=evals, **arguments)

    return run


def column(trial, name, step):
    return trial.tensor(f"trees/{name}").value(step).tolist()


# --- several trees a round --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parallel", [1, 2])
@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_trees_when_classes_are_many_then_all_of_the_round_are_saved(
    class_hook, train_classes, open_trial, parallel, booster
):
    """A round adds a tree for each class, or several; each is there, under its number in the model."""
    hook = class_hook()
    model = train_classes(hook, {"num_parallel_tree": parallel, "booster": booster})
    trial = open_trial(hook)
    each = 3 * parallel
    assert trial.steps() == [0, 1, 2, 3]
    for step in trial.steps():
        assert sorted(set(column(trial, "Tree", step))) == list(range(step * each, (step + 1) * each))
    sizes = [dump.count("leaf=") + dump.count("[") for dump in model.get_dump()]
    saved = [number for step in trial.steps() for number in column(trial, "Tree", step)]
    assert [saved.count(number) for number in range(4 * each)] == sizes


def test_trees_when_a_model_of_classes_is_trained_further_then_numbers_go_on(class_hook, train_classes, open_trial):
    """The first tree of the fifth round of three classes has number 12."""
    model = train_classes(None)
    hook = class_hook()
    train_classes(hook, num_rounds=2, xgb_model=model)
    trial = open_trial(hook)
    assert trial.steps() == [4, 5]
    assert sorted(set(column(trial, "Tree", 4))) == [12, 13, 14]


def test_values_when_classes_are_many_then_have_a_column_for_each(class_hook, train_classes, data, open_trial):
    """Predictions and contributions are those of each class; the mean contribution stays one number."""
    hook = class_hook()
    model = train_classes(hook)
    trial = open_trial(hook)
    contributions = model.predict(data.train_classes, pred_contribs=True)
    assert trial.tensor("predictions").value(3).shape == (20, 3)
    assert np.array_equal(trial.tensor("full_shap/f1").value(3), contributions)
    assert trial.tensor("average_shap/f1").value(3) == pytest.approx(contributions[:, :, 1].mean(), rel=1e-5)


# --- boosters ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [False, True])
def test_gblinear_then_all_but_trees_is_saved(full_hook, class_hook, train, train_classes, open_trial, caplog, classes):
    """A linear model has no trees and no importances, which a warning says once, and training goes on as ever."""
    hook = (class_hook if classes else full_hook)()
    (train_classes if classes else train)(hook, parameters={"booster": "gblinear", "max_depth": None})
    trial = open_trial(hook)
    assert trial.steps() == [0, 1, 2, 3]
    names = {name.partition("/")[0] for name in trial.tensor_names()}
    assert {"predictions", "labels", "average_shap", "full_shap", "hyperparameters"} < names
    assert not names & {"trees", "feature_importance"}
    assert caplog.text.count("a linear model has no trees") == 1


def test_multiple_outputs_when_each_tree_has_one_then_all_is_saved(full_hook, data, open_trial):
    """Several numbers to predict: labels and predictions have a column for each, a round has a tree for each."""
    matrix = xgb.DMatrix(data.features, label=np.stack([data.labels, data.classes], axis=1))
    hook = full_hook(train_data=matrix, validation_data=matrix)
    xgb.train({"max_depth": 2}, matrix, 2, evals=[(matrix, "train")], callbacks=[hook], verbose_eval=False)
    trial = open_trial(hook)
    assert trial.tensor("labels").value(1).tolist() == np.stack([data.labels, data.classes], axis=1).tolist()
    assert trial.tensor("predictions").value(1).shape == (80, 2)
    assert sorted(set(column(trial, "Tree", 1))) == [2, 3]


def test_multiple_outputs_when_each_tree_has_all_then_the_rest_is_saved(full_hook, data, open_trial, caplog):
    """XGBoost tells nothing of such trees, and some versions crash when asked; so the hook does not ask."""
    matrix = xgb.DMatrix(data.features, label=np.stack([data.labels, data.classes], axis=1))
    hook = full_hook(train_data=matrix, validation_data=matrix)
    parameters = {"max_depth": 2, "multi_strategy": "multi_output_tree", "tree_method": "hist"}
    xgb.train(parameters, matrix, 2, evals=[(matrix, "train")], callbacks=[hook], verbose_eval=False)
    trial = open_trial(hook)
    assert {name.partition("/")[0] for name in trial.tensor_names()} == {
        "train-rmse", "predictions", "labels", "hyperparameters",
    }  # fmt: skip
    assert "trees with several outputs" in caplog.text


# --- data -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("one_hot_below", [1, 10])
def test_categories_then_trees_tell_them(full_hook, data, open_trial, one_hot_below):
    """A split by categories has no threshold, but the categories that go one way."""
    features = np.c_[data.features[:, :2], (data.features[:, 2] * 5).astype(int)]
    matrix = xgb.DMatrix(features, label=features[:, 2] % 2, feature_types=["q", "q", "c"], enable_categorical=True)
    hook = full_hook(train_data=matrix, validation_data=matrix)
    parameters = {"max_depth": 2, "max_cat_to_onehot": one_hot_below, "tree_method": "hist"}
    xgb.train(parameters, matrix, 1, evals=[(matrix, "train")], callbacks=[hook], verbose_eval=False)
    trial = open_trial(hook)
    assert column(trial, "Feature", 0)[0] == "f2"
    categories = column(trial, "Category", 0)[0].split(",")
    assert set(categories) <= set("01234")
    assert (len(categories) == 1) == (one_hot_below == 10)
    assert np.isnan(column(trial, "Split", 0)[0])


def test_whole_and_indicator_features_then_trees_are_saved(full_hook, data, open_trial):
    """An indicator is split by whether it is there; neither threshold nor missing branch is told of it."""
    features = (data.features > 0.5).astype(float)
    matrix = xgb.DMatrix(features, label=data.labels, feature_types=["i", "int", "float", "q"])
    hook = full_hook(train_data=matrix, validation_data=matrix)
    xgb.train({"max_depth": 3}, matrix, 2, evals=[(matrix, "train")], callbacks=[hook], verbose_eval=False)
    trial = open_trial(hook)
    rows = list(zip(column(trial, "Feature", 0), column(trial, "Split", 0), column(trial, "Missing", 0), strict=True))
    indicators = [(split, missing) for feature, split, missing in rows if feature == "f0"]
    assert indicators
    assert all(np.isnan(split) and missing == "nan" for split, missing in indicators)


def test_missing_values_and_margins_then_are_respected(full_hook, train, data, open_trial):
    """Predictions are those XGBoost makes of data with gaps and with a margin of their own."""
    features = np.where(np.random.default_rng(0).random((80, 4)) < 0.2, np.nan, data.features)
    margin = np.linspace(-1, 1, 80)
    matrix = xgb.DMatrix(features, label=data.labels, base_margin=margin)
    hook = full_hook(train_data=matrix, validation_data=matrix)
    model = train(hook, dtrain=matrix, evals=[(matrix, "train")])
    trial = open_trial(hook)
    assert np.array_equal(trial.tensor("predictions").value(3), model.predict(matrix))
    assert not np.array_equal(model.predict(matrix), model.predict(xgb.DMatrix(features)))


def test_quantile_matrices_then_all_is_saved(full_hook, train, data, open_trial):
    """As scikit-learn's estimators make them of what they are given."""
    matrix = xgb.QuantileDMatrix(data.features, label=data.labels)
    hook = full_hook(train_data=matrix, validation_data=matrix)
    train(hook, dtrain=matrix, evals=[(matrix, "train")])
    trial = open_trial(hook)
    assert trial.steps() == [0, 1, 2, 3]
    assert trial.tensor("full_shap/f0").value(0).shape == (80, 5)


def test_stump_when_nothing_can_be_split_then_there_is_no_importance(full_hook, train, open_trial):
    """A tree of a single leaf is a table of one row."""
    hook = full_hook()
    train(hook, parameters={"gamma": 1e9}, num_rounds=1)
    trial = open_trial(hook)
    assert column(trial, "Feature", 0) == ["Leaf"]
    assert not trial.tensor_names(collection="feature_importance")


# --- cross-validation -------------------------------------------------------------------------------------------------


def test_cv_then_means_and_deviations_are_saved(make_hook, data, open_trial):
    """Each round of all folds is a step; its metrics are those that `xgboost.cv` returns."""
    hook = make_hook(include_collections=["losses", "hyperparameters"], hyperparameters={"eta": 0.3})
    told = xgb.cv(
        {"objective": "binary:logistic", "eta": 0.3}, data.train, 3, nfold=3, callbacks=[hook], as_pandas=False
    )
    trial = open_trial(hook)
    assert trial.steps() == [0, 1, 2]
    for part in ("train", "test"):
        means, deviations = trial.tensor(f"{part}-logloss").values(), trial.tensor(f"{part}-logloss-std").values()
        assert [value.item() for value in means.values()] == told[f"{part}-logloss-mean"]
        assert [value.item() for value in deviations.values()] == told[f"{part}-logloss-std"]
    assert trial.tensor_names(collection="losses") == ["test-logloss", "train-logloss"]


@pytest.mark.parametrize("name", ["predictions", "labels", "feature_importance", "average_shap", "full_shap", "trees"])
def test_cv_when_collection_is_of_one_model_then_is_refused(make_hook, data, name):
    """There are as many models as folds, and no saying which is meant."""
    hook = make_hook(include_collections=[name], train_data=data.train, validation_data=data.validation)
    with pytest.raises(SMDebugValueError, match=rf"xgboost.cv trains several \(got {name}\)"):
        xgb.cv({"objective": "binary:logistic"}, data.train, 3, callbacks=[hook])


def test_cv_when_early_stopping_ends_it_then_last_round_is_saved(make_hook, data, open_trial):
    """Folds are trained until they get worse on average."""
    hook = make_hook()
    stopping = xgb.callback.EarlyStopping(rounds=2)
    parameters = {"objective": "binary:logistic", "eta": 1.5, "max_depth": 6, "lambda": 0}
    xgb.cv(parameters, data.train, 50, callbacks=[stopping, hook], as_pandas=False)
    steps = open_trial(hook).steps()
    assert 2 < len(steps) < 50
    assert steps == list(range(len(steps)))


# --- scikit-learn's estimators ----------------------------------------------------------------------------------------

sklearn = pytest.importorskip("sklearn")


ESTIMATORS = {"classifier": xgb.XGBClassifier, "regressor": xgb.XGBRegressor, "ranker": xgb.XGBRanker}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_estimators_then_are_captured(make_hook, data, open_trial, kind):
    """The hook is a callback of theirs as well; the model is the same without it."""
    evals = {"eval_set": [(data.features[60:], data.labels[60:])], "verbose": False}
    if kind == "ranker":
        evals |= {"qid": np.repeat(range(6), 10), "eval_qid": [np.repeat(range(2), 10)]}

    def fit(**arguments):
        estimator = ESTIMATORS[kind](n_estimators=5, random_state=0, eval_metric="rmse", **arguments)
        return estimator.fit(data.features[:60], data.labels[:60], **evals)

    hook = make_hook(
        include_collections=["predictions", "labels", "trees", "average_shap"],
        train_data=data.train,
        validation_data=data.validation,
    )
    captured = fit(callbacks=[hook])
    assert captured.get_booster().save_raw("json") == fit().get_booster().save_raw("json")
    trial = open_trial(hook)
    assert trial.steps() == [0, 1, 2, 3, 4]
    assert trial.tensor_names(collection="metrics") == ["validation_0-rmse"]
    assert trial.tensor("predictions").value(4).shape == (20,)


def test_grid_search_then_each_fit_is_captured(make_hook, data, open_trial):
    """scikit-learn copies the estimator for each fit; all go on in one trial."""
    from sklearn.model_selection import GridSearchCV

    hook = make_hook(include_collections=["trees"])
    search = GridSearchCV(xgb.XGBClassifier(n_estimators=2, callbacks=[hook]), {"max_depth": [1, 2]}, cv=2)
    search.fit(data.features, data.labels)
    assert open_trial(hook).steps() == list(range(2 * (2 * 2 + 1)))
