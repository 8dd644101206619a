"""DuplicateBatches fires when training sees few different batches, or few different samples in them."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.extra.data import duplicate_batches
from sagemaker_debug_ext.store.format.keys import program_key
from sagemaker_debug_ext.store.format.program import ProgramRecord
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from support.rule_trials import EVAL, TRAIN, MemoryJob, first_cause, steps_of, steps_with

RNG = np.random.default_rng(0)


def test_few_different_batches_fire(run_rule):
    """Three different batches of ten fire, four do not, and a gap between steps resets the window."""
    batches = [RNG.normal(size=(4, 3)) for _ in range(4)]
    for number, fires in ((3, True), (4, False)):
        values = [batches[step % number] for step in range(10)]
        assert bool(run_rule("DuplicateBatches", steps_with("Net_input_0", values))) == fires
    gaps = {(TRAIN, 2 * step): {"Net_input_0": batches[0]} for step in range(20)}
    assert run_rule("DuplicateBatches", gaps) == []


def test_batches_of_one_sample_fire(run_rule):
    """Batches that repeat one sample fire, even if each batch is another one."""
    rng = np.random.default_rng(0)
    values = [np.tile(rng.normal(size=6), (8, 1)) for _ in range(10)]
    (issue,) = run_rule("DuplicateBatches", steps_with("Net_input_0", values))
    assert "samples in a batch" in issue.message


@pytest.mark.parametrize(("num_before", "cause"), [(0, "inputs"), (5, "sampling")])
def test_message_when_all_samples_have_ever_been_equal_then_says_so(run_rule, num_before, cause):
    """The order of the data does not explain it, unless samples have become fewer, as by a shuffle that overwrites."""
    before = [np.random.default_rng(step).normal(size=(8, 6)) for step in range(num_before)]
    issues = run_rule("DuplicateBatches", steps_with("Net_input_0", [*before, *[np.ones((8, 6))] * 12]))
    assert ("all samples are equal" in issues[-1].message) == (num_before == 0)
    assert first_cause(issues) == cause


@pytest.mark.parametrize("same", [True, False])
def test_workers_must_not_see_the_same_batches(tmp_path, run_rule, same):
    """Workers that see the same batches fire, once they did for a whole window."""
    rng = np.random.default_rng(0)
    job = SmallTrial(tmp_path / "job", ("worker_0", "worker_1"))
    for step in range(10):
        batch, other = rng.normal(size=(2, 8, 6))
        job.write(TRAIN, step, {"Net_input_0": batch}, global_step=step, worker="worker_0")
        job.write(TRAIN, step, {"Net_input_0": batch if same else other}, global_step=step, worker="worker_1")
    job.end()
    issues = run_rule("DuplicateBatches", create_trial(str(tmp_path / "job")))
    assert bool(issues) == same


@pytest.mark.parametrize(("kinds", "repeats", "fires"), [(5, 1, False), (400, 20, True), (1, 1, True)])
def test_samples_may_be_of_few_kinds(run_rule, kinds, repeats, fires):
    """Samples of few kinds may come again in each batch, unless they are repeated within one batch."""
    rng = np.random.default_rng(0)
    steps = []
    for _ in range(12):
        rows = np.repeat(rng.integers(0, kinds, 40 // repeats), repeats)
        steps.append({"Net_input_0": np.eye(kinds)[rng.permutation(rows)]})
    assert bool(run_rule("DuplicateBatches", steps_of(steps))) == fires


@pytest.mark.parametrize(
    ("kinds", "num_evaluated", "earlier", "unless_all", "fires"),
    [
        (2, 21, 0, True, True),
        (2, 20, 0, True, False),
        (2, 21, 0, False, False),
        (2, 21, 9, True, False),
        (10, 150, 0, True, False),
        (5, 150, 5, True, True),
        (5, 150, 6, True, False),
    ],
    ids=["few", "evaluation", "not asked", "more before", "share of a batch", "ten in all", "eleven in all"],
)
def test_few_kinds_of_samples_fire_where_evaluation_has_many_more(
    run_rule, kinds, num_evaluated, earlier, unless_all, fires
):
    """A sampler that draws two samples for ever is told from positions on a board, which evaluation repeats as well."""
    samples = np.random.default_rng(0).normal(size=(num_evaluated, 5))
    steps = {(EVAL, 0): {"Net_input_0": samples}, (TRAIN, 0): {"Net_input_0": samples[kinds : kinds + earlier]}}
    batch = np.arange(32) % kinds
    for step in range(1 if earlier else 0, 14):
        steps[TRAIN, step] = {"Net_input_0": samples[np.random.default_rng(step).permutation(batch)]}
    assert bool(run_rule("DuplicateBatches", steps, unless_all=unless_all)) == fires


@pytest.mark.parametrize(("size", "fires"), [(199, True), (200, False)])
def test_a_large_batch_may_be_all_data(run_rule, size, fires):
    """A batch of 200 samples may be the whole data set, so the same batch at each step is tolerated."""
    batch = np.random.default_rng(0).normal(size=(size, 3))
    assert bool(run_rule("DuplicateBatches", steps_of([{"Net_input_0": batch}] * 12))) == fires


@pytest.mark.parametrize(("size", "fires"), [(30, False), (60, True)])
def test_few_batches_may_be_all_data(run_rule, size, fires):
    """With `unless_all`, the same batch again is tolerated if evaluation has no more samples than it."""
    rng = np.random.default_rng(0)
    batch = rng.normal(size=(40, 5))
    steps = {(EVAL, 0): {"Net_input_0": rng.normal(size=(size, 5))}}
    steps |= steps_of([{"Net_input_0": batch}] * 12)
    assert bool(run_rule("DuplicateBatches", steps, unless_all=True)) == fires


def test_samples_of_evaluation_are_kept_up_to_a_limit(make_trial, monkeypatch):
    """Hashes of evaluation samples are kept up to a limit, which bounds the memory of a job that augments them."""
    monkeypatch.setattr(duplicate_batches, "MAX_KEPT", 100)
    rng = np.random.default_rng(0)
    trial = make_trial({(EVAL, step): {"Net_input_0": rng.normal(size=(40, 5))} for step in range(9)})
    rule = create_rule("DuplicateBatches", trial, {"unless_all": True})
    list(evaluate([rule], trial))
    assert len(rule._of_evaluation["Net_input_0"]) == 120


def loader_trial(num_workers, is_pair, learns=True):
    """Return a trial whose batches come in pairs or not, and whose record has a number of loading processes."""
    rng, job = np.random.default_rng(0), MemoryJob()
    for step in range(24):
        if step == 0 or not (is_pair and step % 2):
            batch = rng.normal(size=(8, 6))
        weight = np.ones((2, 2)) * (step if learns else step // 2)
        job.write(TRAIN, step, {"Net_input_0": batch, "Net_fc.weight": weight})
    record = ProgramRecord(framework="PyTorch", num_workers=num_workers)
    job.backend.write(program_key("worker_0"), (record.to_json().encode(),))
    job.end()
    return job.open()


@pytest.mark.parametrize(
    ("num_workers", "is_pair", "learns", "fires"),
    [
        (2, True, True, True),
        (2, False, True, False),
        (0, True, True, False),  # one process draws no number twice, so the script does
        (None, True, True, False),
        (2, True, False, False),  # two passes for each update
    ],
)
def test_processes_that_draw_the_same_numbers_fire(run_rule, num_workers, is_pair, learns, fires):
    """Batches in pairs fire if several processes load them, and an update lies between."""
    issues = run_rule("DuplicateBatches", loader_trial(num_workers, is_pair, learns), window=20, max_share_percent=20)
    assert bool(issues) == fires
    assert all("draw the same random numbers" in issue.message for issue in issues)


@pytest.mark.parametrize(("num_kinds", "fires"), [(4, False), (2, True)])
def test_an_order_that_each_epoch_repeats_is_no_fault(run_rule, num_kinds, fires):
    """Epochs of four batches in the same order have them all; of two batches, each comes twice."""
    kinds = RNG.normal(size=(num_kinds, 8, 6))
    steps = steps_of(
        {"Net_input_0": kinds[step % num_kinds], "batch": np.array([step % 4]), "loss": 1.0} for step in range(40)
    )
    issues = run_rule("DuplicateBatches", steps, window=20, max_share_percent=20, unless_all=True)
    assert bool(issues) == fires


@pytest.mark.parametrize(("num_kinds", "epoch", "fires"), [(2, 2, False), (1, 1, True), (2, 4, True)])
def test_the_batches_of_an_epoch_may_be_all_data_although_evaluation_has_more(run_rule, num_kinds, epoch, fires):
    """A table of few rows may be tested on many; a generator that repeats itself has a batch, or more in an epoch."""
    kinds = RNG.normal(size=(num_kinds, 8, 6))
    steps = steps_of({"Net_input_0": kinds[i % num_kinds], "batch": np.array([i % epoch])} for i in range(21))
    steps |= steps_of([{"Net_input_0": RNG.normal(size=(90, 6))}], EVAL)
    steps[TRAIN, 21] = {"Net_input_0": kinds[-1], "batch": np.array([21 % epoch])}
    issues = run_rule("DuplicateBatches", steps, window=20, max_share_percent=20, unless_all=True)
    assert bool([issue for issue in issues if issue.step > 21]) == fires


@pytest.mark.parametrize("size", [32, 300])
@pytest.mark.parametrize(("index", "fires"), [(0, False), (7, True)])
def test_a_batch_that_is_one_of_several_is_not_all_data(run_rule, index, fires, size):
    """Keras counts the batches of an epoch, which a generator may fill with the same samples for ever."""
    tensors = {"Net_input_0": RNG.normal(size=(size, 6)), "batch": np.array([index])}
    assert bool(run_rule("DuplicateBatches", steps_of([tensors] * 10), unless_all=True)) == fires
