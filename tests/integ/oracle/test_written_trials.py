"""The original library reads every trial that PyTorch's tests have written, and says the same of it as this package.

Those tests have to run before, in the same test run: ``pytest tests/integ/pytorch tests/integ/oracle``.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

from sagemaker_debug_ext.errors import TensorUnavailableForStep
from sagemaker_debug_ext.store import reader
from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.format import manifest
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import NORMS, REDUCTIONS, ModeKeys
from support.written import WRITTEN

WRITERS = Path(__file__).parents[1] / "pytorch"

KNOWN_REDUCTIONS = {*REDUCTIONS, *NORMS}
KNOWN_DTYPES = {"float16", "float32", "float64", "int32", "int64", "uint8", "bool", "complex128"}
MIN_TRIALS = 100

pytestmark = pytest.mark.timeout(600)


def find_trials(root):
    """Return the folders below one of trials with all their collections files and at least one step."""
    found = []
    for folder in sorted(path.parent for path in root.rglob("collections") if path.is_dir()):
        backend = LocalBackend(folder)
        known = manifest.list_collections(backend)
        files = [manifest.read_collections(backend, key) for key in known.values()]
        if files and len(files) == files[0].num_workers and reader.list_index(backend):
            found.append(folder)
    return found


def differences(folder, original):
    """Yield what the original says otherwise of a trial, after reading all of it."""
    ours, theirs = create_trial(str(folder)), original.create_trial(str(folder))
    yield from differ("names", ours.tensor_names(), theirs.tensor_names())
    yield from differ("workers", ours.workers(), theirs.workers())
    yield from differ("modes", {mode.name for mode in ours.modes()}, {mode.name for mode in theirs.modes()})
    for mode in ModeKeys:
        yield from differ(f"steps of {mode}", ours.steps(mode=mode), theirs.steps(mode=original.modes[mode.name]))
    for name in ours.collections():
        if name not in theirs.collections():
            yield f"collection {name} is missing"
        else:
            members = theirs.tensor_names(collection=name)
            yield from differ(f"members of {name}", ours.tensor_names(collection=name), members)
    for name in ours.tensor_names():
        yield from differences_of_tensor(name, ours, theirs)


def differences_of_tensor(name, ours, theirs):
    left, right = ours.tensor(name), theirs.tensor(name)
    yield from differ(f"steps of {name}", left.steps(), right.steps())
    for step in left.steps():
        for worker in left.workers(step):
            where = f"{name} at {step} of {worker}"
            for (reduction, absolute), number in left.reduction_values(step, worker=worker).items():
                if reduction in KNOWN_REDUCTIONS and is_known(number):
                    other = right.reduction_value(step, reduction, worker=worker, abs=absolute)
                    yield from differ(f"{reduction} of {where}", number, other)
            with contextlib.suppress(TensorUnavailableForStep):  # nothing but its reductions was saved, or its shape
                value = left.value(step, worker=worker)
                # Of a tensor whose shape was saved, too, the original finds no value, not even in trials of its own.
                if is_known(value) and not has_saved_shape(left, step, worker):
                    yield from differ(where, value, right.value(step, worker=worker))


def has_saved_shape(tensor, step, worker):
    return tensor._saved_by(step, ModeKeys.GLOBAL, worker).shape is not None


def is_known(value):
    """Tell whether the original reads the dtype, or a text."""
    return value.dtype.name in KNOWN_DTYPES or value.dtype.kind == "U"


def differ(what, left, right):
    """Yield a sentence if two answers are not the same, to the bit."""
    if isinstance(left, (np.ndarray, np.generic)):
        same = (left.dtype, left.shape) == (right.dtype, right.shape) and left.tobytes() == right.tobytes()
    else:
        same = left == right
    if not same:
        yield f"{what}: {left!r} and {right!r}"


def test_original_when_it_reads_what_the_tests_have_written_then_says_the_same(request, original):
    """Names, steps, modes, workers, collections, values and reductions are equal, trial by trial."""
    written = request.config.stash.get(WRITTEN, [])
    if not written:
        pytest.skip("needs the trials of tests/integ/pytorch, run before it")
    folders = [folder for root in written for folder in find_trials(root)]
    if {item.path for item in request.session.items}.issuperset(WRITERS.glob("test_*.py")):
        assert len(folders) >= MIN_TRIALS
    found = {str(folder): list(differences(folder, original)) for folder in folders}
    assert {name: problems for name, problems in found.items() if problems} == {}
