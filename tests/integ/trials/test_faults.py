"""Files of a trial that are cut off, flipped, missing or foreign: the rest stays readable, and no value is wrong."""

from __future__ import annotations

import itertools
import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from sagemaker_debug_ext import modes
from sagemaker_debug_ext.errors import CorruptRecordError, DebugExtError
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import Polling, Trial, create_trial

NAME = "multi_worker"
STILL = Polling(sleep=lambda seconds: pytest.fail("an ended trial was waited for"))


def read_all(place):
    """Read what can be read in a folder or a back end: (step, tensor, worker) → value, and the errors of the rest."""
    is_backend = isinstance(place, MemoryBackend)
    trial = Trial("in memory", place, polling=STILL) if is_backend else create_trial(place, polling=STILL)
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


def in_memory(folder):
    """Return a copy of a folder's files in memory."""
    backend = MemoryBackend()
    for path in folder.rglob("*"):
        if path.is_file():
            backend.write(path.relative_to(folder).as_posix(), (path.read_bytes(),))
    return backend


def test_any_file_when_deleted_then_only_what_it_held_is_missing(unpack, intact):
    """Each file in turn: without it the trial opens and says what is missing; all other values stay as they were."""
    backend = in_memory(Path(unpack(NAME).trial_path))
    for key in [info.key for info in backend.list()]:
        content, file = backend.read(key), Path(key)
        backend.delete(key)
        trial, values, errors = read_all(backend)
        backend.write(key, (content,))
        assert_no_wrong_value(values, intact)
        if file.parts[0] == "collections":
            assert (errors, set(values)) == ({}, set(intact))
            (problem,) = trial.problems()
            assert problem.reason.startswith("3 of 4 workers' collections files are there")
            continue
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


# --- everywhere ------------------------------------------------------------------------------------------------------

NAMES = {"a", "b", "c/weight", "d"}


@pytest.fixture
def victim(tmp_path):
    """Write a trial of 12 steps and 4 tensors; return its folder, its values, and where its records begin."""
    folder = tmp_path / "victim"
    rng = np.random.default_rng(7)
    trial = SmallTrial(folder)
    for step in range(12):
        trial.write(modes.TRAIN, step, {name: rng.random((2, 3), np.float32) for name in sorted(NAMES)})
    trial.end()
    opened = create_trial(folder, polling=STILL)
    values = {
        (step, name): value
        for name, values_of_tensor in opened.values().items()
        for step, value in values_of_tensor.items()
    }
    records = {}
    for step, name in values:
        record = opened.index_reader.find(name, step, modes.GLOBAL)["worker_0"].value
        records[step, name] = (folder / record.event_file, *record.location)
    return folder, values, records


def check_victim(backend, values, records, key, place):
    """Read the damaged step between its neighbours, and everything together; only what lies at the damage may be wrong.

    Records are compared with those that were read before them: the damaged ones, and those that follow.
    """
    trial = Trial("victim", backend, polling=STILL)
    in_file = {record: (start, size) for record, (file, start, size) in records.items() if file == key}
    (damaged_step,) = {step for step, _ in in_file}
    hit = {record for record, (start, size) in in_file.items() if start <= place < start + size}
    failed = False
    for step, name in itertools.product(range(max(damaged_step - 1, 0), min(damaged_step + 2, 12)), sorted(NAMES)):
        try:
            found = trial.tensor(name).value(step)
        except DebugExtError:
            failed = True
            assert (step, name) in hit
            continue
        if not np.array_equal(found, values[step, name]):
            # the format has no checksum of the content, and nothing else may differ
            assert (step, name) in hit
            start, size = in_file[step, name]
            assert start + 12 < place < start + size - 4
            assert found.shape == values[step, name].shape
            if found.dtype != np.float32:  # what tells the type of its numbers is one byte, without a checksum either
                assert found.tobytes() == values[step, name].tobytes()
    names = {name for _, name in hit}
    others = sorted({step for step, _ in values} - {damaged_step})
    for together, num_steps in (
        (trial.values(sorted(NAMES - names)), 12),
        (trial.values(sorted(names), steps=others), 11),
    ):
        for name, values_of_tensor in together.items():
            assert all(np.array_equal(value, values[step, name]) for step, value in values_of_tensor.items())
            assert len(values_of_tensor) == num_steps
    assert bool(trial.problems()) == failed
    assert all(problem.path == f"{backend.url}/{key}" for problem in trial.problems())


def test_bit_when_flipped_at_every_boundary_and_at_random_places_then_no_harm_elsewhere(victim):
    """Before, at and after the beginning of every record, and at a thousand places: damage stays where it is."""
    folder, values, records = victim
    chosen = random.Random(11)
    backend = in_memory(folder)
    records = {key: (path.relative_to(folder).as_posix(), *place) for key, (path, *place) in records.items()}
    sizes = {info.key: info.size for info in backend.list("events/")}
    places = [
        (key, start + offset) for key, start, size in records.values() for offset in (-1, 0, 11, 12, size - 5, size - 1)
    ]
    places = [(key, place) for key, place in places if 0 <= place < sizes[key]]
    places += [(key, chosen.randrange(sizes[key])) for key in chosen.choices(sorted(sizes), k=1000)]
    for key, place in places:
        content = backend.read(key)
        damaged = bytearray(content)
        damaged[place] ^= 1 << chosen.randrange(8)
        backend.write(key, (bytes(damaged),))
        check_victim(backend, values, records, key, place)
        backend.write(key, (content,))


def test_file_when_cut_off_at_every_boundary_and_at_random_places_then_what_came_before_is_there(victim):
    """Before, at and after the beginning of every record, and at a thousand places: a file costs what it lacks."""
    folder, values, records = victim
    chosen = random.Random(12)
    backend = in_memory(folder)
    records = {key: (path.relative_to(folder).as_posix(), *place) for key, (path, *place) in records.items()}
    sizes = {info.key: info.size for info in backend.list("events/")}
    places = [(key, start + offset) for key, start, _ in records.values() for offset in (-1, 0, 1)]
    places += [(key, chosen.randrange(sizes[key])) for key in chosen.choices(sorted(sizes), k=1000)]
    for key, place in places:
        if place < 0:
            continue
        content = backend.read(key)
        backend.write(key, (content[:place],))
        trial = Trial("cut off", backend, polling=STILL)
        for (step, name), (file, start, size) in records.items():
            if file == key and start + size > place:
                with pytest.raises(CorruptRecordError, match="cut off"):
                    trial.tensor(name).value(step)
            elif file == key or step == 0:
                assert np.array_equal(trial.tensor(name).value(step), values[step, name])
        assert [problem.path for problem in trial.problems()] == [f"{backend.url}/{key}"]
        backend.write(key, (content,))
    found = Trial("whole again", backend, polling=STILL).values()
    assert {
        (step, name): value.tobytes()
        for name, values_of_tensor in found.items()
        for step, value in values_of_tensor.items()
    } == {key: value.tobytes() for key, value in values.items()}


def test_problem_when_met_again_and_again_then_reported_once(victim, caplog):
    """However often a damaged value is asked for, its file is described once."""
    folder, _, records = victim
    path, start, _ = records[3, "b"]
    content = bytearray(path.read_bytes())
    content[start] ^= 1
    path.write_bytes(content)
    trial = create_trial(folder, polling=STILL)
    for _ in range(5):
        with pytest.raises(CorruptRecordError):
            trial.tensor("b").value(3)
        with pytest.raises(CorruptRecordError):
            trial.values()
    assert len(trial.problems()) == 1
    assert len(caplog.records) == 1
