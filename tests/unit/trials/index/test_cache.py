"""The index kept on disk: the same answers, nothing stale, and no harm from a damaged one."""

from __future__ import annotations

import random

import pytest

from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.format.keys import index_key
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.trials.index import cache
from sagemaker_debug_ext.trials.index.cache import IndexCache
from sagemaker_debug_ext.vocabulary import ModeKeys


@pytest.fixture
def cache_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("SAGEMAKER_DEBUG_EXT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def job(new_job, tmp_path):
    job = new_job(LocalBackend(tmp_path / "trial"), num_workers=2).write_collections()
    for step in range(50):
        mode = ModeKeys.EVAL if step % 5 == 4 else ModeKeys.TRAIN
        job.write(
            step * 30, {"loss": [step], "smdebug/reductions/mean/w": [1.0]}, mode=mode, shapes={"w": (2, step % 3)}
        )
    return job


def facts(trial):
    return {
        "names": trial.tensor_names(),
        "steps": [trial.steps(mode) for mode in ModeKeys],
        "losses": {step: value.tolist() for step, value in trial.tensor("loss").values(worker="worker_1").items()},
        "means": [trial.tensor("w").reduction_values(step, worker="worker_1") for step in trial.steps()],
        "shapes": [trial.tensor("w").shape(step) for step in trial.steps()],
        "original": trial.tensor("w").original_name,
        "modes": [trial.mode_modestep(step) for step in trial.steps()],
        "problems": trial.problems(),
    }


def test_trial_when_opened_again_then_the_same_without_reading_the_index(job, tmp_path, cache_dir, monkeypatch):
    """A second opening answers as the first, from what was kept."""
    first = create_trial(tmp_path / "trial")
    assert len(list(cache_dir.iterdir())) == 1
    expected = facts(first)
    monkeypatch.setattr(LocalBackend, "read_many", lambda *_: pytest.fail("an index file was read"))
    again = create_trial(tmp_path / "trial")
    monkeypatch.undo()
    assert facts(again) == expected


def test_trial_when_files_came_changed_or_went_then_nothing_stale(job, tmp_path, cache_dir):
    """What was kept of a file counts only while the file is the same."""
    create_trial(tmp_path / "trial")
    job.write(30, {"loss": [99.0], "new": [1]}, workers=["worker_0"])
    job.write(5000, {"loss": [5]})
    for rank in range(2):
        (tmp_path / "trial" / index_key(60, f"worker_{rank}")).unlink()
    kept, plain = create_trial(tmp_path / "trial"), create_trial(tmp_path / "trial", index_cache=False)
    assert kept.steps() == plain.steps()
    assert 60 not in kept.steps()
    assert kept.tensor("loss").value(30).tolist() == [99.0]
    assert kept.tensor_names() == plain.tensor_names()


def test_trial_when_only_a_range_is_looked_at_then_the_rest_is_not_invented(job, tmp_path, cache_dir):
    """What was kept of all steps serves a range, and what was kept of a range serves all."""
    for options in ({}, {"range_steps": (300, 600)}, {}):
        trial = create_trial(tmp_path / "trial", **options)
        begin, end = options.get("range_steps", (0, 10**6))
        assert trial.steps() == [step * 30 for step in range(50) if begin <= step * 30 < end]


@pytest.mark.parametrize("text", ["off", " OFF "])
def test_cache_when_off_then_nothing_is_kept(job, tmp_path, monkeypatch, text):
    """The cache can be switched off for all trials, or for one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SAGEMAKER_DEBUG_EXT_CACHE_DIR", text)
    create_trial(tmp_path / "trial")
    monkeypatch.delenv("SAGEMAKER_DEBUG_EXT_CACHE_DIR")
    create_trial(tmp_path / "trial", index_cache=False)
    assert not (tmp_path / "home").exists()
    create_trial(tmp_path / "trial")
    assert len(list((tmp_path / "home/sagemaker_debug_ext").iterdir())) == 1


def test_cache_when_it_cannot_be_written_then_the_trial_opens(job, tmp_path, monkeypatch):
    """The cache is a help, not a condition."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SAGEMAKER_DEBUG_EXT_CACHE_DIR", str(tmp_path / "file"))
    assert len(create_trial(tmp_path / "trial").steps()) == 50


def test_cache_when_damaged_anywhere_then_passed_over(job, tmp_path, cache_dir):
    """No damage of what was kept changes an answer."""
    expected = facts(create_trial(tmp_path / "trial"))
    (kept,) = cache_dir.iterdir()
    content = kept.read_bytes()
    chosen = random.Random(1)
    for _ in range(20):
        damaged = bytearray(content)
        damaged[chosen.randrange(len(content))] ^= 1 << chosen.randrange(8)
        kept.write_bytes(bytes(damaged[: chosen.choice([len(content), chosen.randrange(len(content))])]))
        assert facts(create_trial(tmp_path / "trial")) == expected


def test_cache_when_of_another_place_then_passed_over(job, tmp_path):
    """A cache under a wrong name is not taken for this trial's."""
    files = create_trial(tmp_path / "trial").index_reader.index.files()
    here, there = IndexCache(tmp_path, "here"), IndexCache(tmp_path, "there")
    here.save(files)
    assert len(here.load()) == 100
    here.path.rename(there.path)
    assert there.load() == {}


def test_caches_when_many_then_the_oldest_go(tmp_path, monkeypatch):
    """The folder does not grow without bound."""
    monkeypatch.setattr(cache, "_MAX_CACHES", 3)
    for number in range(5):
        IndexCache(tmp_path, f"place {number}").save([])
    assert len(list(tmp_path.iterdir())) == 3
    assert IndexCache(tmp_path, "place 4").path.exists()
