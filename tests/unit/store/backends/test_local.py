"""The local back end keeps the contract, and never shows half a file."""

import os
import threading

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
    real_writev, real_pread = os.writev, os.pread
    monkeypatch.setattr(local_module.os, "writev", lambda fd, parts: real_writev(fd, [bytes(parts[0])[:3]]))
    monkeypatch.setattr(local_module.os, "pread", lambda fd, size, at: real_pread(fd, min(size, 4), at))
    backend = LocalBackend(tmp_path)
    backend.write("a", (b"0123456789", b"", b"abc"))
    assert backend.read("a") == b"0123456789abc"


def test_write_when_space_cannot_be_reserved_writes_anyway(tmp_path, monkeypatch):
    """File systems without reservation are written the ordinary way."""

    def refuse(*_):
        raise OSError(local_module.errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(local_module.os, "posix_fallocate", refuse, raising=False)
    LocalBackend(tmp_path).write("a", (bytes(2 << 20),))
    assert (tmp_path / "a").stat().st_size == 2 << 20


def test_write_when_the_disk_is_full_leaves_the_old_object(tmp_path, monkeypatch):
    """A failed replacement leaves what was there, and no temporary file."""
    backend = LocalBackend(tmp_path)
    backend.write("a", (b"old",))

    def fail(*_):
        raise OSError(local_module.errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(local_module.os, "writev", fail)
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


def test_open_backend_expands_the_home_folder(monkeypatch, tmp_path):
    """Blanks are dropped and ~ is the user's home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_backend("  ~/trial ").url == str(tmp_path / "trial")


def test_open_backend_when_out_of_reach_says_what_is_allowed():
    """An address this version cannot read is refused by name."""
    with pytest.raises(SMDebugValueError, match="gopher://x"):
        open_backend("gopher://x")
