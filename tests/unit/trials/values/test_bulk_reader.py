"""Reading many values at once gives what reading them one by one gives, damage included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import (
    CorruptRecordError,
    InvalidWorker,
    SMDebugValueError,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from sagemaker_debug_ext.store.format.keys import event_key
from sagemaker_debug_ext.store.format.records import masked_crc
from sagemaker_debug_ext.testing.strategies import arrays, text_arrays
from sagemaker_debug_ext.trials import Trial
from sagemaker_debug_ext.vocabulary import ModeKeys

NAMES = ("a", "b/weight", "c:0")


def same(left, right):
    return (left.shape, left.tolist() if left.dtype.kind == "U" else (left.dtype, left.tobytes())) == (
        right.shape,
        right.tolist() if right.dtype.kind == "U" else (right.dtype, right.tobytes()),
    )


def check(trial, mode, worker):
    together = trial.values(mode=mode, worker=worker)
    for name in trial.tensor_names(mode=mode):
        tensor = trial.tensor(name)
        expected = {}
        for step in tensor.steps(mode):
            try:
                expected[step] = tensor.value(step, mode, worker)
            except (InvalidWorker, TensorUnavailableForStep):
                continue
        assert list(together[name]) == list(expected)
        for step, value in expected.items():
            assert isinstance(together[name][step], np.ndarray)
            assert same(together[name][step], value)
            assert not together[name][step].flags.writeable
        if set(expected) == set(tensor.steps(mode)):
            assert list(tensor.values(mode, worker)) == list(expected)
            assert all(same(value, expected[step]) for step, value in tensor.values(mode, worker).items())


@st.composite
def plans(draw):
    """Draw what a job writes, by step: some steps are alike and others not."""
    workers = [f"worker_{rank}" for rank in range(draw(st.integers(1, 3)))]
    usual = draw(st.dictionaries(st.sampled_from(NAMES), arrays() | text_arrays(), min_size=1))
    step, plan = 0, []
    for number in range(draw(st.integers(0, 14))):
        step += draw(st.sampled_from([1, 1, 1, 130, 20_000]))
        odd = draw(st.integers(0, 5)) == 0
        tensors = draw(st.dictionaries(st.sampled_from(NAMES), arrays(), min_size=1)) if odd else usual
        writing = draw(st.sets(st.sampled_from(workers), min_size=1))
        mode = draw(st.sampled_from([ModeKeys.TRAIN, ModeKeys.TRAIN, ModeKeys.EVAL]))
        rolled = {name: np.roll(value, number) for name, value in tensors.items()}
        plan.append((step, rolled, mode, number, sorted(writing)))
    return workers, plan


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plan=plans())
def test_values_when_read_together_then_as_one_by_one(new_job, plan):
    """Whatever tensors, steps, modes and workers there are, both ways give the same arrays in the same order."""
    workers, writes = plan
    job = new_job(num_workers=len(workers)).write_collections()
    for step, tensors, mode, mode_step, writing in writes:
        job.write(step, tensors, mode=mode, mode_step=mode_step, workers=writing)
    job.end()
    for mode in (ModeKeys.GLOBAL, ModeKeys.TRAIN, ModeKeys.EVAL):
        for worker in (None, *workers):
            check(Trial("trial", job.backend), mode, worker)


@pytest.fixture
def job(new_job):
    job = new_job().write_collections()
    for step in range(10):
        job.write(step, {"w": np.full((2, 3), step, np.float32), "loss": [step / 2], "x": [1] * (step + 1)})
    return job


def damage(job, step, place, byte=None):
    key = event_key(step, "worker_0")
    content = bytearray(job.backend.read(key))
    if byte is None:
        content = content[:place]
    else:
        content[place] ^= byte
    job.backend.write(key, (bytes(content),))


def test_values_when_one_record_is_damaged_then_that_one_is_named(job, open_trial):
    """The others are read; asking for all of them raises for the damaged one, as asking for it alone does."""
    damage(job.end(), 4, 3, 0x01)
    trial = open_trial(job)
    with pytest.raises(CorruptRecordError, match="000000000004_worker_0"):
        trial.values(["w"])
    with pytest.raises(CorruptRecordError, match="000000000004_worker_0"):
        trial.tensor("w").values()
    assert list(trial.values(["loss"])["loss"]) == list(range(10))
    assert len(trial.values(["w"], steps=[1, 2, 3, 5, 6])["w"]) == 5
    assert [problem.path for problem in trial.problems()] == [f"{trial.path}/{event_key(4, 'worker_0')}"]


def test_values_when_a_file_is_cut_off_or_gone_then_the_rest_is_read(job, open_trial):
    """Values of a damaged or missing file are an error, and those of other files are read."""
    damage(job.end(), 2, 100)
    job.backend.delete(event_key(7, "worker_0"))
    trial = open_trial(job)
    with pytest.raises(CorruptRecordError, match="cut off"):
        trial.values(["x"])
    with pytest.raises(TensorUnavailableForStep, match="step 7"):
        trial.values(["w"], steps=[6, 7])
    steps = [0, 1, 3, 4, 5, 6, 8, 9]
    assert trial.tensor("w").stack(steps=steps)[:, 0, 0].tolist() == steps
    assert len(trial.problems()) == 2


def test_records_with_true_checksums_when_read_together_then_each_is_checked(job, open_trial):
    """A flipped bit of a content is found where a checksum of it is there, in bulk as well."""
    for step in range(10):
        key = event_key(step, "worker_0")
        content = bytearray(job.backend.read(key))
        trial = open_trial(job)
        for name in ("w", "loss", "x"):
            location = trial.index_reader.find(name, step, ModeKeys.GLOBAL)["worker_0"].value.location
            end = location.start + location.length
            payload = bytes(content[location.start + 12 : end - 4])
            content[end - 4 : end] = masked_crc(payload).to_bytes(4, "little")
        job.backend.write(key, (bytes(content),))
    assert open_trial(job.end()).tensor("w").stack()[:, 1, 2].tolist() == list(range(10))
    location = trial.index_reader.find("w", 5, ModeKeys.GLOBAL)["worker_0"].value.location
    damage(job, 5, location.start + location.length - 60, 0x10)
    with pytest.raises(CorruptRecordError):
        open_trial(job).values(["w"])


def test_stack_when_alike_then_one_array(job, open_trial):
    """The first axis is of the steps, which can be selected by mode and number."""
    trial = open_trial(job.end())
    weight = trial.tensor("w")
    assert weight.stack().shape == (10, 2, 3)
    assert weight.stack(ModeKeys.TRAIN, steps=[3, 1])[:, 0, 0].tolist() == [3, 1]
    assert not weight.stack().flags.writeable
    assert {name: stack.shape for name, stack in trial.stack(["w", "loss"]).items()} == {
        "w": (10, 2, 3),
        "loss": (10, 1),
    }


@pytest.mark.parametrize(
    ("name", "options", "error", "match"),
    [
        ("x", {}, SMDebugValueError, r"step 0: int64 \(1,\), step 1: int64 \(2,\)"),
        ("w", {"steps": []}, SMDebugValueError, "no values"),
        ("w", {"steps": [0, 99]}, StepUnavailable, "99"),
    ],
    ids=["other shapes", "no steps", "a missing step"],
)
def test_stack_when_there_is_no_one_array_then_refuses(job, open_trial, name, options, error, match):
    """Values of different shapes, no values and steps without a value are not stacked."""
    with pytest.raises(error, match=match):
        open_trial(job.end()).tensor(name).stack(**options)


def test_values_at_when_asked_then_one_step_of_many_tensors(job, open_trial):
    """All tensors of a step come with one reading of its file."""
    trial = open_trial(job.end())
    found = trial.values_at(3)
    assert {name: value.shape for name, value in found.items()} == {"w": (2, 3), "loss": (1,), "x": (4,)}
    assert list(trial.values_at(3, ["loss"], ModeKeys.TRAIN)) == ["loss"]
    assert trial.values_at(3, ["loss"], worker="worker_0")["loss"] == 1.5
    assert trial.values_at(99) == {}
    with pytest.raises(TensorUnavailable):
        trial.values(["none"])


def test_tensor_when_sliced_or_gone_through_then_by_steps(job, open_trial):
    """Bounds are steps; the order is ascending; reading ahead changes nothing."""
    loss = open_trial(job.end()).tensor("loss")
    assert loss[4] == 2.0
    assert list(loss[3:7]) == [3, 4, 5, 6]
    assert list(loss[:8:3]) == [0, 3, 6]
    assert [step for step, _ in loss] == list(range(10))
    for read_ahead in (1, 3, 10, 50):
        items = list(loss.items(ModeKeys.TRAIN, begin=2, end=9, read_ahead=read_ahead))
        assert [(step, value.item()) for step, value in items] == [(step, step / 2) for step in range(2, 9)]
    stopped = loss.items(read_ahead=2)
    assert next(stopped)[0] == 0
    stopped.close()


# --- steps of many tensors ------------------------------------------------------------------------------------------


@st.composite
def wide_tensors(draw):
    """Draw the tensors of one step: many names, of few lengths, with values of few kinds."""
    kinds = draw(st.lists(arrays() | text_arrays(), min_size=1, max_size=4))
    bases = draw(st.lists(st.sampled_from(["layer", "b", "größe", "\udc80x"]), min_size=1, max_size=3, unique=True))
    count = draw(st.integers(2, 24))
    chosen = draw(st.lists(st.integers(0, len(kinds) - 1), min_size=count, max_size=count))
    return {f"{bases[number % len(bases)]}/{number}": kinds[chosen[number]] for number in range(count)}


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tensors=wide_tensors(), num_steps=st.integers(1, 6), step_size=st.sampled_from([1, 70, 9_000]))
def test_values_when_a_step_is_wide_then_as_one_by_one(new_job, tensors, num_steps, step_size):
    """Tensors that share a template give their own values, whatever their names, dtypes and shapes are."""
    tensors = {
        name: value
        for name, value in tensors.items()
        if value.ndim == 0 or "\udc80" not in name  # axes are named after the tensor, in plain UTF-8
    } or {"a": np.float32(1)}
    job = new_job().write_collections()
    for number in range(num_steps):
        rolled = {name: np.roll(value, number) for name, value in tensors.items()}
        job.write(number * step_size, rolled, mode=ModeKeys.TRAIN, mode_step=number)
    job.end()
    for mode in (ModeKeys.GLOBAL, ModeKeys.TRAIN):
        check(Trial("trial", job.backend), mode, None)
    step = (num_steps - 1) * step_size
    trial = Trial("trial", job.backend)
    at_step = trial.values_at(step)
    assert all(same(at_step[name], trial.tensor(name).value(step)) for name in trial.tensor_names(step=step))


NUM_WIDE = 300


@pytest.fixture
def wide_job(new_job):
    job = new_job().write_collections()
    for step in range(3):
        job.write(step, {f"layer{number:03}": np.float32(1000 * step + number) for number in range(NUM_WIDE)})
    return job.end()


def test_values_when_a_step_is_wide_then_few_records_are_decoded_field_by_field(wide_job, open_trial, monkeypatch):
    """Tensors whose records are alike share a template; the time for a step does not grow by a template each."""
    trial = open_trial(wide_job)
    decoder = trial.index_reader.events.decoder
    decoded = []
    decode = decoder.decode
    monkeypatch.setattr(
        decoder, "decode", lambda record, name, where: (decoded.append(name), decode(record, name, where))[1]
    )
    values = trial.values()
    assert decoded == ["layer000"] * 2  # step 0 is stored without its number, so that its records are shorter
    assert all(values[f"layer{number:03}"][step] == 1000 * step + number for number in range(300) for step in range(3))
    assert trial.values_at(1)["layer007"] == 1007
    assert len(decoded) == 2  # the template is known by now


@pytest.mark.parametrize("place", ["framing", "name", "dtype", "footer"])
@pytest.mark.parametrize("number", [0, 150])
def test_values_when_one_record_of_a_wide_step_is_damaged_then_that_one_is_named(wide_job, open_trial, place, number):
    """A shared template hides no damage, be it in the first record, which makes the template, or in another."""
    name = f"layer{number:03}"
    trial = open_trial(wide_job)
    start, length = trial.index_reader.find(name, 1, ModeKeys.GLOBAL)["worker_0"].value.location
    content = trial.index_reader.events.backend.read(event_key(1, "worker_0"))
    at_name = bytes(content).index(name.encode(), start)
    damage(
        wide_job, 1, {"framing": start, "name": at_name, "dtype": at_name + 11, "footer": start + length - 1}[place], 1
    )
    trial = open_trial(wide_job)
    with pytest.raises(CorruptRecordError, match=f"worker_0.tfevents at byte {start}:"):
        trial.values()
    others = [f"layer{other:03}" for other in range(NUM_WIDE) if other != number]
    assert trial.values(others)["layer299"][1] == 1299
    assert trial.values([name], steps=[0, 2])[name][2] == 2000 + number


def test_values_when_records_of_a_wide_step_are_swapped_then_refused(wide_job, open_trial):
    """A record under the name of another tensor is not returned as that tensor's value."""
    first, second = (
        open_trial(wide_job).index_reader.find(name, 1, ModeKeys.GLOBAL)["worker_0"].value.location
        for name in ("layer100", "layer200")
    )
    content = bytearray(wide_job.backend.read(event_key(1, "worker_0")))
    records = [bytes(content[start : start + length]) for start, length in (first, second)]
    for (start, length), record in zip((first, second), reversed(records), strict=True):
        content[start : start + length] = record
    wide_job.backend.write(event_key(1, "worker_0"), (bytes(content),))
    trial = open_trial(wide_job)
    with pytest.raises(CorruptRecordError, match="holds tensor 'layer200', the index says 'layer100'"):
        trial.values(["layer099", "layer100", "layer101", "layer102"])
    assert trial.values(["layer099", "layer101", "layer102", "layer103"])["layer101"][1] == 1101
