"""What could only fail in the middle of training is refused before it starts, with what to do about it."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost as xgb

import sagemaker_debug_ext.xgboost as smd
from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.hooks.xgboost.hook import check_version
from sagemaker_debug_ext.trials import create_trial


class Watching(xgb.callback.TrainingCallback):
    """Notes that training has begun."""

    has_begun = False

    def before_iteration(self, model, epoch, evals_log):
        self.has_begun = True
        return False


@pytest.fixture
def refuse(train):
    """Return a function that asserts that training with a hook is refused before its first round."""

    def check(hook, match, **arguments):
        watching = Watching()
        with pytest.raises(SMDebugValueError, match=match):
            train(hook, callbacks=[watching], **arguments)
        assert not watching.has_begun

    return check


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("collection", "missing"),
    [
        ("predictions", "validation_data"),
        ("labels", "validation_data"),
        ("average_shap", "train_data"),
        ("full_shap", "train_data"),
    ],
)
def test_data_when_missing_then_are_asked_for(make_hook, refuse, collection, missing, strict):
    """A collection that needs data is refused without, whether the hook is strict or not."""
    refuse(
        make_hook(include_collections=[collection], strict=strict),
        f"{missing} must be given where collection '{collection}' is saved",
    )


def test_data_when_missing_for_a_pattern_then_are_asked_for(make_hook, refuse):
    """Asking for one tensor by a pattern is asking."""
    refuse(make_hook(include_regex=["^full_shap/f1$"]), "train_data must be given")


def test_data_when_given_before_training_then_are_taken(make_hook, train, data, open_trial):
    """A script may give them once it has them, to a hook made from a file, say."""
    hook = make_hook(include_collections=["predictions", "average_shap", "hyperparameters"])
    hook.train_data, hook.validation_data = data.train, data.validation
    hook.hyperparameters = {"eta": 0.3}
    train(hook)
    assert {"predictions", "average_shap/f0", "hyperparameters/eta"} < set(open_trial(hook).tensor_names())


def test_data_when_they_have_more_features_then_are_refused(make_hook, refuse, data):
    """XGBoost could not predict them."""
    wide = xgb.DMatrix(np.c_[data.features, data.features], label=data.labels)
    hook = make_hook(include_collections=["predictions"], validation_data=wide)
    refuse(hook, r"validation_data .*it must have 4 features at most \(got 8\)")


def test_data_when_features_have_other_names_then_are_refused(make_hook, refuse, data):
    """XGBoost compares names."""
    named = xgb.DMatrix(data.features, label=data.labels, feature_names=["a", "b", "c", "d"])
    hook = make_hook(include_collections=["average_shap"], train_data=data.train)
    refuse(hook, r"train_data .*its features must be named a, b, c, d \(got None\)", dtrain=named, evals=[])


def test_data_when_they_have_no_labels_then_labels_are_refused(make_hook, refuse, data):
    """There is nothing to save."""
    hook = make_hook(include_collections=["labels"], validation_data=xgb.DMatrix(data.features))
    refuse(hook, "it has no labels")


@pytest.mark.parametrize("name", ["train_data", "validation_data"])
def test_data_when_they_are_arrays_then_error_says_how_to_make_a_matrix(make_hook, data, name):
    """Arrays lack what a matrix knows of labels, weights and missing values."""
    with pytest.raises(
        SMDebugTypeError, match=rf"{name} must be an xgboost.DMatrix .*xgboost.DMatrix\(features, label"
    ):
        make_hook(**{name: data.features})
    hook = make_hook()
    with pytest.raises(SMDebugTypeError, match=name):
        setattr(hook, name, (data.features, data.labels))


def test_hyperparameters_when_no_dictionary_then_are_refused(make_hook):
    """Names are needed."""
    with pytest.raises(SMDebugTypeError, match="hyperparameters must be a dictionary"):
        make_hook(hyperparameters=["eta"])


def test_model_when_of_another_framework_then_is_refused(make_hook):
    """Only XGBoost's models have rounds."""
    with pytest.raises(SMDebugTypeError, match=r"model must be an xgboost\.Booster"):
        make_hook().before_training(object())


def test_hook_when_no_hook_then_is_refused():
    """The hook of the process must be one of this framework."""
    with pytest.raises(SMDebugTypeError, match=r"hooks\.xgboost\.hook\.Hook"):
        smd.set_hook("hook")


@pytest.mark.parametrize(("version", "is_known"), [("2.1.0", True), ("3.2.0", True), ("10.0", True), ("2.0.3", False)])
def test_version_when_too_old_then_is_refused(version, is_known):
    """The error names both versions."""
    if is_known:
        check_version(version)
    else:
        with pytest.raises(SMDebugRuntimeError, match=r"version 2\.1 .*got 2\.0\.3"):
            check_version(version)


def test_hooks_when_two_write_to_one_folder_then_training_goes_on_with_one(make_hook, train, caplog):
    """The folder belongs to the first; the other says so and switches itself off."""
    first, second = make_hook(strict=False), make_hook(strict=False)
    train(None, callbacks=[first, second])
    assert sorted(hook.failure is None for hook in (first, second)) == [False, True]
    assert "out_dir must belong to one hook" in caplog.text
    first.close()
    second.close()
    assert create_trial(first.out_dir).steps() == [0, 1, 2, 3]


# --- files ------------------------------------------------------------------------------------------------------------


def rows_of(matrix):
    return matrix.get_data().toarray().tolist(), matrix.get_label().tolist()


@pytest.mark.parametrize("content_type", ["csv", "text/csv", "CSV"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", " "])
def test_csv_then_label_is_the_first_column(tmp_path, make_hook, content_type, delimiter):
    """As SageMaker's channels have it; an empty field is a missing value."""
    lines = [["1", "0.5", "2"], ["0", "1e-3", "" if delimiter != " " else "nan"]]
    (tmp_path / "data.csv").write_text("\n".join(delimiter.join(line) for line in lines) + "\n\n")
    hook = make_hook(train_data=(str(tmp_path / "data.csv"), content_type))
    values, labels = rows_of(hook.train_data)
    assert labels == [1.0, 0.0]
    assert hook.train_data.num_nonmissing() == 3
    assert values[0] == [0.5, 2.0]


def test_libsvm_then_indices_begin_at_0(tmp_path, make_hook):
    """Weights and queries are read, comments are not."""
    (tmp_path / "data.txt").write_text("1:2.5 0:0.5 3:1 # first\n\n0:1 qid:4 1:2\n".replace(" qid:4", ""))
    hook = make_hook(validation_data=(tmp_path / "data.txt", "libsvm"))
    values, labels = rows_of(hook.validation_data)
    assert (values, labels) == ([[0.5, 0.0, 0.0, 1.0], [0.0, 2.0, 0.0, 0.0]], [1.0, 0.0])
    assert hook.validation_data.get_weight().tolist() == [2.5, 1.0]
    (tmp_path / "ranked.txt").write_text("1 qid:1 0:1\n0 qid:1 0:2\n1 qid:2 0:3\n")
    hook.validation_data = (tmp_path / "ranked.txt", "text/x-libsvm")
    assert hook.validation_data.get_uint_info("group_ptr").tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    ("content", "content_type", "match"),
    [
        ("yes,1,2\nno,3,4\n", "csv", r"data:1: a label must be a number \(got 'yes'\)"),
        ("1,2\n0,red\n", "csv", r"data:2: a value must be a number \(got 'red'\)"),
        (",2\n", "csv", r"data:1: a label must be a number \(got ''\)"),
        ("1,2\n0,3,4\n", "csv", r"equally many values \(got \[2, 3\]\)"),
        ("1\n0\n", "csv", "must all have a label and"),
        ("", "csv", "must all have a label and"),
        ("1 0:1\nspam 0:2\n", "libsvm", r"data:2: a label must be a number \(got 'spam'\)"),
        ("1 0:1 2\n", "libsvm", r"a value must be written as index:value \(got '2'\)"),
        ("1 name:1\n", "libsvm", r"index:value \(got 'name:1'\)"),
        ("1 0:red\n", "libsvm", r"a value must be a number \(got 'red'\)"),
        ("# nothing\n", "libsvm", "at least one line"),
        ("1,2\n", "cvs", r"format of train_data must be one of .*did you mean 'csv'\?"),
    ],
)
def test_files_when_content_makes_no_sense_then_error_says_where(tmp_path, make_hook, content, content_type, match):
    """String labels among them: the line, and what was found there."""
    (tmp_path / "data").write_text(content)
    with pytest.raises(SMDebugValueError, match=match):
        make_hook(train_data=(tmp_path / "data", content_type))


def test_files_when_there_is_none_then_is_refused(tmp_path, make_hook):
    """Only files of this machine can be read."""
    with pytest.raises(SMDebugValueError, match="file of this machine"):
        make_hook(train_data=("s3://bucket/train.csv", "csv"))


@pytest.mark.filterwarnings("ignore:elementwise comparison failed:FutureWarning")  # XGBoost compares them with numbers
def test_labels_when_they_are_texts_then_training_is_refused_and_nothing_written(make_hook, data, tmp_path):
    """XGBoost itself refuses them, and the hook, which has seen no training, stays usable."""
    hook = make_hook()
    texts = np.where(data.labels, "yes", "no")
    with pytest.raises(ValueError, match=r"yes|no|string"):
        xgb.DMatrix(data.features, label=texts)
    pytest.importorskip("sklearn")
    with pytest.raises((ValueError, AttributeError)):  # the latter where XGBoost and numpy are the oldest
        xgb.XGBClassifier(callbacks=[hook]).fit(data.features, texts)
    assert not (tmp_path / "out" / "index").exists()
    assert hook.failure is None
