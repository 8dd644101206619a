from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.local import archives
from sagemaker_debug_ext.local.archives import files_below, pack, unpack

NAMES = st.text("abcXYZ-_. é", min_size=1, max_size=8).filter(lambda name: name not in {".", ".."})
TREES = st.recursive(st.binary(max_size=50), lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=6)


def write_tree(folder: Path, tree: object) -> None:
    folder.mkdir()
    for name, content in tree.items() if isinstance(tree, dict) else ():
        if isinstance(content, dict):
            write_tree(folder / name, content)
        else:
            (folder / name).write_bytes(content)


def contents(folder: Path) -> dict[str, bytes]:
    return {name: path.read_bytes() for name, path in files_below(folder)}


def archive_of(tmp_path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    path = tmp_path / "archive.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member, b""


@given(tree=TREES)
def test_unpack_of_packed_folder_gives_the_same_files(tmp_path_factory: pytest.TempPathFactory, tree: object) -> None:
    """Packing and unpacking are inverse of each other for everything but empty folders."""
    base = tmp_path_factory.mktemp("tree")
    write_tree(base / "source", tree)
    with (base / "archive.tar.gz").open("wb") as file:
        pack(files_below(base / "source"), file)
    unpack(base / "archive.tar.gz", base / "target")
    assert contents(base / "target") == contents(base / "source")


def test_pack_of_same_files_gives_same_bytes_whenever_and_wherever(tmp_path: Path) -> None:
    """Times, owners and the order on disk leave no trace, so an archive can be compared by its bytes."""
    archives = []
    for order in (("b", "a"), ("a", "b")):
        folder = tmp_path / "-".join(order)
        folder.mkdir()
        for name in order:
            (folder / name).write_text(name)
            os.utime(folder / name, (len(archives), len(archives)))
        archives.append(io.BytesIO())
        pack(files_below(folder), archives[-1])
    assert archives[0].getvalue() == archives[1].getvalue()


def test_pack_keeps_programs_executable_and_follows_links(tmp_path: Path) -> None:
    """A script can be run after it has travelled, and a linked file travels as a file."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "run.sh").write_text("#!/bin/sh\n")
    (source / "run.sh").chmod(0o700)
    (tmp_path / "elsewhere").write_text("shared")
    (source / "linked").symlink_to(tmp_path / "elsewhere")
    (source / "dangling").symlink_to(tmp_path / "nowhere")
    os.mkfifo(source / "pipe")
    with (tmp_path / "archive").open("wb") as file:
        pack(files_below(source), file)
    unpack(tmp_path / "archive", tmp_path / "target")
    assert contents(tmp_path / "target") == {"linked": b"shared", "run.sh": b"#!/bin/sh\n"}
    assert os.access(tmp_path / "target" / "run.sh", os.X_OK)
    assert not (tmp_path / "target" / "linked").is_symlink()


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil"])
def test_unpack_when_a_member_would_lie_elsewhere_unpacks_nothing(tmp_path: Path, name: str) -> None:
    """One unsafe name refuses the archive before anything is written."""
    archive = archive_of(tmp_path, (tarfile.TarInfo("good"), b"1"), (tarfile.TarInfo(name), b"2"))
    with pytest.raises(SMDebugValueError, match="outside its folder"):
        unpack(archive, tmp_path / "target")
    assert not (tmp_path / "target").exists()
    assert not (tmp_path / "evil").exists()


def test_unpack_when_a_member_is_a_device_is_refused(tmp_path: Path) -> None:
    """Only files and folders come out of an archive."""
    member = tarfile.TarInfo("device")
    member.type = tarfile.CHRTYPE
    with pytest.raises(SMDebugValueError, match="neither a file nor a folder"):
        unpack(archive_of(tmp_path, (member, b"")), tmp_path / "target")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE], ids=["symbolic", "hard"])
def test_unpack_of_link_within_archive_copies_the_file(tmp_path: Path, kind: bytes) -> None:
    """A link to a file of the archive becomes that file."""
    archive = archive_of(tmp_path, (tarfile.TarInfo("real"), b"content"), link("alias", "real", kind))
    unpack(archive, tmp_path / "target")
    assert contents(tmp_path / "target") == {"alias": b"content", "real": b"content"}
    assert not (tmp_path / "target" / "alias").is_symlink()


@pytest.mark.parametrize("target", ["/etc/passwd", "../../secret", "missing", "folder"])
def test_unpack_of_link_that_leads_elsewhere_is_refused(tmp_path: Path, target: str) -> None:
    """A link out of the archive, or to no file of it, is an error and creates no link."""
    directory = tarfile.TarInfo("folder")
    directory.type = tarfile.DIRTYPE
    with pytest.raises(SMDebugValueError, match="cannot be unpacked"):
        unpack(archive_of(tmp_path, (directory, b""), link("alias", target)), tmp_path / "target")
    assert not (tmp_path / "target" / "alias").exists()


def test_unpack_of_links_to_links_copies_the_file(tmp_path: Path) -> None:
    """A short chain of links leads to its file, from folder to folder."""
    members = [(tarfile.TarInfo("a/real"), b"1"), link("b/one", "../a/real"), link("two", "b/one", tarfile.LNKTYPE)]
    unpack(archive_of(tmp_path, *members), tmp_path / "target")
    assert contents(tmp_path / "target") == {"a/real": b"1", "b/one": b"1", "two": b"1"}


@pytest.mark.parametrize("last", ["0", "real"])
def test_unpack_of_many_or_endless_links_is_refused(tmp_path: Path, last: str) -> None:
    """Thousands of links from one to the next, or in a circle, end in an error of ours."""
    links = [link(str(number), str(number + 1)) for number in range(3000)]
    archive = archive_of(tmp_path, (tarfile.TarInfo("real"), b"1"), *links, link("3000", last))
    with pytest.raises(SMDebugValueError, match="is a link to something"):
        unpack(archive, tmp_path / "target")
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize(
    ("limit", "value", "names"),
    [
        ("MAX_MEMBERS", 2, ["a", "b", "c"]),
        ("MAX_BYTES", 2000, ["a", "b", "c"]),
        ("MAX_DEPTH", 64, ["a/" * 1100 + "b"]),
        ("MAX_DEPTH", 64, ["x" * 3000]),
    ],
)
def test_unpack_when_larger_than_allowed_then_unpacks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, names: list[str]
) -> None:
    """Number, size and depth are limited, so that an archive cannot fill the disk or the stack."""
    archive = archive_of(tmp_path, *((tarfile.TarInfo(name), bytes(1000)) for name in names))
    monkeypatch.setattr(archives, limit, value)
    with pytest.raises(SMDebugValueError, match=r"must (hold|have) at most"):
        unpack(archive, tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_unpack_when_links_multiply_a_file_then_copies_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link becomes a copy, and takes as much of the limit."""
    monkeypatch.setattr(archives, "MAX_BYTES", 2500)
    links = [link(f"link{number}", "real") for number in range(2)]
    with pytest.raises(SMDebugValueError, match="must hold at most"):
        unpack(archive_of(tmp_path, (tarfile.TarInfo("real"), bytes(1000)), *links), tmp_path / "target")


def test_unpack_when_a_file_has_the_name_of_a_folder_then_refused(tmp_path: Path) -> None:
    """Members that exclude each other are damage, not an error of the system."""
    archive = archive_of(tmp_path, (tarfile.TarInfo("a"), b"1"), (tarfile.TarInfo("a/b"), b"2"))
    with pytest.raises(SMDebugValueError, match="cannot be unpacked"):
        unpack(archive, tmp_path / "target")


def test_unpack_when_headers_announce_each_other_then_refused(tmp_path: Path) -> None:
    """Each long name announces the next header; thousands of them need no stack."""
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 1
    (tmp_path / "a.tar").write_bytes((header.tobuf(tarfile.GNU_FORMAT) + bytes(512)) * 5000)
    with pytest.raises(SMDebugValueError, match="cannot be unpacked"):
        unpack(tmp_path / "a.tar", tmp_path / "target")


@pytest.mark.parametrize("cut", [10, 100, -100, -1])
def test_unpack_of_damaged_archive_names_it_and_unpacks_nothing(tmp_path: Path, cut: int) -> None:
    """An upload that broke off, wherever, is an error that names the archive."""
    archive = archive_of(tmp_path, (tarfile.TarInfo("file"), os.urandom(5000)))
    archive.write_bytes(archive.read_bytes()[:cut])
    with pytest.raises(SMDebugValueError, match=r"archive\.tar\.gz"):
        unpack(archive, tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_unpack_of_archive_with_a_wrong_byte_unpacks_nothing(tmp_path: Path) -> None:
    """Damage that leaves the length as it was is found too."""
    archive = archive_of(tmp_path, (tarfile.TarInfo("file"), os.urandom(5000)))
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 0xFF
    archive.write_bytes(content)
    with pytest.raises(SMDebugValueError, match=r"archive\.tar\.gz"):
        unpack(archive, tmp_path / "target")
    assert not (tmp_path / "target").exists()
