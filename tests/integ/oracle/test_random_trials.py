"""The original library reads what this package writes, and this package what the original writes: random trials."""

import json
from pathlib import Path

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.consolidated.index import consolidate
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.store.writer import NamedTensor, StepData, TrialWriter
from sagemaker_debug_ext.testing.strategies import DTYPES
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

READABLE_BY_THE_ORIGINAL = ("float16", "float32", "float64", "int32", "int64", "uint8", "bool", "complex128")
NAMES = ("w", "a/b:0", "gradient/w", "scalar/loss", "Ünïcode name", reduction_tensor_name("l2", True, "w"))


@attrs.frozen
class Step:
    """One saved step: which one, and what each worker saved."""

    number: int
    mode: ModeKeys
    mode_step: int
    tensors: dict[str, dict[str, np.ndarray]]


def values(dtypes):
    return st.sampled_from(dtypes).flatmap(
        lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=3, max_side=3))
    )


@st.composite
def trials(draw, dtypes):
    """Draw the steps of a trial: with gaps, modes that alternate, and several workers with tensors of their own."""
    workers = [f"worker_{rank}" for rank in range(draw(st.integers(1, 3)))]
    counters = dict.fromkeys(ModeKeys, 0)
    number, steps = 0, []
    for _ in range(draw(st.integers(1, 6))):
        number += draw(st.integers(1, 1500))
        mode = draw(st.sampled_from([ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT]))
        counters[mode] += draw(st.integers(1, 900))
        tensors = {
            worker: draw(st.dictionaries(st.sampled_from(NAMES), values(dtypes), min_size=1, max_size=4))
            for worker in workers
        }
        steps.append(Step(number, mode, counters[mode], tensors))
    return workers, steps


def write_with_ours(folder, workers, steps):
    backend = LocalBackend(folder)
    for worker in workers:
        writer = TrialWriter(backend, worker)
        writer.write_collections([{"name": "losses", "include_regex": ["loss"]}], len(workers))
        for step in steps:
            tensors = [NamedTensor(name, value, 1.5) for name, value in step.tensors[worker].items()]
            writer.write_step(StepData(step.number, step.mode, step.mode_step, tensors))
    writer.end()
    assert consolidate(backend) == len(workers) * len(steps)  # the original must not notice


def write_with_the_original(original, folder, workers, steps):
    for worker in workers:
        target = Path(folder, "collections/000000000", f"{worker}_collections.json")
        target.parent.mkdir(parents=True, exist_ok=True)
        collection = {"name": "losses", "include_regex": ["loss"], "tensor_names": [], "reduction_config": None,
                      "save_config": None, "save_histogram": True}  # fmt: skip
        target.write_text(json.dumps({"collections": {"losses": collection}, "_meta": {"num_workers": len(workers)}}))
        for step in steps:
            mode = original.modes[step.mode.name]
            writer = original.FileWriter(trial_dir=str(folder), step=step.number, worker=worker)
            for name, value in step.tensors[worker].items():
                writer.write_tensor(tdata=value, tname=name, mode=mode, mode_step=step.mode_step)
            writer.close()
    Path(folder, "training_job_end.ts").touch()


def describe(trial, modes, steps):
    """Return everything a trial says, in a form that does not depend on the library that reads it."""
    found = {
        "names": trial.tensor_names(),
        "workers": trial.workers(),
        "modes": sorted(mode.name for mode in trial.modes()),
        "steps": {mode.name: trial.steps(mode=mode) for mode in modes},
        "losses": trial.tensor_names(collection="losses"),
    }
    for name in found["names"]:
        tensor = trial.tensor(name)
        for step in steps:
            for worker in sorted(step.tensors):
                if name in step.tensors[worker]:
                    found[name, step.number, worker] = exact(tensor.value(step.number, worker=worker))
                    mode = next(mode for mode in modes if mode.name == step.mode.name)
                    found[name, step.number, worker, "mode"] = exact(
                        tensor.value(step.mode_step, mode=mode, worker=worker)
                    )
    return found


def exact(value):
    return str(value.dtype), value.shape, value.tobytes()


@pytest.fixture(scope="module")
def new_folder(tmp_path_factory):
    """Return a function that makes folders whose path has no two underscores, which would mislead the original."""
    return lambda: str(tmp_path_factory.mktemp("trial"))


relaxed = settings(max_examples=200, suppress_health_check=list(HealthCheck))


@relaxed
@given(drawn=trials(READABLE_BY_THE_ORIGINAL))
def test_the_original_reads_what_ours_writes(original, new_folder, drawn):
    """Names, workers, modes, steps, collections and values agree, bit for bit."""
    workers, steps = drawn
    folder = new_folder()
    write_with_ours(folder, workers, steps)
    ours = describe(create_trial(folder), ModeKeys, steps)
    theirs = describe(original.create_trial(folder), original.modes, steps)
    assert ours == theirs


@relaxed
@given(drawn=trials(DTYPES))
def test_ours_reads_what_the_original_writes(original, new_folder, drawn):
    """Every value the original wrote comes back with its true dtype, those that it cannot read itself included."""
    workers, steps = drawn
    folder = new_folder()
    write_with_the_original(original, folder, workers, steps)
    trial = create_trial(folder)
    assert trial.steps() == [step.number for step in steps]
    for step in steps:
        assert trial.mode_modestep(step.number) == (step.mode, step.mode_step)
        for worker, tensors in step.tensors.items():
            for name, value in tensors.items():
                if not name.startswith("smdebug/"):
                    assert exact(trial.tensor(name).value(step.number, worker=worker)) == exact(value)
