"""Trials on S3 answer as the same trials in a folder, with as few requests as there are objects."""

from __future__ import annotations

import os
import random
import tarfile
import threading
from pathlib import Path

import numpy as np
import pytest
from botocore.loaders import JSONFileLoader

from sagemaker_debug_ext import modes
from sagemaker_debug_ext.core.reader import FileReader
from sagemaker_debug_ext.core.writer import FileWriter
from sagemaker_debug_ext.errors import (
    CorruptRecordError,
    DebugExtError,
    MissingCollectionFiles,
    StorageError,
    TrialNotFoundError,
)
from sagemaker_debug_ext.looking import write_report
from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.backends.s3 import S3Backend, S3Options
from sagemaker_debug_ext.store.format.keys import event_key, index_key
from sagemaker_debug_ext.store.writer import TrialWriter
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import Polling, S3Trial, Trial, create_trial

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
        "collections": {name: collection.to_json_dict() for name, collection in trial.collections().items()},
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


@pytest.mark.parametrize(
    ("path", "prefix_name"),
    [("old/trial", "old/trial/"), ("old//trial", "old//trial/"), ("/old/trial//", "old/trial/")],
)
def test_prefix_name_when_slashes_repeat_then_as_given(path, prefix_name, bucket, options):
    """The attribute repeats what the caller wrote, whereas objects are looked for without repeated slashes."""
    writer = TrialWriter(open_backend(f"s3://{bucket}/old/trial", options), "worker_0")
    writer.write_collections([{"name": "losses"}], 1)
    writer.end()
    trial = create_trial(f"s3://{bucket}/{path}", s3=options)
    assert trial.prefix_name == prefix_name
    assert trial.path == f"s3://{bucket}/old/trial"


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


def test_report_when_on_s3_then_rules_and_pictures_read_each_object_once(big_trial, proxy, options, tmp_path):
    """All rules share what they read, and so do all pictures; histograms are of ten more ranges at most."""
    url, _ = big_trial
    for rules, num_readings in (([None], 1), (None, 2)):
        proxy.reset()
        story = write_report([create_trial(url, s3=options)], tmp_path / "report.html", rules)
        assert story.coverage.num_read == (60,)
        assert proxy.counts["GET"] <= 60 + 2 + num_readings * 60 + 10


def test_trial_when_opened_and_read_then_costs_a_request_for_each_object(big_trial, proxy, options):
    """Opening reads each index file once, reading everything each event file once, whichever way it is asked for."""
    url, folder = big_trial
    proxy.reset()
    trial = create_trial(url, s3=options)
    assert proxy.counts["GET"] <= 60 + 2
    assert proxy.counts["LIST"] <= 4
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
    monkeypatch.setattr("sagemaker_debug_ext.trials.index.refresh._WORTH_KEEPING", 10)
    url, _ = big_trial
    create_trial(url, s3=options)
    proxy.reset()
    again = create_trial(url, s3=options)
    assert proxy.counts["GET"] <= 2
    assert again.steps() == list(range(60))
    assert len(again.tensor("layer3/weight").values()) == 60


def test_trial_when_consolidated_then_its_index_is_one_object(big_trial, bucket, s3_client, proxy, options):
    """Checksums in the listing tell which index files are as they were, whatever their times; others are read."""
    url, _ = big_trial
    assert create_trial(url, s3=options).consolidate() == 60
    key = f"t/{index_key(7, 'worker_0')}"
    content = s3_client.get_object(Bucket=bucket, Key=key)["Body"].read()
    s3_client.put_object(Bucket=bucket, Key=key, Body=content.replace(b'"mode_step": 7', b'"mode_step": 9'))
    proxy.reset()
    trial = create_trial(url, s3=options)
    assert [path for kind, path in proxy.paths if kind == "GET" and "/index/" in path] == [f"/{bucket}/{key}"]
    assert proxy.counts["GET"] <= 4
    assert trial.mode_modestep(6) == (modes.TRAIN, 6)
    assert trial.mode_modestep(7) == (modes.TRAIN, 9)
    assert len(trial.tensor("layer3/weight").values()) == 60


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


def test_step_when_rules_need_most_of_its_tensors_then_its_file_is_requested_once(bucket, proxy, options):
    """Not each of the large tensors, and each of the small ones between them, by a request of its own."""
    writer = SmallTrial(f"s3://{bucket}/large", s3=options)
    rng = np.random.default_rng(0)
    for step in range(3):
        sizes = {f"gradient/{kind}{number}": size for number in range(8) for kind, size in (("b", 9), ("w", 50_000))}
        writer.write(modes.TRAIN, step, {name: rng.normal(size=size) for name, size in sizes.items()})
    writer.end()
    trial = create_trial(f"s3://{bucket}/large", s3=options)
    trial.steps()
    proxy.reset()
    evaluation = evaluate([create_rule("VanishingGradient", trial), create_rule("ExplodingTensor", trial)], trial)
    assert evaluation.run() == []
    assert [status.num_steps for status in evaluation.statuses] == [3, 3]
    assert proxy.counts["GET"] == 3


def test_client_when_another_was_made_then_reads_no_description_again(monkeypatch):
    """Descriptions of services are large, and a watcher needs several clients."""
    S3Options(region_name="us-east-1").make_client()
    read = []
    monkeypatch.setattr(JSONFileLoader, "load_file", lambda _, path: read.append(path))
    S3Options(region_name="us-east-1").make_client()
    assert read == []


@pytest.mark.parametrize("path", ["nothing/here", ""])
def test_path_when_it_holds_no_trial_then_refused(bucket, options, path):
    """An empty prefix is no trial; a bucket that does not exist is not waited for."""
    with pytest.raises(TrialNotFoundError, match=bucket):
        create_trial(f"s3://{bucket}/{path}", s3=options, wait_seconds=0)
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


NUM_BLOCKS = int(os.environ.get("CHAOS_BLOCKS", "10"))
"""Blocks of twenty schedules of faults; 50 for a thousand."""


@pytest.mark.parametrize("block", range(NUM_BLOCKS))
def test_faults_on_the_wire_when_random_then_no_wrong_value_no_hang_and_no_lost_report(
    small_trial, bucket, upload, proxy, block
):
    """Twenty schedules each: what can be read is right; what cannot is an error, or described by the trial."""
    folder, truth = small_trial
    upload(folder, bucket, "t")
    proxy.remembered = {}
    options = S3Options(endpoint_url=proxy.url, num_attempts=4, num_connections=8, read_seconds=0.3)
    options = S3Options(client=options.make_client())
    for seed in range(20 * block, 20 * block + 20):
        Schedule(seed, bucket, truth, proxy, options).run()


@pytest.mark.parametrize("what", ["flip", "nonsense", 403, 503, "cut"])
def test_index_file_when_it_cannot_be_read_then_costs_its_step_and_is_asked_for_again(
    small_trial, bucket, upload, proxy, what
):
    """The trial has ended, but the file comes back as soon as it can be read, at most once in half a minute."""
    folder, truth = small_trial
    upload(folder, bucket, "t")
    seconds = iter(range(10**6))
    polling = Polling(sleep=lambda _: None, clock=lambda: float(next(seconds)) / 100)
    backend = S3Backend(bucket, "t", S3Options(endpoint_url=proxy.url, num_attempts=2), sleep=lambda _: None)
    key = index_key(1, "worker_0")
    proxy.spoil = lambda kind, path: what if kind == "GET" and path.endswith(key) else None
    trial = Trial("t", backend, polling=polling)
    assert everything(trial) == {at: value for at, value in truth.items() if at[1:] != (1, "worker_0")}
    assert [problem.path for problem in trial.problems()] == [f"s3://{bucket}/t/{key}"]
    proxy.counts.clear()
    for _ in range(50):
        assert trial.steps() == [0, 1, 2]
    assert proxy.counts["LIST"] <= 1
    proxy.spoil = lambda kind, path: None
    for _ in range(3001):
        trial.steps()
    assert everything(trial) == truth
    assert trial.problems() == ()
    proxy.counts.clear()
    for _ in range(3001):
        trial.steps()
    assert not proxy.counts


@pytest.mark.parametrize(
    "kind", ["events/", "index/", "collections/", "training_job_end", "prefix=index", "prefix=coll"]
)
@pytest.mark.parametrize("what", ["flip", "nonsense"])
def test_object_when_spoiled_on_its_way_for_good_then_an_error_of_ours_or_a_problem(
    small_trial, bucket, upload, proxy, kind, what
):
    """Every kind of object and listing: nothing bare, no wrong value, and the rest is read."""
    folder, truth = small_trial
    upload(folder, bucket, "t")
    backend = S3Backend(bucket, "t", S3Options(endpoint_url=proxy.url, num_attempts=2), sleep=lambda _: None)
    is_listing = kind.startswith("prefix")
    proxy.spoil = lambda request, path: (
        ("nonsense" if is_listing else what)
        if kind in path.replace("%2F", "/").replace("prefix=t/", "prefix=") and (request == "LIST") is is_listing
        else None
    )
    try:
        found = everything(Trial("t", backend, polling=Polling(sleep=lambda _: None), wait_seconds=0))
    except (StorageError, TrialNotFoundError, MissingCollectionFiles):
        return
    assert all(isinstance(value, type) or value == truth[at] for at, value in found.items())


KINDS = (503, 500, "cut", "drop", "flip", "silent", "stall", "not there yet", "not listed yet")


class Schedule:
    """One course of faults, while a trial of three steps and two workers is opened and read.

    One silence at most, because it takes its time. An object that is listed late stays so until the faults are over.
    """

    def __init__(self, seed, bucket, truth, proxy, options):
        self.rng = random.Random(seed)
        self.seed = seed
        self.truth = truth
        self.proxy = proxy
        self.backend = S3Backend(bucket, "t", options, sleep=lambda seconds: None)
        self.rate = self.rng.choice([0.05, 0.2, 0.6])
        self.kinds = self.rng.sample(KINDS, self.rng.randint(1, 4))
        self.late = {
            key: (step, worker)
            for step, worker in self.rng.sample([(step, f"worker_{rank}") for step in range(3) for rank in range(2)], 2)
            for key in [f"t/{index_key(step, worker)}"]
        }
        self.late_step = f"{self.rng.randrange(3):012d}"
        self.silences_left = 1

    def spoil(self, kind, path):
        if "not listed yet" in self.kinds and kind == "LIST":
            return list(self.late)
        if self.rng.random() > self.rate:
            return None
        what = self.rng.choice(self.kinds)
        if what == "not listed yet":
            return None
        if what == "not there yet":
            return 404 if kind in ("GET", "HEAD") and f"events/{self.late_step}" in path else None
        if what == "flip" and kind == "LIST":  # a listing has no checksum
            return "nonsense"
        if what in ("silent", "stall"):
            self.silences_left -= 1
            return what if self.silences_left >= 0 else None
        return what

    def run(self):
        self.proxy.spoil = self.spoil
        try:
            trial = Trial("t", self.backend, polling=Polling(sleep=lambda seconds: None), wait_seconds=0)
            found = everything(trial)
        except StorageError:  # said so, and nothing else may become of a fault here
            return
        finally:
            self.proxy.spoil = lambda kind, path: None
        self.check(trial, found)

    def check(self, trial, found):
        failed = {key for key, value in found.items() if isinstance(value, type)}
        for key, value in found.items():
            assert key in failed or value == self.truth[key], self.seed
            assert value is not CorruptRecordError, self.seed
        paths = [problem.path for problem in trial.problems()]
        for _, step, worker in failed:
            assert any(path.endswith(f"{step:012d}_{worker}.tfevents") for path in paths), self.seed
        late = set(self.late.values()) if "not listed yet" in self.kinds else set()
        for _, step, worker in set(self.truth) - set(found):
            assert (step, worker) in late or any(path.endswith(f"{step:012d}_{worker}.json") for path in paths), (
                self.seed
            )
        assert len(set(paths)) == len(paths), self.seed
        trial.refresh_data()
        assert everything(trial) == self.truth, self.seed  # once the faults are over, everything is there


@pytest.mark.parametrize(
    ("what", "of_what"), [("silent", "LIST"), ("silent", "HEAD"), ("silent", "GET"), ("stall", "GET")]
)
def test_server_when_it_falls_silent_then_an_error_after_the_time_out(
    small_trial, bucket, upload, proxy, what, of_what
):
    """Every wait for bytes has an end, however often it is tried again; what was lost is named, and comes later."""
    folder, truth = small_trial
    upload(folder, bucket, "t")
    options = S3Options(endpoint_url=proxy.url, num_attempts=2, read_seconds=0.2)
    backend = S3Backend(bucket, "t", options, sleep=lambda seconds: None)
    if of_what != "GET":
        proxy.spoil = lambda kind, path: what if kind == of_what else None
        with pytest.raises(StorageError, match=r"timeout|timed out") as caught:
            Trial("t", backend, wait_seconds=0)
        assert caught.value.path.startswith(f"s3://{bucket}/t")
        return
    proxy.spoil = lambda kind, path: what if kind == "GET" and "events/000000000001" in path else None
    trial = Trial("t", backend)
    with pytest.raises(StorageError, match=r"timeout|timed out"):
        trial.tensor("weight").value(1, worker="worker_1")
    assert trial.tensor("weight").value(2).shape == (20, 30)
    (problem,) = trial.problems()
    assert problem.path == f"s3://{bucket}/t/{event_key(1, 'worker_1')}"
    proxy.spoil = lambda kind, path: None
    assert everything(trial) == truth


def test_follow_when_listings_lag_behind_then_every_step_is_given(bucket, proxy, options, monkeypatch):
    """Steps that are listed after later ones, and after the end marker can be seen, come late but come."""
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "1")
    writer = SmallTrial(f"s3://{bucket}/live", s3=options)
    for step in range(6):
        writer.write(modes.TRAIN, step, {"loss": [step]})
    late = [f"live/{index_key(step, 'worker_0')}" for step in (2, 5)]
    proxy.spoil = lambda kind, path: late if kind == "LIST" else None
    now = 0.0

    def sleep(seconds):
        nonlocal now
        now += seconds
        if now > 4:  # by now step 2 lies behind steps that are complete, and that are not listed any more
            late[:] = late[-1:]
        if now > 60 and not trial.loaded_all_steps:
            writer.end()
        if seconds == 1:  # the delay at the end
            late.clear()

    polling = Polling(poll_seconds=2, clock=lambda: now, sleep=sleep)
    trial = create_trial(f"s3://{bucket}/live", s3=options, polling=polling)
    given = [(step, now) for step in trial.follow()]
    assert [step for step, _ in given] == [0, 1, 3, 4, 2, 5]
    assert dict(given)[2] < 40  # found by the look at everything that comes each half minute
    assert trial.tensor("loss").values() == {step: step for step in range(6)}
    assert trial.problems() == ()


def test_file_when_written_and_read_by_hand_then_is_the_same_on_s3(bucket, s3_server, monkeypatch):
    """Rule containers write and read single event files."""
    host, port = s3_server
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    with FileWriter(f"s3://{bucket}/job", "worker_0", step=4) as writer:
        writer.write_tensor(np.arange(3.0), "x", mode=modes.EVAL, mode_step=1)
    with FileReader(writer.name()) as reader:
        [(name, step, value, mode, mode_step)] = reader.read_tensors()
    assert (name, step, value.tolist(), mode, mode_step) == ("x", 4, [0.0, 1.0, 2.0], modes.EVAL, 1)
    with pytest.raises(FileNotFoundError, match="nothing"):
        FileReader(f"s3://{bucket}/job/nothing.tfevents")
