"""Scripts that know nothing of a hook are captured, and behave as ever."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.trials import create_trial
from support.scripts import run_captured, run_python, write_hook_file

SCRIPT = """
import sys
import numpy as np
import xgboost as xgb
import helper

random = np.random.default_rng(0)
features = random.random((80, 3))
labels = (features.sum(axis=1) > 1.5).astype(int)
training, validation = xgb.DMatrix(features[:60], label=labels[:60]), xgb.DMatrix(features[60:], label=labels[60:])
parameters = {"objective": "binary:logistic", "max_depth": 2, "nthread": 1}
if "--sklearn" in sys.argv:
    model = xgb.XGBClassifier(n_estimators=4, max_depth=2)
    model.fit(features[:60], labels[:60], eval_set=[(features[60:], labels[60:])])
    model = model.get_booster()
elif "--cv" in sys.argv:
    print(xgb.cv(parameters, training, 4, as_pandas=False))
    sys.exit(7)
else:
    evals = [] if "--blind" in sys.argv else [(training, "train"), (validation, "validation")]
    evals = evals[:1] if "--once" in sys.argv else evals
    model = xgb.train(list(parameters.items()), training, 4, evals=evals)
print(helper.NAME, sys.argv[1:], __name__, hash(bytes(model.save_raw("json"))), len(model.get_dump()))
if "--fail" in sys.argv:
    raise ValueError("the script's own")
sys.exit(7)
"""


@pytest.fixture
def script(tmp_path):
    """An ordinary training script with a module beside it."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "helper.py").write_text("NAME = 'helper'\n")
    (folder / "train.py").write_text(SCRIPT)
    return folder / "train.py"


@pytest.fixture
def configured(monkeypatch, tmp_path):
    """A hook configuration file as SageMaker puts it into the container."""
    names = ["predictions", "labels", "average_shap", "feature_importance", "trees", "hyperparameters"]
    write_hook_file(tmp_path / "hook.json", tmp_path / "out", names)
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    return tmp_path / "out"


def test_run_when_script_is_unchanged_then_is_captured_and_ends_as_ever(script, configured):
    """Output, arguments, exit status and model are those of the script; data and parameters come from its calls."""
    alone = run_python(script, "--depth", "3")
    captured = run_captured(script, "--depth", "3")
    assert (captured.returncode, captured.stdout) == (alone.returncode, alone.stdout)
    assert captured.returncode == 7
    trial = create_trial(str(configured))
    assert trial.steps() == [0, 1, 2, 3]
    assert trial.tensor_names(collection="metrics") == ["train-logloss", "validation-logloss"]
    assert trial.tensor("hyperparameters/objective").value(0).tolist() == ["binary:logistic"]
    assert trial.tensor("predictions").value(3).shape == trial.tensor("labels").value(3).shape == (20,)
    assert "average_shap/f0" in trial.tensor_names()
    assert "trees/Node" in trial.tensor_names()


def test_run_when_it_is_an_estimator_then_is_captured(script, configured, forks):
    """scikit-learn's estimators train by the same function."""
    captured = forks.run_captured(script, "--sklearn")
    assert (captured.returncode, captured.stdout) == (7, forks.run_python(script, "--sklearn").stdout)
    trial = create_trial(str(configured))
    assert trial.steps() == [0, 1, 2, 3]
    assert "validation_0-logloss" in trial.tensor_names()


@pytest.mark.parametrize(
    ("argument", "found"), [("--once", "only 'train', which is trained on"), ("--blind", "nothing")]
)
def test_run_when_there_are_no_validation_data_then_it_tells_what_to_do(script, configured, argument, found, forks):
    """And what there was; all else is captured."""
    captured = forks.run_captured(script, argument)
    assert captured.returncode == 7
    told = f"stays empty: evals of the training has {found}; add data that is not, as (data, 'validation')"
    assert [f"collection '{name}' {told}" in captured.stderr for name in ("predictions", "labels")] == [True, True]
    assert create_trial(str(configured)).tensor_names(collection="average_shap")


def test_run_when_it_cross_validates_then_metrics_are_captured(script, configured, forks):
    """What is of one model is left out, with a word."""
    captured = forks.run_captured(script, "--cv")
    assert (captured.returncode, captured.stdout) == (7, forks.run_python(script, "--cv").stdout)
    assert "xgboost.cv trains several" in captured.stderr
    names = create_trial(str(configured)).tensor_names()
    assert [name for name in names if "/" not in name] == [
        "test-logloss", "test-logloss-std", "train-logloss", "train-logloss-std",
    ]  # fmt: skip


def test_run_when_script_fails_then_so_does_the_command(script, configured, forks):
    """The error is the script's own, and what was saved until then is there."""
    captured = forks.run_captured(script, "--fail")
    assert captured.returncode == 1
    assert "ValueError: the script's own" in captured.stderr
    assert create_trial(str(configured)).steps() == [0, 1, 2, 3]


def test_run_when_there_is_no_configuration_then_script_just_runs(script, monkeypatch, tmp_path, forks):
    """Nothing is captured where nobody asked for it."""
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "none.json"))
    captured = forks.run_captured(script)
    assert (captured.returncode, captured.stdout) == (7, forks.run_python(script).stdout)


def test_import_when_script_has_a_hook_of_its_own_then_that_one_captures(script, configured, tmp_path):
    """Nothing is captured twice."""
    own = tmp_path / "own"
    own_hook = 'callbacks=[smd.Hook(sys.argv[1], save_config={"save_interval": 1})]'
    changed = SCRIPT.replace("evals=evals)", f"evals=evals, {own_hook})")
    script.write_text("import sagemaker_debug_ext.auto\nimport sagemaker_debug_ext.xgboost as smd\n" + changed)
    assert run_python(script, own).returncode == 7
    assert create_trial(str(own)).steps() == [0, 1, 2, 3]
    assert not configured.exists()


REPORTING = """
import numpy as np
import xgboost as xgb
from sklearn.metrics import accuracy_score

features = np.random.default_rng(0).random((80, 3))
labels = (features.sum(axis=1) > 1.5).astype(int)
data = xgb.DMatrix(features, label=labels)
model = xgb.train({"objective": "binary:logistic", "max_depth": 2, "nthread": 1}, data, 4)
print(accuracy_score(labels, model.predict(data) > 0.5))
"""


def test_run_when_script_reports_on_its_predictions_then_the_record_has_it(script, configured, forks):
    """Scikit-learn's own function is called, and gives the script what it always does."""
    pytest.importorskip("sklearn")
    script.write_text(REPORTING)
    ended = forks.run_captured(script)
    assert ended.returncode == 0, ended.stderr
    (report,) = create_trial(str(configured)).program.reports
    assert (report.function, report.num_samples) == ("accuracy_score", 80)
    assert float(ended.stdout) == report.num_right / 80
