"""Contract tests for back ends: subclass `BackendContract` in a test module and define the fixture `backend`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.store.backends.base import Backend


class BackendContract:
    """Tests of one back end; subclasses provide an empty one as the fixture `backend`."""

    @pytest.fixture
    def backend(self) -> Backend:
        """Return an empty back end."""
        raise AssertionError("the subclass must provide the fixture 'backend'")

    def test_read_returns_what_write_stored(self, backend: Backend) -> None:
        """Parts are concatenated."""
        backend.write("events/a", (b"one", bytearray(b"two"), memoryview(b"three")))
        assert backend.read("events/a") == b"onetwothree"

    def test_read_with_range_returns_that_part(self, backend: Backend) -> None:
        """A range is truncated at the end of the object."""
        backend.write("a", (b"0123456789",))
        assert backend.read("a", 2, 3) == b"234"
        assert backend.read("a", 8) == b"89"
        assert backend.read("a", 8, 10**15) == b"89"
        assert backend.read("a", 20, 5) == b""

    def test_read_when_missing_returns_none(self, backend: Backend) -> None:
        """A missing object is a result, not an error."""
        backend.write("a/b", (b"",))
        assert backend.read("nothing") is None
        assert backend.read("a/b/c") is None

    def test_read_into_fills_places_one_after_the_other(self, backend: Backend) -> None:
        """Any number of buffers is filled up to the end of the object; none if the object is missing."""
        content = bytes(range(256)) * 20
        backend.write("a", (content,))
        places = [bytearray(number % 3) for number in range(4000)]
        targets = [memoryview(place) for place in places]
        assert backend.read_into("a", 7, targets) == 3999
        assert b"".join(places) == content[7:4006]
        last = bytearray(9)
        assert backend.read_into("a", len(content) - 4, [memoryview(last)]) == 4
        assert last == content[-4:] + bytes(5)
        assert backend.read_into("nothing", 0, targets) == 0

    def test_write_when_present_replaces(self, backend: Backend) -> None:
        """A second write replaces the first one completely, and changes the listed version."""
        backend.write("a", (b"long content",))
        (before,) = backend.list()
        backend.write("a", (b"short",))
        (after,) = backend.list()
        assert backend.read("a") == b"short"
        assert after.size == len(b"short")
        assert before.version != after.version

    def test_write_many_parts_keeps_their_order(self, backend: Backend) -> None:
        """More parts than fit into one system call are written in order."""
        parts = [str(number).encode() for number in range(5000)]
        backend.write("a", parts)
        assert backend.read("a") == b"".join(parts)

    def test_list_returns_keys_below_the_prefix_sorted(self, backend: Backend) -> None:
        """Only objects below the prefix are listed, in the order of their keys."""
        keys = ["index/000000000/b", "index/000000000/a", "index/000000001/a", "events/1", "end"]
        for key in keys:
            backend.write(key, (b"12",))
        assert [info.key for info in backend.list()] == sorted(keys)
        assert [info.key for info in backend.list("index/")] == sorted(keys[:3])
        assert [info.key for info in backend.list("index/000000000/")] == sorted(keys[:2])
        assert {info.size for info in backend.list()} == {2}
        assert backend.list("nothing/") == []

    def test_create_when_present_returns_false(self, backend: Backend) -> None:
        """Only one of several calls that create the same key succeeds."""
        with ThreadPoolExecutor(4) as pool:
            won = list(pool.map(backend.create, ["claim"] * 8))
        assert sum(won) == 1
        assert backend.read("claim") == b""

    def test_create_with_content_returns_whether_it_is_there_now(self, backend: Backend) -> None:
        """Of several calls, one succeeds, and the object has its content and no other."""
        contents = [str(number).encode() * 1000 for number in range(8)]
        with ThreadPoolExecutor(4) as pool:
            won = list(pool.map(backend.create, ["a/claim"] * 8, contents))
        assert sum(won) == 1
        assert backend.read("a/claim") == contents[won.index(True)]
        assert [info.key for info in backend.list()] == ["a/claim"]

    def test_age_is_that_of_the_last_write(self, backend: Backend) -> None:
        """A back end may not know the age; a missing object has none."""
        backend.write("a", [b"x"])
        age = backend.age_seconds("a")
        assert age is None or -1 <= age < 600  # some back ends know whole seconds only
        assert backend.age_seconds("b") is None

    def test_delete_when_missing_is_fine(self, backend: Backend) -> None:
        """Deleting removes the object; deleting it again has no effect."""
        backend.write("a", (b"",))
        assert backend.exists("a")
        backend.delete("a")
        backend.delete("a")
        assert not backend.exists("a")

    @pytest.mark.parametrize("key", ["", "/etc/passwd", "../outside", "events/../../outside", "a\\b", "a\0b"])
    def test_key_outside_the_root_is_refused(self, backend: Backend, key: str) -> None:
        """Keys outside the root are rejected."""
        attempts: list[tuple[Any, ...]] = [(backend.read, key), (backend.write, key, (b"",)), (backend.exists, key)]
        for call, *arguments in attempts:
            with pytest.raises(SMDebugValueError, match="relative path"):
                call(*arguments)
