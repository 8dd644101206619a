"""Statistics beside the reductions."""

import json

import numpy as np
import pytest

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.hooks.statistics.summaries import compute_statistics
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import STATISTICS


def test_compute_statistics_when_values_are_odd_then_counts_them():
    """Zeros, and what is not finite, are counted; the largest magnitude has no sign."""
    found = compute_statistics(np.array([0.0, -0.0, -3.0, np.nan, np.inf]), ("zero_fraction", "nonfinite"))
    assert found == {"zero_fraction": 0.4, "nonfinite": 2}
    assert compute_statistics(np.array([1, -3]), ("abs_max",)) == {"abs_max": 3}
    limits, counts = compute_statistics(np.array([1.0, 1.0, -2.0]), ("histogram",))["histogram"]
    assert counts.sum() == 3
    assert (np.diff(limits) > 0).all()


@pytest.mark.parametrize("array", [np.zeros(0), np.array(["a"])], ids=str)
def test_compute_statistics_when_there_are_no_numbers_then_there_are_none(array):
    """Nothing is made up."""
    assert compute_statistics(array, STATISTICS) == {}


def test_hook_when_statistics_are_wanted_then_are_saved_as_reductions(make_hook):
    """They stand beside value and reductions of everything but scalars."""
    hook = make_hook(include_collections=["gradients"], statistics=["zero_fraction", "histogram"])
    hook.run_step({"loss": 1.0, "gradient/w": np.array([0.0, 1.0])})
    hook.close()
    trial = create_trial(hook.out_dir)
    assert trial.tensor_names() == ["gradient/w", "loss"]
    saved = trial.tensor("gradient/w").reduction_values(0)
    assert saved["zero_fraction", False] == 0.5
    assert saved["histogram", False].shape[0] == 2
    assert trial.tensor("loss").reduction_values(0) == {}


def test_create_from_json_file_when_it_names_statistics_then_takes_them(hook_class, tmp_path):
    """The file may ask for them; a misspelt one is refused with the nearest name."""
    content = {"LocalPath": str(tmp_path / "out"), "HookParameters": {"statistics": "nonfinite, abs_max"}}
    (tmp_path / "hook.json").write_text(json.dumps(content))
    hook = hook_class.create_from_json_file(str(tmp_path / "hook.json"))
    assert hook.statistics == ("nonfinite", "abs_max")
    hook.close()
    content["HookParameters"]["statistics"] = "nonfinit"
    (tmp_path / "hook.json").write_text(json.dumps(content))
    with pytest.raises(SMDebugValueError, match="did you mean 'nonfinite'"):
        hook_class.create_from_json_file(str(tmp_path / "hook.json"))
