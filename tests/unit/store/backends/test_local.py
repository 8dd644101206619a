"""The local back end keeps the contract, and never shows half a file."""

import errno
import os
import shutil
import subprocess
import threading
import time

import numpy as np
import pytest

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.store.backends import LocalBackend, open_backend
from sagemaker_debug_ext.store.backends import local as local_module
from sagemaker_debug_ext.testing.backends import BackendContract


class TestLocalBackend(BackendContract):
    @pytest.fixture
    def backend(self, tmp_path):
        return LocalBackend(tmp_path / "trial")


def test_large_object_is_written_whole(tmp_path):
    """An object beyond the size from which space is reserved has exactly its bytes."""
    content = os.urandom(3 << 20)
    backend = LocalBackend(tmp_path)
    backend.write("big", (content[:5], content[5:]))
    assert backend.read("big") == content
    assert (tmp_path / "big").stat().st_size == len(content)


def test_write_when_the_system_takes_less_at_a_time_continues(tmp_path, monkeypatch):
    """Short writes and short reads are continued where they stopped."""
    real_pwritev, real_pread = os.pwritev, os.pread
    monkeypatch.setattr(os, "pwritev", lambda fd, parts, at: real_pwritev(fd, [bytes(parts[0])[:3]], at))
    monkeypatch.setattr(os, "pread", lambda fd, size, at: real_pread(fd, min(size, 4), at))
    backend = LocalBackend(tmp_path)
    backend.write("a", (b"0123456789", b"", b"abc"))
    assert backend.read("a") == b"0123456789abc"


def test_write_when_space_cannot_be_reserved_writes_anyway(tmp_path, monkeypatch):
    """File systems without reservation are written the ordinary way."""

    def refuse(*_):
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)
    LocalBackend(tmp_path).write("a", (bytes(2 << 20),))
    assert (tmp_path / "a").stat().st_size == 2 << 20


def test_write_when_the_disk_is_full_leaves_the_old_object(tmp_path, monkeypatch):
    """A failed replacement leaves what was there, and no temporary file."""
    backend = LocalBackend(tmp_path)
    backend.write("a", (b"old",))

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwritev", fail)
    with pytest.raises(OSError, match="No space"):
        backend.write("a", (b"new",))
    assert backend.read("a") == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_list_does_not_show_temporary_files(tmp_path):
    """Half-written files stay invisible."""
    (tmp_path / "a.json.tmp").write_text("{")
    (tmp_path / "a.json").write_text("{}")
    assert [info.key for info in LocalBackend(tmp_path).list()] == ["a.json"]


def test_reader_beside_a_writer_sees_whole_objects_only(tmp_path):
    """While an object is replaced again and again, every read gives one version of it."""
    backend = LocalBackend(tmp_path)
    versions = [bytes([letter]) * 50_000 for letter in b"abc"]
    backend.write("x", (versions[0],))
    stop = threading.Event()

    def rewrite():
        while not stop.is_set():
            for version in versions:
                backend.write("x", (version[:20_000], version[20_000:]))

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        seen = {backend.read("x") for _ in range(300)}
    finally:
        stop.set()
        thread.join()
    assert seen <= set(versions)


@pytest.fixture
def outside(tmp_path):
    """Return a folder beside the trial with a file in it."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_text("secret")
    return folder


def test_links_when_below_the_root_then_passed_over(tmp_path, outside):
    """Nothing that a trial holds leads out of it: links to files and to folders are neither listed nor read."""
    backend = LocalBackend(tmp_path / "trial")
    backend.write("events/a", (b"1",))
    (tmp_path / "trial/events/file").symlink_to(outside / "secret")
    (tmp_path / "trial/events/folder").symlink_to(outside)
    (tmp_path / "trial/index").symlink_to(outside)
    assert [info.key for info in backend.list()] == ["events/a"]
    assert backend.list("index/") == []
    assert [info.key for info in backend.watch("index/").look().objects] == []
    for key in ("events/file", "events/folder/secret", "index/secret"):
        assert backend.read(key) is None
        assert backend.read(key, 0, 3) is None
        assert backend.read_aligned(key, 0, 3, lambda head: None) is None


def test_root_when_a_link_then_followed(tmp_path, outside):
    """The folder that the user names may be a link, to be read, written and made."""
    (tmp_path / "trial").symlink_to(outside)
    backend = LocalBackend(tmp_path / "trial")
    assert [info.key for info in backend.list()] == ["secret"]
    assert backend.read("secret") == b"secret"
    backend.write("a/b", (b"1",))
    assert backend.create("c")
    assert (outside / "a/b").read_bytes() == b"1"
    backend.delete("c")
    assert not backend.exists("c")
    below = LocalBackend(tmp_path / "trial/not/there")
    below.write("a", (b"1",))
    assert (outside / "not/there/a").exists()


def contents(folder):
    """Return what a folder holds, and the links to it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("at", ["events", "events/000000000000"])
def test_changes_when_a_folder_is_a_link_then_nothing_outside_changes(tmp_path, outside, at):
    """A step written, a mark made and a file deleted through a linked folder stay where the trial is."""
    backend = LocalBackend(tmp_path / "trial")
    link = tmp_path / "trial" / at
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    (outside / "000000000000").mkdir(exist_ok=True)
    (outside / "000000000000/secret").write_text("deeper")
    before = contents(outside)
    key = f"{at}/000000000000/secret" if at == "events" else f"{at}/secret"
    with pytest.raises(NotADirectoryError, match=f"a link or a file is in the way of a folder; remove it: '{tmp_path}"):
        backend.write(key, (b"new",))
    with pytest.raises(NotADirectoryError, match="remove it"):
        backend.create(key + "2")
    backend.delete(key)
    assert not backend.exists(key)
    assert contents(outside) == before
    link.unlink()
    backend.write(key, (b"new",))
    assert backend.read(key) == b"new"


def test_changes_when_a_folder_is_replaced_by_a_link_later_then_nothing_outside_changes(tmp_path, outside):
    """A folder that was written to before is looked at anew."""
    backend = LocalBackend(tmp_path / "trial")
    backend.write("index/a", (b"1",))
    shutil.rmtree(tmp_path / "trial/index")
    (tmp_path / "trial/index").symlink_to(outside)
    with pytest.raises(NotADirectoryError):
        backend.write("index/secret", (b"new",))
    backend.delete("index/secret")
    assert contents(outside) == {"secret": b"secret"}


@pytest.mark.parametrize("make_link", [os.symlink, os.link])
@pytest.mark.parametrize("name", ["index", "index.tmp"])
def test_write_when_its_files_are_links_then_their_targets_stay(tmp_path, outside, name, make_link):
    """The object replaces a link of its name, and the unfinished one does not go through a link that waits for it."""
    backend = LocalBackend(tmp_path / "trial")
    (tmp_path / "trial/consolidated").mkdir(parents=True)
    make_link(outside / "secret", tmp_path / "trial/consolidated" / name)
    backend.write("consolidated/index", (b"new",))
    assert contents(outside) == {"secret": b"secret"}
    assert contents(tmp_path / "trial") == {"consolidated/index": b"new"}


def test_marks_when_they_are_links_then_refused_and_targets_stay(tmp_path, outside):
    """A link is no mark: it is not seen, not made through, and only itself deleted."""
    backend = LocalBackend(tmp_path / "trial")
    (tmp_path / "trial").mkdir()
    for target in (outside / "secret", outside / "new"):
        (tmp_path / "trial/end").symlink_to(target)
        assert not backend.exists("end")
        with pytest.raises(FileExistsError, match=f"in the way of a file; remove it: '{tmp_path}/trial/end'"):
            backend.create("end")
        backend.delete("end")
    assert contents(outside) == {"secret": b"secret"}
    assert backend.create("end")


def test_changes_when_they_fail_then_the_error_names_the_whole_path(tmp_path):
    """Whoever reads the message finds the file."""
    backend = LocalBackend(tmp_path)
    (tmp_path / "a/b").mkdir(parents=True)
    with pytest.raises(IsADirectoryError, match=f"{tmp_path}/a/b"):
        backend.write("a/b", (b"1",))
    assert os.listdir(tmp_path / "a") == ["b"]


def test_pipe_when_under_a_name_of_the_trial_then_not_waited_for(tmp_path):
    """A pipe that nobody writes to does not hold the reader up."""
    os.mkfifo(tmp_path / "pipe")
    backend = LocalBackend(tmp_path)
    assert backend.list() == []
    assert backend.read("pipe") is None
    assert backend.read("pipe", 0, 10) is None


def test_read_when_a_folder_has_the_name_then_there_is_no_object(tmp_path):
    """A folder is no object, however little of it is asked for."""
    (tmp_path / "folder").mkdir()
    backend = LocalBackend(tmp_path)
    assert backend.read("folder") is None
    assert backend.read("folder", 0, 10) is None
    assert backend.read("folder", -1, 10) is None


@pytest.mark.parametrize("start", [3, 4, 1 << 40, (1 << 63) - 1])
def test_read_when_start_is_beyond_the_end_then_there_is_nothing(tmp_path, start):
    """Where a damaged index points to nothing, nothing is read."""
    backend = LocalBackend(tmp_path)
    backend.write("a", (b"123",))
    assert backend.read("a", start, 10) == b""


def test_read_aligned_when_asked_then_content_starts_where_numbers_may(tmp_path):
    """The content lies at an address that suits all numbers, and a length beyond the file allocates nothing."""
    content = os.urandom(100_000)
    backend = LocalBackend(tmp_path)
    backend.write("a", (content,))
    seen = []
    found = backend.read_aligned("a", 7, 1 << 60, lambda head: seen.append(bytes(head)) or 41)
    assert bytes(found) == content[7:]
    assert seen == [content[7 : 7 + (1 << 12)]]
    assert np.frombuffer(found, np.uint8)[41:].ctypes.data % 64 == 0


def settle(folder):
    """Let a folder look as if nothing had happened in it for long."""
    os.utime(folder, ns=(1, time.time_ns() - 10**10 + 1))


def test_watch_when_nothing_happened_then_reads_no_folder(tmp_path, monkeypatch):
    """A look at folders that have not changed costs their times only."""
    backend = LocalBackend(tmp_path)
    for number in range(3):
        backend.write(f"index/{number}/a", (b"1",))
    watch = backend.watch("index/")
    assert [info.key for info in watch.look().objects] == ["index/0/a", "index/1/a", "index/2/a"]
    for folder in ("index/0", "index/1", "index/2", "index"):
        settle(tmp_path / folder)
    assert watch.look().objects == []
    scanned = []
    scandir = os.scandir
    monkeypatch.setattr(local_module.os, "scandir", lambda path: scanned.append(path) or scandir(path))
    assert watch.look() == ([], True)
    assert scanned == []
    backend.write("index/1/b", (b"1",))
    assert [info.key for info in watch.look().objects] == ["index/1/b"]
    assert scanned == [f"{tmp_path}/index/1"]


def test_watch_when_a_file_is_replaced_or_forgotten_then_reported_again(tmp_path):
    """A new file under a known name is news, and so is one that could not be used before."""
    backend = LocalBackend(tmp_path)
    backend.write("index/0/a", (b"1",))
    backend.write("index/0/b", (b"1",))
    watch = backend.watch("index/")
    watch.look()
    backend.write("index/0/a", (b"2",))
    changes = watch.look()
    assert [info.key for info in changes.objects] == ["index/0/a"]
    assert not changes.is_snapshot
    assert watch.look().objects == []
    watch.forget("index/0/b")
    assert [info.key for info in watch.look().objects] == ["index/0/b"]


def test_watch_when_a_file_goes_and_another_takes_its_name_and_number_then_reported(tmp_path):
    """A step that is taken out of sight and written again is news, whatever number the system gives its file."""
    backend = LocalBackend(tmp_path)
    for step in range(100):
        backend.write(f"index/0/{step:03}", (b"1",))
    watch = backend.watch("index/")
    watch.look()
    for key in ("index/0/099", "index/0/000"):
        (tmp_path / key).unlink()
        backend.write(key, (b"other",))
        os.utime(tmp_path / key, ns=(2, 2))
    assert "index/0/099" in [info.key for info in watch.look().objects]
    watch.look_at_all()
    assert watch.look_at_all() == ([], True)
    (tmp_path / "index/0/000").write_bytes(b"in place")
    assert [info.key for info in watch.look_at_all().objects] == ["index/0/000"]


def test_watch_when_folders_have_been_still_then_one_look_is_enough(tmp_path, monkeypatch):
    """A listing is of one instant if, as far as their times can tell, no folder has changed while it was read."""
    hour_ns = 3600 * 10**9
    monkeypatch.setattr(local_module, "_FINE_CLOCK_NS", hour_ns)
    monkeypatch.setattr(local_module, "_COARSE_CLOCK_NS", hour_ns)
    backend = LocalBackend(tmp_path)
    for key in ("index/0/a", "index/1/a"):
        backend.write(key, (b"x",))
    watch = backend.watch("index/")
    changes = watch.look()
    assert (len(changes.objects), changes.is_snapshot) == (2, False)
    for key, age_ns in (("index/0/b", 2 * hour_ns), ("index/1/b", 3 * hour_ns), ("index/1/c", hour_ns // 60)):
        backend.write(key, (b"x",))
        changed_at_ns = time.time_ns() - age_ns
        for folder in ("index", "index/0", "index/1"):
            os.utime(tmp_path / folder, ns=(changed_at_ns, changed_at_ns))
        changes = watch.look()
        assert ([info.key for info in changes.objects], changes.is_snapshot) == ([key], age_ns > hour_ns)


def test_watch_when_there_are_many_folders_then_settled_ones_are_left_alone(tmp_path):
    """A look costs no more in a long trial; what comes up late there is found by the look at everything."""
    backend = LocalBackend(tmp_path)
    for number in range(20):
        backend.write(f"index/{number:02}/a", (b"x",))
    watch = backend.watch("index/")
    watch.look()
    for number in (3, 17, 18, 19):
        backend.write(f"index/{number:02}/b", (b"x",))
    backend.write("index/20/a", (b"x",))
    found = watch.look("index/18/a").objects
    assert [info.key for info in found] == ["index/18/b", "index/19/b", "index/20/a"]
    assert [info.key for info in watch.look_at_all().objects] == ["index/03/b", "index/17/b"]


def test_watch_when_settled_files_are_rewritten_then_the_look_at_everything_reports_them(tmp_path):
    backend = LocalBackend(tmp_path)
    for number in range(20):
        backend.write(f"index/{number:02}/a", (b"x",))
    watch = backend.watch("index/")
    watch.look()
    watch.look("index/18/a")
    assert watch.look_at_all().objects == []
    backend.write("index/03/a", (b"other",))
    watch.forget("index/04/a")
    assert [info.key for info in watch.look_at_all().objects] == ["index/03/a", "index/04/a"]
    assert watch.look_at_all().objects == []


def test_watch_when_the_folder_comes_and_goes_then_follows(tmp_path):
    """A folder that is not there yet is no error; one that is gone comes back as new."""
    backend = LocalBackend(tmp_path)
    watch = backend.watch("index/")
    assert watch.look() == ([], True)
    backend.write("index/0/a", (b"1",))
    assert len(watch.look().objects) == 1
    shutil.rmtree(tmp_path / "index")
    assert watch.look() == ([], True)
    backend.write("index/0/a", (b"1",))
    assert len(watch.look().objects) == 1


@pytest.fixture
def deep_root(tmp_path):
    """A folder for deep trees. It is removed by a program that does not recurse, as `shutil.rmtree` of pytest does."""
    yield tmp_path / "deep"
    subprocess.run(["rm", "-rf", str(tmp_path / "deep")], check=True)


def test_folders_when_nested_deeply_then_listed_and_watched_without_stack(deep_root):
    """A thousand and more folders, one in the other, are no trouble, nor is a path that the system cannot name."""
    backend = LocalBackend(deep_root)
    deep = "index/" + "a/" * 1100 + "b"
    backend.write(deep, (b"1",))
    backend.write("index/0/a", (b"1",))
    assert [info.key for info in backend.list("index/")] == ["index/0/a", deep]
    assert [info.key for info in backend.watch("index/").look().objects] == ["index/0/a", deep]
    assert backend.read(deep) == b"1"
    too_deep = "index/" + ("x" * 200 + "/") * 50 + "b"
    backend.write(too_deep, (b"1",))
    assert [info.key for info in backend.list("index/")] == ["index/0/a", deep]
    assert [info.key for info in backend.watch("index/").look().objects] == ["index/0/a", deep]


def test_plain_folders_when_there_are_many_then_not_all_are_remembered(tmp_path, monkeypatch):
    """A reader of a long trial does not keep a name for each folder that it has read from."""
    monkeypatch.setattr(local_module, "_MAX_PLAIN_FOLDERS", 4)
    backend = LocalBackend(tmp_path)
    for number in range(20):
        backend.write(f"events/{number}/a", (b"1",))
        assert backend.read(f"events/{number}/a") == b"1"
    assert len(backend._plain_folders) <= 4


def test_open_backend_expands_the_home_folder(monkeypatch, tmp_path):
    """Blanks are dropped and ~ is the user's home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_backend("  ~/trial ").url == str(tmp_path / "trial")


def test_open_backend_when_out_of_reach_says_what_is_allowed():
    """An address this version cannot read is refused by name."""
    with pytest.raises(SMDebugValueError, match="gopher://x"):
        open_backend("gopher://x")


def test_link_when_repeated_or_replaced_then_the_object_is_the_file(tmp_path):
    backend = LocalBackend(tmp_path / "target")
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_bytes(b"one")
    other.write_bytes(b"two")
    for source in (file, file, other):
        assert backend.link("folder/key", source)
        assert [info.key for info in backend.list()] == ["folder/key"]
        assert backend.read("folder/key") == source.read_bytes()
        assert [path.name for path in (tmp_path / "target/folder").iterdir()] == ["key"]


def test_link_when_the_source_is_missing_or_no_plain_file_then_nothing_is_added(tmp_path):
    backend = LocalBackend(tmp_path / "target")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "file").write_bytes(b"one")
    (tmp_path / "folder").mkdir()
    for name in ("link", "folder", "missing"):
        assert not backend.link("key", tmp_path / name)
    assert backend.list() == []
    assert not backend.exists("key.tmp")
