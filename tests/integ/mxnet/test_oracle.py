"""The original library runs with the same MXNet: it reads what the hook writes, and writes the same itself."""

from __future__ import annotations

import importlib
import types
import warnings

import numpy as np
import pytest

import sagemaker_debug_ext.mxnet as smd
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import NORMS, REDUCTIONS

pytest.importorskip("smdebug")
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

COLLECTIONS = ["weights", "biases", "gradients", "conv0_tensors", "blocks"]
PATTERNS = {"conv0_tensors": "conv0.*", "blocks": "hybridsequential|dense|pool|softmax"}


@pytest.fixture(scope="module")
def original():
    """Return what the tests use of the original library."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hooks = importlib.import_module("smdebug.mxnet")
        return types.SimpleNamespace(
            Hook=hooks.Hook,
            SaveConfig=hooks.SaveConfig,
            del_hook=hooks.del_hook,
            create_trial=importlib.import_module("smdebug.trials").create_trial,
            modes=hooks.modes,
        )


class InItsWords:
    """Lets a script speak of this package's modes to the original's hook."""

    def __init__(self, hook, modes):
        self.hook = hook
        self._modes = modes

    def register_block(self, block):
        self.hook.register_block(block)

    def set_mode(self, mode):
        self.hook.set_mode(self._modes[mode.name])


@pytest.fixture
def run_both(original, trainer, tmp_path, monkeypatch):
    """Run one job under each library's hook and return both trials, opened with this package's reader."""
    monkeypatch.delenv("SMDEBUG_CONFIG_FILE_PATH", raising=False)

    def run(job, **arguments):
        trials = []
        for library, folder in ((smd, "ours"), (original, "theirs")):
            hook = library.Hook(
                str(tmp_path / folder),
                save_config=library.SaveConfig(save_interval=2),
                include_collections=COLLECTIONS,
                **arguments,
            )
            for name, pattern in PATTERNS.items():
                hook.get_collection(name).include(pattern)
            job(trainer(hook if library is smd else InItsWords(hook, original.modes)))
            hook.close()
            trials.append(create_trial(str(tmp_path / folder)))
        original.del_hook()
        return trials

    return run


def test_trial_when_same_job_ran_under_the_original_then_is_the_same(run_both):
    """Names, steps, modes and every value are those that the original writes."""
    ours, theirs = run_both(lambda training: training.train(5))
    assert ours.tensor_names() == theirs.tensor_names()
    assert len(ours.tensor_names()) == 21
    assert ours.steps() == theirs.steps() == [0, 2, 4]
    for name in ours.tensor_names():
        left, right = ours.tensor(name).values(smd.modes.TRAIN), theirs.tensor(name).values(smd.modes.TRAIN)
        assert list(left) == list(right), name
        for step, value in left.items():
            assert (value.dtype, value.shape) == (right[step].dtype, right[step].shape)
            np.testing.assert_array_equal(value, right[step], err_msg=f"{name} at step {step}")
    for name in ("weights", "biases", "gradients", "losses", *PATTERNS):
        assert ours.tensor_names(collection=name) == theirs.tensor_names(collection=name)


def test_trial_when_modes_change_then_differs_in_what_the_original_gets_wrong(run_both):
    """Outputs agree; the original loses the parameters of a step that a change of mode follows."""
    ours, theirs = run_both(lambda training: training.train(3).evaluate(1).train(2))
    assert ours.steps() == theirs.steps()
    assert ours.tensor_names() == theirs.tensor_names()
    parameters = ours.tensor_names(regex="weight|bias")
    for name in ours.tensor_names():
        left, right = ours.tensor(name).values(), theirs.tensor(name).values()
        if name not in parameters:
            assert list(left) == list(right)
            assert all(np.array_equal(left[step], right[step]) for step in left)
    assert ours.tensor("conv0_weight").steps() == [0, 2, 3, 5]
    assert theirs.tensor("conv0_weight").steps() == [0, 3, 5]
    assert ours.tensor("gradient/conv0_weight").steps() == [0, 2, 5]
    assert theirs.tensor("gradient/conv0_weight").steps() == [0, 3, 5]


@pytest.mark.parametrize("kind", ["values", "reductions", "hybridised"])
def test_original_when_it_reads_a_trial_then_finds_all_of_it(original, make_hook, trainer, kind):
    """The original's reader agrees with this package's about everything in the trial."""
    everything = smd.ReductionConfig(
        reductions=list(REDUCTIONS), abs_reductions=list(REDUCTIONS), norms=list(NORMS), abs_norms=list(NORMS)
    )
    hook = make_hook(save_all=True, reduction_config=everything if kind == "reductions" else None)
    training = trainer(hook, hybridise={} if kind == "hybridised" else None)
    training.train(3, after_step=lambda: hook.save_scalar("lr", 0.1)).evaluate(2)
    hook.close()
    ours, theirs = create_trial(hook.out_dir), original.create_trial(hook.out_dir)
    assert ours.tensor_names() == theirs.tensor_names()
    assert theirs.loaded_all_steps
    num_values = 0
    for mode in ("TRAIN", "EVAL"):
        assert ours.steps(smd.modes[mode]) == theirs.steps(original.modes[mode])
        for name in theirs.tensor_names(mode=original.modes[mode]):
            left, right = ours.tensor(name), theirs.tensor(name)
            for step in right.steps(original.modes[mode]):
                saved = right.reduction_values(step, original.modes[mode])
                for (reduction, absolute), number in saved.items():
                    mine = left.reduction_value(step, reduction, smd.modes[mode], abs=absolute)
                    np.testing.assert_array_equal(mine, number)
                    num_values += 1
                if not saved:
                    np.testing.assert_array_equal(
                        left.value(step, smd.modes[mode]), right.value(step, original.modes[mode])
                    )
                    num_values += 1
    assert num_values > 80
    for name, collection in theirs.collections().items():
        assert ours.collection(name).to_json_dict() == collection.to_json_dict()
