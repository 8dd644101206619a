"""Wheels of this package and of what it needs, written without a network."""

from __future__ import annotations

import importlib.metadata
import re
import zipfile

import pytest

from sagemaker_debug_ext.sdk.wheels import write_wheels

_PACKAGE = "sagemaker_debug_ext"


def write_wheels_offline(folder, scratch, monkeypatch):
    """Write wheels to a folder, and return it; what the package needs are empty wheels, which a pip finds here."""
    try:
        required = importlib.metadata.requires(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("needs an installed package")
    found = scratch / "found"
    found.mkdir()
    for requirement in required:
        if "extra ==" not in requirement:
            _write_empty_wheel(found, re.match(r"[\w-]+", requirement)[0].replace("-", "_"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(found))
    names = write_wheels(folder, "3.12")
    assert len(names) == 2 + len(list(found.iterdir()))
    return folder


def _write_empty_wheel(folder, name):
    version = importlib.metadata.version(name.replace("_", "-"))
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
