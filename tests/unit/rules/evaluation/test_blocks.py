"""Many steps looked at together give what looking at each gives."""

from __future__ import annotations

import math
import os
import sys
import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.builtin_rule import TensorRule
from sagemaker_debug_ext.rules.evaluation import blocks as blocks_module
from sagemaker_debug_ext.rules.evaluation.blocks import BlockReader
from sagemaker_debug_ext.rules.reading.step_view import StepReader
from sagemaker_debug_ext.rules.sagemaker.tensors.exploding_tensor import ExplodingTensor
from sagemaker_debug_ext.store import reader as reader_module
from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.trials.values import series_summary as digests_module
from sagemaker_debug_ext.vocabulary import ModeKeys

RULES = {
    "vanishing": ("VanishingGradient", {"threshold": 0.5}),
    "exploding": ("ExplodingTensor", {}),
    "only nan": ("ExplodingTensor", {"only_nan": True}),
    "dead": ("DeadRelu", {"tensor_regex": "a", "threshold_inactivity": 30}),
    "saturated": ("SaturatedActivation", {"tensor_regex": "tanh", "threshold_tanh_max": 1, "threshold_layer": 30}),
    "update": ("WeightUpdateRatio", {"large_threshold": 1.5, "small_threshold": 0.1}),
    "zero": ("AllZero", {"tensor_regex": ".*", "threshold": 50}),
    "high variance": ("TensorVariance", {"tensor_regex": ".*", "max_threshold": 0.5}),
    "low variance": ("TensorVariance", {"tensor_regex": ".*", "min_threshold": 0.2}),
    "unchanged": ("UnchangedTensor", {"tensor_regex": ".*", "num_steps": 3}),
    "initialization": ("PoorWeightInitialization", {"activation_inputs_regex": "tanh", "distribution_range": 0.5}),
}
NUMBERS = [0.0, 0.25, 1.0, 1.02, 3.0, -2.0, 1e-25, 3e38, 1e300, math.nan, math.inf]
DTYPES = [np.float32, np.float64, np.float16, np.int32]
NAMES = ("net_weight", "gradient/w", "a_output", "tanh_input")


@st.composite
def arrays(draw):
    """Sound arrays mostly, some with odd values, types and shapes."""
    shape = draw(st.sampled_from([(), (1,), (2, 3), (2, 3), (2, 3), (0, 2), (9, 300)]))
    dtype = draw(st.sampled_from([np.float32, np.float32, *DTYPES]))
    rng = np.random.default_rng(draw(st.integers(0, 3)))
    array = rng.normal(size=shape)
    if array.size and draw(st.booleans()):
        array = array.copy()
        array.reshape(-1)[draw(st.integers(0, array.size - 1))] = draw(st.sampled_from(NUMBERS))
    if draw(st.integers(0, 5)) == 0:
        array = np.full(shape, draw(st.sampled_from(NUMBERS)))
    with np.errstate(all="ignore"):
        return array.astype(dtype) if dtype is not np.int32 else np.nan_to_num(array).astype(dtype)


STEPS = st.lists(
    st.tuples(
        st.sampled_from([ModeKeys.TRAIN, ModeKeys.TRAIN, ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.GLOBAL]),
        st.dictionaries(st.sampled_from(NAMES), arrays()),
        st.booleans(),
    ),
    max_size=12,
)


def write(folder, steps):
    writer = SmallTrial(folder)
    mode_steps = dict.fromkeys(ModeKeys, 0)
    for number, (mode, tensors, only_reductions) in enumerate(steps):
        saved = tensors
        if only_reductions and number % 3 == 0:
            saved = {reduction_tensor_name(name, "mean", True): 1.0 for name in tensors}
        writer.write(mode, number if mode is ModeKeys.GLOBAL else mode_steps[mode], saved)
        mode_steps[mode] += 1
    writer.end()


def run_rule(folder):
    trial = create_trial(folder, index_cache=False)
    rules = {key: create_rule(name, trial, parameters) for key, (name, parameters) in RULES.items()}
    evaluation = evaluate(rules, trial, clock=lambda: 0.0)
    issues = [issue.to_json() for issue in evaluation]
    return issues, evaluation.statuses


@pytest.mark.parametrize(
    ("small_bytes", "room_bytes", "is_remote"),
    [
        (blocks_module._SMALL_BYTES, 64, False),
        (blocks_module._SMALL_BYTES, 2**20, False),
        (0, 64, False),
        (0, 2**20, False),
        (0, 2**20, True),
    ],
)
@settings(max_examples=25)
@given(STEPS)
def test_issues_and_statuses_are_those_of_judging_each_step(small_bytes, room_bytes, is_remote, steps):
    """However many steps are looked at together, however large the tensors are taken to be, and wherever they are."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        write(folder, steps)
        patch.setattr(LocalBackend, "is_remote", is_remote)
        patch.setattr(reader_module, "_WHOLE_FILE_BYTES_REMOTE", 0)
        patch.setattr(blocks_module, "_SMALL_BYTES", small_bytes)
        patch.setattr(blocks_module, "_THREADED_BYTES", 1000)
        patch.setattr(digests_module, "_ROOM_BYTES", room_bytes)
        patch.setattr(blocks_module, "BLOCK_BYTES", 4000)
        found = run_rule(folder)
        patch.setattr(TensorRule, "can_screen", property(lambda self: False))
        assert found == run_rule(folder)
        assert all(status.status != "Error" for status in found[1])


def test_sound_steps_are_not_evaluated_one_by_one(tmp_path, monkeypatch):
    """That is the point of it."""
    rng = np.random.default_rng(0)
    tensors = [{"gradient/w": rng.normal(size=(8, 8)), "net_weight": rng.normal(size=(8, 8))} for _ in range(9)]
    write(tmp_path, [(ModeKeys.TRAIN, tensors_of_step, False) for tensors_of_step in tensors])
    measured = []
    for name in ("VanishingGradient", "ExplodingTensor", "WeightUpdateRatio"):
        trial = create_trial(str(tmp_path))
        rule = create_rule(name, trial)
        monkeypatch.setattr(rule, "measure", lambda *_: measured.append(1))
        evaluate([rule], trial).run()
    assert len(measured) == 1  # of the first weight there is no earlier one


def test_a_large_tensor_of_which_nothing_can_be_told_harms_nobody(tmp_path, monkeypatch):
    """The rule that evaluates it step by step reads it then; what is known of other tensors is known all the same."""
    monkeypatch.setattr(blocks_module, "_SMALL_BYTES", 100)
    tensors = {"images": np.ones((8, 3, 4, 4)), "gradient/w": np.ones((8, 8))}
    write(tmp_path, [(ModeKeys.TRAIN, tensors, False)] * 3)
    trial = create_trial(str(tmp_path))
    gradients = create_rule("VanishingGradient", trial)
    measured = []
    monkeypatch.setattr(gradients, "measure", lambda *_: measured.append(1))
    images = create_rule("CheckInputImages", trial, {"regex": "images", "threshold_samples": 8})
    assert [issue.step for issue in evaluate([gradients, images], trial)] == [0, 1, 2]
    assert not measured


def test_a_large_value_is_compared_with_the_one_before_the_block(tmp_path, monkeypatch):
    """Even if files of the block before are laid out in turns, so that it was not read last there."""
    monkeypatch.setattr(blocks_module, "_SMALL_BYTES", 0)
    monkeypatch.setattr(blocks_module, "_THREADED_BYTES", 0)
    monkeypatch.setattr(blocks_module, "num_threads", lambda: 1)  # so that the block before is known in time
    monkeypatch.setattr(blocks_module, "BLOCK_STEPS", 4)
    numbers = [0, 1, 2, 3, 3, 5]
    tensors = [{"x": np.arange(50.0) + number} | ({"y": 0.0} if number in (1, 3) else {}) for number in numbers]
    write(tmp_path, [(ModeKeys.TRAIN, tensors_of_step, False) for tensors_of_step in tensors])
    trial = create_trial(str(tmp_path))
    rule = create_rule("UnchangedTensor", trial, {"tensor_regex": "x", "num_steps": 2})
    assert [issue.step for issue in evaluate([rule], trial)] == [4]


def small_differences(shape, number):
    rng = np.random.default_rng(number)
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("is_other", ["sound", "gone", "cut off", "damaged", "of another shape", "of another type"])
def test_a_range_of_steps_that_begins_after_any_value_is_evaluated_like_all_steps(tmp_path, is_other):
    """The value before it is compared with if that can be; if not, the first step is evaluated in the usual way."""
    tensors = [{"net_weight": small_differences((200, 100), step)} for step in range(9)]
    if is_other == "of another shape":
        tensors[4] = {"net_weight": tensors[4]["net_weight"].reshape(100, 200)}
    if is_other == "of another type":
        tensors[4] = {"net_weight": np.ones((200, 100), np.int32)}
    write(tmp_path, [(ModeKeys.TRAIN, tensors_of_step, False) for tensors_of_step in tensors])
    (event_file,) = list((tmp_path / "events").rglob("000000000004_worker_0.tfevents"))
    if is_other == "gone":
        event_file.unlink()
    if is_other == "cut off":
        event_file.write_bytes(event_file.read_bytes()[:5000])
    if is_other == "damaged":
        event_file.write_bytes(b"\0" * event_file.stat().st_size)
    trial = create_trial(str(tmp_path), index_cache=False)
    measured = []
    rule = create_rule("WeightUpdateRatio", trial, {"large_threshold": 5})
    rule.measure = lambda view, _: measured.append(view.step)
    evaluate([rule], trial, start_step=5).run()
    assert measured == ([] if is_other == "sound" else [5])


def test_what_an_unreadable_value_before_a_range_hides_is_found_in_it(tmp_path):
    """A record of the length of an earlier one, with another shape, says nothing of the steps that follow."""
    shapes = [(200, 100), (200, 100), (100, 300), (100, 300), (100, 200)]
    values = [small_differences(shape, number) for number, shape in enumerate(shapes)]
    values[2] /= 1000
    write(tmp_path, [(ModeKeys.TRAIN, {"net_weight": value}, False) for value in values])
    for start_step in (0, 2, 3):
        trial = create_trial(str(tmp_path), index_cache=False)
        rule = create_rule("WeightUpdateRatio", trial)
        assert [issue.step for issue in evaluate([rule], trial, start_step=start_step)] == [3]


def test_threads_that_remember_last_values_do_not_disturb_each_other(tmp_path, monkeypatch):
    """One block's threads come to an end while the next one's are at work."""
    monkeypatch.setattr(blocks_module, "_SMALL_BYTES", 0)
    monkeypatch.setattr(blocks_module, "_THREADED_BYTES", 0)
    monkeypatch.setattr(blocks_module, "num_threads", lambda: 4)
    monkeypatch.setattr(blocks_module, "BLOCK_STEPS", 2)
    tensors = [{f"w{number}_weight": np.full(9, float(step)) for number in range(100)} for step in range(1, 21)]
    write(tmp_path, [(ModeKeys.TRAIN, tensors_of_step, False) for tensors_of_step in tensors])
    trial = create_trial(str(tmp_path))
    rule = create_rule("WeightUpdateRatio", trial)
    measured = []
    monkeypatch.setattr(rule, "measure", lambda view, name: measured.append(view.step))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        evaluate([rule], trial).run()
    finally:
        sys.setswitchinterval(interval)
    assert all(step % 2 == 0 for step in measured)  # the first one of a block may have to be


def test_a_subclass_that_measures_in_its_own_way_evaluates_each_step(tmp_path):
    """What its parent knows of steps is not what it looks for."""

    class Strict(ExplodingTensor):
        def measure(self, view, name):
            reading = super().measure(view, name)
            return type(reading)(value=1.0, fires=True)

    write(tmp_path, [(ModeKeys.TRAIN, {"x": np.ones(3)}, False)])
    trial = create_trial(str(tmp_path))
    assert not Strict(trial).can_screen
    assert [issue.step for issue in evaluate([Strict(trial)], trial)] == [0]


def test_blocks_end_where_the_evaluation_ends(tmp_path):
    """Nothing is read that nobody asked to be evaluated."""
    write(tmp_path, [(ModeKeys.TRAIN, {"x": np.ones(3)}, False)] * 6)
    trial = create_trial(str(tmp_path))
    block = BlockReader(StepReader(trial), end_step=4).at(1, [create_rule("ExplodingTensor", trial)])
    assert block.steps == [1, 2, 3]


@pytest.mark.parametrize(("dtype", "num_steps"), [(np.float32, 6), (np.float16, 2)])
def test_blocks_end_where_too_much_would_be_kept(tmp_path, monkeypatch, dtype, num_steps):
    """Values that can be gone through are not, however large."""
    monkeypatch.setattr(blocks_module, "_SMALL_BYTES", 100)
    monkeypatch.setattr(blocks_module, "_KEPT_BYTES", 5000)
    write(tmp_path, [(ModeKeys.TRAIN, {"x": np.ones(1000, dtype)}, False)] * 7)
    trial = create_trial(str(tmp_path))
    trial.tensor("x").value(1)  # tells how the others are laid out
    block = BlockReader(StepReader(trial)).at(1, [create_rule("ExplodingTensor", trial)])
    assert len(block.steps) == num_steps


def test_a_damaged_tensor_is_the_error_of_the_rules_that_need_it(tmp_path):
    """Reading ahead hides nothing, and the other rules go on."""
    write(tmp_path, [(ModeKeys.TRAIN, {"gradient/w": np.ones(3), "loss": 1.0}, False)] * 3)
    (event_file,) = list((tmp_path / "events").rglob("000000000001_worker_0.tfevents"))
    event_file.write_bytes(b"\0" * event_file.stat().st_size)
    trial = create_trial(str(tmp_path))
    rules = [create_rule(name, trial) for name in ("VanishingGradient", "DeadRelu")]
    evaluation = evaluate(rules, trial)
    evaluation.run()
    assert [status.status for status in evaluation.statuses] == ["Error", "NoIssuesFound"]


@pytest.mark.parametrize("method", ["screen", "needs"])
def test_a_rule_that_cannot_look_ahead_harms_nobody(tmp_path, method):
    """Steps are evaluated one by one then, and the rule meets its own errors only."""

    def fail(*_):
        raise ZeroDivisionError

    broken = type("Broken", (ExplodingTensor,), {method: fail})
    write(tmp_path, [(ModeKeys.TRAIN, {"gradient/w": np.full(3, np.nan)}, False)] * 2)
    trial = create_trial(str(tmp_path))
    rules = {"broken": broken(trial), "sound": create_rule("VanishingGradient", trial)}
    evaluation = evaluate(rules, trial)
    assert [issue.rule for issue in evaluation] == ["broken", "broken"]
    assert [status.status for status in evaluation.statuses] == ["IssuesFound", "NoIssuesFound"]


@pytest.mark.parametrize(
    ("cores", "allowed", "number"),
    [(2, None, 2), (64, None, 4), (8, "1", 1), (8, "3", 3), (2, "3", 2), (8, "2,4", 2), (3, "0", 1), (3, "all", 3)],
)
def test_threads_are_as_many_as_the_process_may_use(monkeypatch, cores, allowed, number):
    """Its cores, and what whoever shares them out allows."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if allowed is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", allowed)
    assert blocks_module.num_threads() == number
