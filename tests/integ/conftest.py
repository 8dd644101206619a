"""The golden trials, unpacked."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

SAFELY = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # early releases of Python 3.10 lack it
ARCHIVES = Path(__file__).parents[1] / "golden"


class Golden(NamedTuple):
    """An unpacked golden trial and what is expected of it."""

    name: str
    path: Path
    expected: dict[str, Any]

    @property
    def trial_path(self) -> str:
        return str(self.path / "trial")


@pytest.fixture(scope="session")
def archives():
    """Return the folder of the golden trials' archives."""
    return ARCHIVES


@pytest.fixture(scope="session")
def unpack(tmp_path_factory):
    """Return a function that unpacks a golden trial, once."""
    unpacked: dict[str, Golden] = {}

    def unpack_one(name: str) -> Golden:
        if name not in unpacked:
            folder = tmp_path_factory.mktemp("golden")
            with tarfile.open(ARCHIVES / f"{name}.tar.gz") as archive:
                archive.extractall(folder, **SAFELY)
            expected = json.loads((folder / name / "expected.json").read_text(encoding="utf-8"))
            unpacked[name] = Golden(name, folder / name, expected)
        return unpacked[name]

    return unpack_one
