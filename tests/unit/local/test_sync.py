from __future__ import annotations

import errno
import os
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.local.layout import JobFolder
from sagemaker_debug_ext.local.paths import Locations
from sagemaker_debug_ext.local.sync import ArtifactSync
from sagemaker_debug_ext.store.backends import Buffer, LocalBackend, MemoryBackend
from sagemaker_debug_ext.store.folder_sync import FolderSync
from sagemaker_debug_ext.store.format.keys import CLAIM_KEY, END_KEY, event_key, index_key
from sagemaker_debug_ext.store.job_end import has_ended
from sagemaker_debug_ext.store.reader import read_index, read_tensor
from sagemaker_debug_ext.store.trial_mirror import TensorMirror
from sagemaker_debug_ext.store.writer import NamedTensor, StepData, TrialWriter
from sagemaker_debug_ext.vocabulary import ModeKeys


class Recording(MemoryBackend):
    """Notes the order of writes, and can be full."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[str] = []
        self.full_for: set[str] = set()

    def write(self, key: str, parts: Sequence[Buffer]) -> None:
        if key in self.full_for:
            raise OSError(28, "No space left on device")
        super().write(key, parts)
        self.written.append(key)


def save_step(folder: Path, step: int, value: float = 1.0) -> None:
    TrialWriter(LocalBackend(folder)).write_step(
        StepData(step, ModeKeys.TRAIN, step, [NamedTensor("loss", np.array([value]), 0.0)], [])
    )


def everything(backend: MemoryBackend | LocalBackend) -> dict[str, bytes | None]:
    return {info.key: backend.read(info.key) for info in backend.list()}


def test_tensor_mirror_ships_index_files_last(tmp_path: Path) -> None:
    """A reader of the copy never sees an index file before the event file it points into."""
    writer = TrialWriter(LocalBackend(tmp_path))
    writer.write_collections([{"name": "losses"}], 1)
    for step in (0, 1):
        save_step(tmp_path, step)
    target = Recording()
    mirror = TensorMirror(tmp_path, target)
    shipped = mirror.ship()
    assert target.written == [info.key for info in shipped]
    assert target.written == [
        "collections/000000000/worker_0_collections.json",
        event_key(0, "worker_0"),
        event_key(1, "worker_0"),
        index_key(0, "worker_0"),
        index_key(1, "worker_0"),
    ]


def test_tensor_mirror_ships_only_what_is_new_or_changed(tmp_path: Path) -> None:
    """A second look at the same files copies nothing; a rewritten step is copied again."""
    target = Recording()
    mirror = TensorMirror(tmp_path, target)
    assert mirror.ship() == []
    save_step(tmp_path, 0)
    assert len(mirror.ship()) == 2
    assert mirror.ship() == []
    save_step(tmp_path, 0, value=2.0)
    save_step(tmp_path, 5)
    assert len(mirror.ship()) == 4
    index = read_index(target, index_key(0, "worker_0"))
    assert index.event_file is not None
    assert read_tensor(target, index.event_file, index.tensors["loss"], "loss") == 2.0


def test_tensor_mirror_writes_the_end_marker_only_at_the_end(tmp_path: Path) -> None:
    """The copy ends when the job has, not when a script believes so; half-written files and the claim stay behind."""
    save_step(tmp_path, 0)
    LocalBackend(tmp_path).create(CLAIM_KEY)
    TrialWriter(LocalBackend(tmp_path)).end()
    (tmp_path / "events" / "x.tfevents.tmp").write_text("half")
    target = Recording()
    mirror = TensorMirror(tmp_path, target)
    mirror.ship()
    assert not has_ended(target)
    mirror.ship(final=True)
    assert has_ended(target)
    assert set(everything(target)) == {event_key(0, "worker_0"), index_key(0, "worker_0"), END_KEY}
    assert not target.exists(CLAIM_KEY)


@settings(max_examples=20)
@example([])
@example([[0, 1], [], [1, 1, 2], [0]])  # new steps, a round without any, and steps that are saved again
@given(st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=5))
def test_tensor_mirror_after_any_rounds_equals_the_source(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[list[int]]
) -> None:
    """However saving and shipping take turns, the end is an equal copy."""
    source = tmp_path_factory.mktemp("tensors")
    target = MemoryBackend()
    mirror = TensorMirror(source, target)
    for number, steps in enumerate(rounds):
        for step in steps:
            save_step(source, step, value=number)
        mirror.ship()
    mirror.ship(final=True)
    TrialWriter(LocalBackend(source)).end()
    assert everything(target) == everything(LocalBackend(source))


@pytest.mark.parametrize("can_link", [True, False])
def test_tensor_mirror_when_the_target_is_a_folder_then_files_are_linked_or_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_link: bool
) -> None:
    """Tensors take space once where links are possible; a rewritten step is renewed either way."""
    source, target = tmp_path / "source", LocalBackend(tmp_path / "target")
    mirror = TensorMirror(source, target)
    if not can_link:

        def refuse(*_: object, **__: object) -> None:
            raise OSError(errno.EXDEV, "Invalid cross-device link")

        monkeypatch.setattr(os, "link", refuse)
    for value in (1.0, 2.0):
        save_step(source, 0, value=value)
        assert len(mirror.ship()) == 2
        assert mirror.ship() == []
        key = event_key(0, "worker_0")
        assert (source / key).samefile(target.root / key) == can_link
        assert everything(target) == everything(LocalBackend(source))
    assert not list(target.root.rglob("*.tmp"))


def test_mirror_waits_until_a_file_no_longer_changes(tmp_path: Path) -> None:
    """A file that may still grow is copied when it has come to rest, or when the job has ended."""
    target = MemoryBackend()
    mirror = FolderSync(tmp_path, target)
    file = tmp_path / "logs" / "events.1"
    file.parent.mkdir()
    file.write_text("one")
    assert mirror.ship() == []
    file.write_text("one two")
    assert mirror.ship() == []
    assert [info.key for info in mirror.ship()] == ["logs/events.1"]
    file.write_text("one two three")
    mirror.ship(final=True)
    assert target.read("logs/events.1") == b"one two three"


def test_mirror_passes_over_links_to_folders_and_vanished_files(tmp_path: Path) -> None:
    """What is no file, or no more, does not hold up the rest."""
    (tmp_path / "step-1").mkdir()
    (tmp_path / "step-1" / "model").write_bytes(b"")
    (tmp_path / "latest").symlink_to("step-1")
    target = MemoryBackend()
    FolderSync(tmp_path, target).ship(final=True)
    assert everything(target) == {"step-1/model": b""}


@pytest.mark.parametrize("full_for", [event_key(0, "worker_0"), index_key(0, "worker_0"), END_KEY])
def test_tensor_mirror_on_full_disk_says_so_and_goes_on_later(tmp_path: Path, full_for: str) -> None:
    """A full disk is one clear error that leaves no index file without its data; the next round completes the copy."""
    save_step(tmp_path, 0)
    target = Recording()
    target.full_for = {full_for}
    target.create = lambda key: target.write(key, ()) or True  # type: ignore[method-assign, func-returns-value]
    mirror = TensorMirror(tmp_path, target)
    with pytest.raises(SMDebugRuntimeError, match="No space left on device"):
        mirror.ship(final=True)
    assert not target.exists(index_key(0, "worker_0")) or target.exists(event_key(0, "worker_0"))
    assert not has_ended(target)
    target.full_for = set()
    mirror.ship(final=True)
    assert has_ended(target)


def request(**members: Any) -> dict[str, Any]:
    return {"TrainingJobName": "job-1", "OutputDataConfig": {"S3OutputPath": "s3://bucket/out/"}, **members}


def test_shipping_packs_model_and_output(folder: JobFolder, locations: Locations) -> None:
    """Model and output become the archives of a SageMaker job; empty folders become nothing."""
    folder.model.mkdir(parents=True)
    folder.output_data.mkdir(parents=True)
    shipping = ArtifactSync(request(), folder, locations)
    assert shipping.ship_output(with_model=True) is None
    (folder.model / "weights").write_text("w")
    (folder.output_data / "metrics.json").write_text("{}")
    assert shipping.ship_output(with_model=True) == "s3://bucket/out/job-1/output/model.tar.gz"
    output = locations.path("s3://bucket/out/job-1/output")
    for name, content in (("model", ["weights"]), ("output", ["metrics.json"])):
        with tarfile.open(output / f"{name}.tar.gz") as tar:
            assert tar.getnames() == content
    assert [path.name for path in folder.root.iterdir()] == ["opt"]


def test_shipping_of_failed_job_keeps_the_output_only(folder: JobFolder, locations: Locations) -> None:
    """A failed job leaves no model that could be taken for a good one."""
    for path in (folder.model, folder.output_data):
        path.mkdir(parents=True)
        (path / "file").write_text("x")
    assert ArtifactSync(request(), folder, locations).ship_output(with_model=False) is None
    assert [path.name for path in locations.path("s3://bucket/out/job-1/output").iterdir()] == ["output.tar.gz"]


def test_shipping_without_compression_copies_files(folder: JobFolder, locations: Locations) -> None:
    """With the compression type NONE the model lies there file by file."""
    folder.model.mkdir(parents=True)
    (folder.model / "weights").write_text("w")
    uncompressed = {"S3OutputPath": "s3://bucket/out", "CompressionType": "NONE"}
    shipping = ArtifactSync(request(OutputDataConfig=uncompressed), folder, locations)
    assert shipping.ship_output(with_model=True) == "s3://bucket/out/job-1/output/model/"
    assert locations.path("s3://bucket/out/job-1/output/model/weights").read_text() == "w"


def test_shipping_brings_checkpoints_back_and_out(folder: JobFolder, locations: Locations) -> None:
    """Checkpoints of an earlier job are there at the start, and new ones go to the same place."""
    earlier = locations.path("s3://bucket/checkpoints")
    earlier.mkdir(parents=True)
    (earlier / "step-1").write_text("1")
    shipping = ArtifactSync(request(CheckpointConfig={"S3Uri": "s3://bucket/checkpoints"}), folder, locations)
    shipping.fetch_checkpoints()
    checkpoints = folder.ml / "checkpoints"
    assert (checkpoints / "step-1").read_text() == "1"
    (checkpoints / "step-2").write_text("2")
    shipping.ship(final=True)
    assert (earlier / "step-2").read_text() == "2"


def test_shipping_to_a_used_place_is_refused(folder: JobFolder, locations: Locations) -> None:
    """A trial of an earlier job of that name is neither mixed nor overwritten."""
    hook = {"S3OutputPath": "s3://bucket/out"}
    save_step(locations.path("s3://bucket/out/job-1/debug-output"), 0)
    with pytest.raises(SMDebugRuntimeError, match="already holds the trial"):
        ArtifactSync(request(DebugHookConfig=hook), folder, locations).check_unused()
