"""Trials on S3 answer as the same trials in a folder, with as few requests as there are objects."""

from __future__ import annotations

import contextlib
import random
import tarfile
import threading
from pathlib import Path

import numpy as np
import pytest

from sagemaker_debug_ext import modes
from sagemaker_debug_ext.errors import CorruptRecordError, DebugExtError, StorageError, TrialNotFoundError
from sagemaker_debug_ext.store.backends.s3 import S3Backend, S3Options
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import Polling, S3Trial, create_trial

GOLDEN = Path(__file__).parents[2] / "golden"
NAMES = sorted(path.name.removesuffix(".tar.gz") for path in GOLDEN.glob("*.tar.gz"))
SAFELY = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
FAST = Polling(poll_seconds=0.001)


@pytest.fixture
def options(proxy):
    return S3Options(endpoint_url=proxy.url, num_attempts=4, num_connections=8, read_seconds=5)


def everything(trial):
    """Read all that a trial has: (tensor, step, worker) → value, error or None."""
    found = {}
    for name in trial.tensor_names():
        tensor = trial.tensor(name)
        for step in tensor.steps(show_incomplete_steps=True):
            for worker in tensor.workers(step):
                try:
                    value = tensor.value(step, worker=worker)
                    found[name, step, worker] = (value.dtype.str, value.shape, value.tobytes())
                except (DebugExtError, OSError) as error:
                    found[name, step, worker] = type(error)
    return found


def facts(trial):
    return {
        "names": trial.tensor_names(),
        "steps": {mode.name: trial.steps(mode) for mode in modes},
        "all steps": trial.steps(show_incomplete_steps=True),
        "workers": trial.workers(),
        "ended": trial.loaded_all_steps,
        "collections": {name: each.to_json_dict() for name, each in trial.collections().items()},
        "problems": len(trial.problems()),
    }


@pytest.mark.parametrize("name", NAMES)
def test_golden_trial_when_on_s3_then_as_in_a_folder(name, tmp_path, bucket, upload, options):
    """Every fact and every value are the same."""
    with tarfile.open(GOLDEN / f"{name}.tar.gz") as archive:
        archive.extractall(tmp_path, **SAFELY)
    folder = tmp_path / name / "trial"
    upload(folder, bucket, "old/trial")
    local, remote = create_trial(folder), create_trial(f"s3://{bucket}/old/trial/", s3=options)
    assert isinstance(remote, S3Trial)
    assert (remote.bucket_name, remote.prefix_name, remote.name) == (bucket, "old/trial/", "")
    assert facts(remote) == facts(local)
    assert everything(remote) == everything(local)


@pytest.fixture
def big_trial(tmp_path, bucket, upload):
    """Upload a trial of 60 steps and 12 tensors: 122 objects; return its address and its folder."""
    trial = SmallTrial(tmp_path / "trial")
    rng = np.random.default_rng(1)
    for step in range(60):
        trial.write(modes.TRAIN, step, {f"layer{n}/weight": rng.random(8, np.float32) for n in range(12)})
    trial.end()
    upload(tmp_path / "trial", bucket, "t")
    return f"s3://{bucket}/t", tmp_path / "trial"


def test_trial_when_opened_and_read_then_costs_a_request_for_each_object(big_trial, proxy, options):
    """Opening reads each index file once, reading everything each event file once, whichever way it is asked for."""
    url, folder = big_trial
    proxy.reset()
    trial = create_trial(url, s3=options)
    assert proxy.counts["GET"] <= 60 + 2
    assert proxy.counts["LIST"] <= 3
    assert proxy.counts["HEAD"] <= 2
    proxy.reset()
    assert trial.steps() == list(range(60))
    assert trial.has_passed_step(7)
    assert proxy.counts == {}
    one_by_one = {name: trial.tensor(name).values() for name in trial.tensor_names()}
    assert proxy.counts == {"GET": 60}
    proxy.reset()
    together = create_trial(url, s3=options).values()
    assert proxy.counts["GET"] <= 2 * 60 + 2
    local = create_trial(folder).values()
    for name, values in local.items():
        for step, value in values.items():
            assert np.array_equal(one_by_one[name][step], value)
            assert np.array_equal(together[name][step], value)


def test_trial_when_opened_again_then_its_index_is_not_read_again(big_trial, proxy, options, tmp_path, monkeypatch):
    """What was read before is kept on this machine, and used as long as the objects are the same."""
    monkeypatch.setenv("SAGEMAKER_DEBUG_EXT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("sagemaker_debug_ext.trials.refreshing._WORTH_KEEPING", 10)
    url, _ = big_trial
    create_trial(url, s3=options)
    proxy.reset()
    again = create_trial(url, s3=options)
    assert proxy.counts["GET"] <= 2
    assert again.steps() == list(range(60))
    assert len(again.tensor("layer3/weight").values()) == 60


def test_running_job_when_followed_then_a_look_costs_two_requests(bucket, proxy, options):
    """Looking for news costs one listing of what is new and one look for the end, however long the job has run."""
    writer = SmallTrial(f"s3://{bucket}/live", s3=options)
    for step in range(20):
        writer.write(modes.TRAIN, step, {"loss": [step]})
    trial = create_trial(f"s3://{bucket}/live", s3=options, polling=FAST)
    proxy.reset()
    assert trial.steps() == list(range(20))
    assert proxy.counts == {"LIST": 1, "HEAD": 1}
    writer.write(modes.TRAIN, 20, {"loss": [20]})
    proxy.reset()
    assert trial.steps() == list(range(21))
    assert proxy.counts == {"LIST": 1, "HEAD": 1, "GET": 1}

    def finish():
        for step in range(21, 30):
            writer.write(modes.TRAIN, step, {"loss": [step]})
        writer.end()

    thread = threading.Thread(target=finish)
    thread.start()
    assert list(trial.follow(begin=5)) == list(range(5, 30))
    thread.join()
    assert trial.loaded_all_steps


@pytest.mark.parametrize("path", ["nothing/here", ""])
def test_path_when_it_holds_no_trial_then_refused(bucket, options, path):
    """An empty prefix is no trial, and is not waited for."""
    with pytest.raises(TrialNotFoundError, match=bucket):
        create_trial(f"s3://{bucket}/{path}", s3=options)
    with pytest.raises(StorageError, match="buckets are not created"):
        create_trial("s3://no-such-bucket/x", s3=options)


# --- faults on the wire ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small_trial(tmp_path_factory):
    """Return the folder of a trial of 3 steps and 2 workers, and all that it holds."""
    folder = tmp_path_factory.mktemp("faults") / "trial"
    trial = SmallTrial(folder, workers=("worker_0", "worker_1"))
    rng = np.random.default_rng(3)
    for step in range(3):
        for worker in ("worker_0", "worker_1"):
            values = {"weight": rng.random((20, 30), np.float32), "loss": rng.random(1)}
            trial.write(modes.TRAIN, step, values, worker=worker, global_step=step)
    trial.end()
    return folder, everything(create_trial(folder))


@pytest.mark.parametrize("block", range(10))
def test_faults_on_the_wire_when_random_then_no_wrong_value_no_hang_and_no_lost_report(
    small_trial, bucket, upload, proxy, options, block
):
    """Twenty schedules each: what can be read is right; what cannot is an error, or described by the trial."""
    folder, truth = small_trial
    upload(folder, bucket, "t")
    proxy.remembered = {}
    options = S3Options(client=options.make_client())
    for seed in range(20 * block, 20 * block + 20):
        run_schedule(random.Random(seed), f"s3://{bucket}/t", truth, proxy, options, seed)


def spare(kind, path):
    return None


def run_schedule(rng, url, truth, proxy, options, seed):
    rate = rng.choice([0.05, 0.2, 0.6])
    kinds = rng.sample([503, 500, "cut", "hang", "late"], rng.randint(1, 4))
    hidden = rng.sample(sorted(truth), 2)

    def spoil(kind, path):
        if rng.random() > rate:
            return None
        what = rng.choice(kinds)
        if what == "late":  # an object that is listed, and not yet there
            return 404 if kind in ("GET", "HEAD") and "events" in path and str(hidden[0][1]) in path else None
        return what

    backend = S3Backend(*url.removeprefix("s3://").split("/"), options, sleep=lambda seconds: None)
    proxy.spoil = spoil
    try:
        trial = open_quickly(backend)
    except (DebugExtError, OSError):
        return  # said so
    finally:
        proxy.spoil = spare
    proxy.spoil = spoil
    found = {}
    with contextlib.suppress(StorageError):  # the refresh itself failed, and said so
        found = everything(trial)
    proxy.spoil = spare
    for key, value in found.items():
        assert value == truth[key] or (isinstance(value, type) and issubclass(value, (DebugExtError, OSError))), seed
        assert value is not CorruptRecordError, seed
    failed_files = {(step, worker) for (_, step, worker), value in found.items() if isinstance(value, type)}
    missing_files = {(step, worker) for _, step, worker in truth} - {(step, worker) for _, step, worker in found}
    if found:
        assert len(trial.problems()) >= len(failed_files) if failed_files else True, seed
        if missing_files and trial.loaded_all_steps:
            assert trial.problems(), seed
    trial.refresh_data()
    assert everything(trial) == truth, seed  # once the faults are over, everything is there


def open_quickly(backend):
    from sagemaker_debug_ext.trials import Trial

    return Trial("t", backend, polling=Polling(poll_seconds=0.001, sleep=lambda seconds: None), wait_seconds=0)
