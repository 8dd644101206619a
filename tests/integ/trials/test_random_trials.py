"""Random trials, written by our writer into memory, against a model: plain dictionaries of what was written."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sagemaker_debug_ext import modes
from sagemaker_debug_ext.errors import (
    InvalidWorker,
    StepNotYetAvailable,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.store.writer import NamedTensor, StepData, TrialWriter
from sagemaker_debug_ext.testing.strategies import arrays, tensor_names, text_arrays
from sagemaker_debug_ext.trials import StepState, Trial
from sagemaker_debug_ext.vocabulary import ModeKeys

MODES = (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT)


@st.composite
def random_trials(draw):
    """Draw what each worker saves: steps with gaps, modes that alternate, workers that miss steps or tensors."""
    num_workers = draw(st.integers(1, 3))
    names = draw(st.lists(tensor_names.filter(lambda name: not name.startswith("smdebug/")), min_size=1, max_size=3))
    counters = dict.fromkeys(MODES, -1)
    step, saved = -1, {}
    for _ in range(draw(st.integers(0, 6))):
        step += draw(st.integers(1, 1500))
        mode = draw(st.sampled_from(MODES))
        counters[mode] += draw(st.integers(1, 3))
        for rank in range(num_workers):
            tensors = draw(st.dictionaries(st.sampled_from(names), arrays() | text_arrays(), max_size=2))
            if tensors:
                saved[step, f"worker_{rank}"] = (mode, counters[mode], tensors)
    return num_workers, saved, draw(st.booleans())


def write(num_workers, saved, ended):
    backend = MemoryBackend()
    writers = {f"worker_{rank}": TrialWriter(backend, f"worker_{rank}") for rank in range(num_workers)}
    for writer in writers.values():
        writer.write_collections([{"name": "all", "include_regex": [".*"]}], num_workers)
    for (step, worker), (mode, mode_step, tensors) in saved.items():
        named = [NamedTensor(name, value, 1.0) for name, value in tensors.items()]
        writers[worker].write_step(StepData(step, mode, mode_step, named))
    if ended:
        writers["worker_0"].end()
    return backend


class Model:
    """What is true of a trial, by looking through everything that was written."""

    def __init__(self, num_workers, saved, ended):
        self.saved = saved
        self.all_steps = sorted({step for step, _ in saved})
        complete = [step for step in self.all_steps if len(self.workers(step)) == num_workers]
        self.last_complete = max(complete, default=-1) if not ended else max(self.all_steps, default=-1)
        self.ended = ended

    def workers(self, step):
        return sorted(worker for other, worker in self.saved if other == step)

    def steps(self, mode, incomplete=False, name=None):
        found = {
            step if mode is ModeKeys.GLOBAL else mode_step
            for (step, _), (other_mode, mode_step, tensors) in self.saved.items()
            if mode in (ModeKeys.GLOBAL, other_mode)
            and (incomplete or step <= self.last_complete)
            and (name is None or name in tensors)
        }
        return sorted(found)

    def at(self, mode, step):
        return {
            worker: tensors
            for (global_step, worker), (other_mode, mode_step, tensors) in sorted(self.saved.items())
            if step == (global_step if mode is ModeKeys.GLOBAL else mode_step) and mode in (ModeKeys.GLOBAL, other_mode)
        }

    def state(self, mode, step):
        if step in self.steps(mode):
            return StepState.AVAILABLE
        settled = any(later > step for later in self.steps(mode))
        first = next((later for later in self.steps(mode, incomplete=True) if later >= step), None)
        if self.ended or (settled and first in self.steps(mode)):
            return StepState.UNAVAILABLE
        return StepState.NOT_YET_AVAILABLE


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], max_examples=40)
@given(random_trials())
def test_random_trial_when_opened_then_answers_as_the_model(drawn):
    """Steps, states, names, workers, values and errors are those of a plain search through what was written."""
    num_workers, saved, ended = drawn
    model = Model(num_workers, saved, ended)
    trial = Trial("random", write(num_workers, saved, ended))
    assert trial.problems() == ()
    assert (trial.num_workers, trial.loaded_all_steps) == (num_workers, ended)
    names = sorted({name for _, _, tensors in saved.values() for name in tensors})
    assert trial.tensor_names() == trial.tensor_names(collection="all") == names
    for mode in modes:
        check_steps(trial, model, mode)
        for name in names:
            check_tensor(trial.tensor(name), model, mode)
    with pytest.raises(TensorUnavailable):
        trial.tensor("smdebug/never written")


def check_steps(trial, model, mode):
    steps = model.steps(mode, incomplete=True)
    assert trial.steps(mode) == model.steps(mode)
    assert trial.steps(mode, show_incomplete_steps=True) == steps
    for step in {0, *steps, *(step + 1 for step in steps)}:
        at_step = model.at(mode, step)
        assert trial.has_passed_step(step, mode) is model.state(mode, step)
        assert trial.tensor_names(step=step, mode=mode) == sorted({n for tensors in at_step.values() for n in tensors})


def check_tensor(tensor, model, mode):
    assert tensor.steps(mode) == model.steps(mode, name=tensor.name)
    assert list(tensor.values(mode)) == tensor.steps(mode)
    for step in model.steps(mode, incomplete=True):
        expected = {w: tensors[tensor.name] for w, tensors in model.at(mode, step).items() if tensor.name in tensors}
        if not expected:
            missing = {StepState.AVAILABLE: TensorUnavailableForStep, StepState.NOT_YET_AVAILABLE: StepNotYetAvailable}
            with pytest.raises(missing[model.state(mode, step)]):
                tensor.value(step, mode)
            continue
        assert tensor.workers(step, mode) == sorted(expected)
        for worker, array in expected.items():
            read = tensor.value(step, mode, worker)
            assert (read.shape, read.tobytes()) == (array.shape, np.ascontiguousarray(array).tobytes()) or (
                read.dtype.kind == "U" and read.tolist() == array.tolist()
            )
            assert read.dtype == array.dtype or read.dtype.kind == array.dtype.kind == "U"
        assert tensor.value(step, mode).tobytes() == tensor.value(step, mode, min(expected)).tobytes()
        with pytest.raises(InvalidWorker):
            tensor.value(step, mode, "worker_9")
    last = max(model.steps(mode, incomplete=True), default=-1)
    with pytest.raises(StepUnavailable if model.ended else StepNotYetAvailable):
        tensor.value(last + 1, mode)
