"""Many buffers reach a file as one, whatever a call takes of them."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.store.backends import fileio


@given(
    parts=st.lists(st.binary(max_size=40), max_size=12),
    start=st.integers(0, 9),
    max_bytes=st.integers(1, 30),
    max_parts=st.integers(1, 4),
    taken=st.integers(1, 30),
)
def test_write_in_calls_of_any_size_gives_the_parts_behind_each_other(
    tmp_path_factory, parts, start, max_bytes, max_parts, taken
):
    """Cutting into calls, and calls that take less than they are given, lose and repeat nothing."""
    path = tmp_path_factory.mktemp("parts") / "file"
    real = os.pwritev

    def pwritev(descriptor, given, at):
        assert 0 < sum(map(len, given)) <= max_bytes
        assert len(given) <= max_parts
        return real(descriptor, [b"".join(given)[:taken]], at)

    with pytest.MonkeyPatch.context() as patch, path.open("wb") as file:
        patch.setattr(os, "pwritev", pwritev)
        patch.setattr(fileio, "_MAX_BYTES_PER_CALL", max_bytes)
        patch.setattr(fileio, "_MAX_PARTS_PER_CALL", max_parts)
        fileio.write_gathered(file.fileno(), start, parts)
    assert path.read_bytes() == (bytes(start) if any(parts) else b"") + b"".join(parts)


@given(content=st.binary(max_size=60), start=st.integers(0, 70), lengths=st.lists(st.integers(0, 30), max_size=6))
def test_read_into_several_buffers_fills_them_in_order(tmp_path_factory, content, start, lengths):
    """What is there comes into the buffers one after the other; how much that was is told."""
    path = tmp_path_factory.mktemp("parts") / "file"
    path.write_bytes(content)
    room = bytearray(sum(lengths))
    targets, at = [], 0
    for length in lengths:
        targets.append(memoryview(room)[at : at + length])
        at += length
    with path.open("rb") as file:
        got = fileio.read_scattered(file.fileno(), start, targets)
        assert fileio.read_exactly(file.fileno(), start, at) == content[start : start + at]
    assert bytes(room[:got]) == content[start : start + at]


class TestAtomicWrite:
    def test_atomic_write_replaces_the_file_and_leaves_nothing_else(self, tmp_path):
        """The new content takes the place of the old one, and no temporary file remains."""
        (tmp_path / "state").write_bytes(b"old")
        fileio.atomic_write(tmp_path / "state", b"new")
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"state": b"new"}

    @pytest.mark.parametrize("make_link", [os.symlink, os.link])
    @pytest.mark.parametrize("name", ["state", "state.tmp"])
    def test_atomic_write_when_its_files_are_links_then_their_targets_stay(self, tmp_path, name, make_link):
        """A link that waits under either name is replaced, not followed."""
        (tmp_path / "outside").write_bytes(b"outside")
        make_link(tmp_path / "outside", tmp_path / name)
        fileio.atomic_write(tmp_path / "state", b"new")
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"state": b"new", "outside": b"outside"}

    @pytest.mark.parametrize("failure", [OSError(28, "full"), KeyboardInterrupt()], ids=["full disk", "Ctrl-C"])
    def test_renamed_at_end_when_the_block_fails_then_the_old_file_stays_alone(self, tmp_path, failure):
        """A failure, or an interruption, removes the temporary file and keeps the content from before."""
        (tmp_path / "state").write_bytes(b"old")
        with pytest.raises(type(failure)), fileio.renamed_at_end(tmp_path / "half", tmp_path / "state"):
            (tmp_path / "half").write_bytes(b"ha")
            raise failure
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"state": b"old"}
