"""Files of a trial that are cut off, flipped, missing or foreign: the rest stays readable, and no value is wrong."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from sagemaker_debug_ext.errors import DebugExtError, MissingCollectionFiles
from sagemaker_debug_ext.trials import Polling, create_trial

NAME = "multi_worker"
STILL = Polling(sleep=lambda seconds: pytest.fail("an ended trial was waited for"))


def read_all(path):
    """Read everything that can be read: (step, tensor, worker) → value, and the errors of the rest."""
    trial = create_trial(path, polling=STILL)
    values, errors = {}, {}
    for name in trial.tensor_names():
        tensor = trial.tensor(name)
        for step in tensor.steps():
            for worker in tensor.workers(step):
                try:
                    values[step, name, worker] = tensor.value(step, worker=worker)
                except DebugExtError as error:
                    errors[step, name, worker] = error
    return trial, values, errors


@pytest.fixture(scope="module")
def intact(unpack):
    trial, values, errors = read_all(unpack(NAME).trial_path)
    assert (errors, trial.problems()) == ({}, ())
    return values


@pytest.fixture
def copy(unpack, tmp_path):
    return Path(shutil.copytree(unpack(NAME).trial_path, tmp_path / "trial"))


def assert_no_wrong_value(values, intact, allowed=()):
    for key, value in values.items():
        if key not in allowed:
            assert np.array_equal(value, intact[key])


def stem(path):
    step, _, worker = path.stem.partition("_")
    return int(step), worker


def test_any_file_when_deleted_then_only_what_it_held_is_missing(unpack, tmp_path, intact):
    """Each file in turn: without it the trial opens, or says what is missing; all other values stay as they were."""
    original = Path(unpack(NAME).trial_path)
    files = [path.relative_to(original) for path in sorted(original.rglob("*")) if path.is_file()]
    for number, file in enumerate(files):
        copy = Path(shutil.copytree(original, tmp_path / str(number)))
        (copy / file).unlink()
        if file.parts[0] == "collections":
            with pytest.raises(MissingCollectionFiles, match=r"3 of 4 workers"):
                create_trial(copy, polling=STILL)
            continue
        trial, values, errors = read_all(copy)
        assert_no_wrong_value(values, intact)
        if file.name == "training_job_end.ts":
            assert (errors, {step for step, _, _ in values}) == ({}, {0, 2, 4, 6})
            continue
        lost = {key for key in intact if (key[0], key[2]) == stem(file)}
        assert set(intact) - set(values) == lost
        assert set(errors) == (lost if file.parts[0] == "events" else set())
        assert len(trial.problems()) == bool(errors)


@pytest.mark.parametrize("kind", ["index", "events"])
def test_any_file_when_cut_off_then_only_what_it_held_is_missing(copy, intact, kind):
    """A file cut off at a random place costs its own tensors at most, and is named."""
    random.seed(kind)
    for file in sorted((copy / kind).rglob("*_worker_*")):
        content = file.read_bytes()
        file.write_bytes(content[: random.randrange(len(content))])
        trial, values, errors = read_all(copy)
        assert_no_wrong_value(values, intact)
        assert {(key[0], key[2]) for key in set(intact) - set(values)} <= {stem(file)}
        assert [problem.path for problem in trial.problems()] == [str(file)]
        assert bool(errors) == (kind == "events")
        file.write_bytes(content)


def test_index_file_when_any_byte_is_flipped_then_nothing_breaks(copy, intact):
    """A flipped byte of an index file is noticed, or changes nothing but names, steps within the mode and places."""
    random.seed(5)
    for file in sorted((copy / "index").rglob("*_worker_*.json")):
        content = bytearray(file.read_bytes())
        for place in random.sample(range(len(content)), 4):
            flipped = content[:]
            flipped[place] ^= 1 << random.randrange(8)
            file.write_bytes(flipped)
            _, values, _ = read_all(copy)
            known = {key: value for key, value in values.items() if key in intact}
            assert_no_wrong_value(known, intact)
            assert {(key[0], key[2]) for key in set(intact) - set(values)} <= {stem(file)}
        file.write_bytes(content)


def test_half_written_files_when_left_behind_then_not_looked_at(unpack):
    """What a killed process left under temporary names is no part of the trial."""
    for name in ("incomplete", "multi_worker_running"):
        path = Path(unpack(name).trial_path)
        assert list(path.rglob("*.tmp"))
        trial = create_trial(path)
        assert trial.problems() == ()
        trial.steps(show_incomplete_steps=True)
        assert trial.problems() == ()


def test_index_file_when_it_points_outside_of_the_trial_then_not_followed(copy, tmp_path):
    """Nothing in a trial makes the reader touch a file outside of it."""
    (tmp_path / "secret").write_bytes(b"x" * 1000)
    for number, target in enumerate(["../secret", "events/../../secret", str(tmp_path / "secret")]):
        (copy / "index/000000000" / f"00000000010{number}_worker_0.json").write_text(
            f'{{"meta": {{"mode": "TRAIN", "mode_step": 1, "event_file_name": "{target}"}},'
            ' "tensor_payload": [{"tensorname": "secret", "start_idx": 0, "length": 1000}]}'
        )
    trial = create_trial(copy)
    assert not trial.has_tensor("secret")
    assert len(trial.problems()) == 3
