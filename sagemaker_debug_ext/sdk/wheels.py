"""A folder of wheels: this package and what it needs, for processing jobs in images that lack it."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.metadata
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.requests.processing import START_FILE
from sagemaker_debug_ext.store.backends import open_backend

_PACKAGE: Final = "sagemaker_debug_ext"
_PLATFORMS: Final = ("manylinux2014_x86_64", "manylinux_2_27_x86_64", "manylinux_2_28_x86_64")
"""Those of the instances of processing jobs, by age of the C library."""

_START: Final = f"""\
#!/bin/bash
# Installs the wheels beside this file in a folder of their own, and starts the watcher of a job.
set -e
packages=$(mktemp -d)
python3 -m pip install --quiet --no-index --find-links "$(dirname "$0")" --target "$packages" {_PACKAGE}
PYTHONPATH="$packages${{PYTHONPATH:+:$PYTHONPATH}}" exec python3 -m {_PACKAGE}.watch.program "$@"
"""
_WHEEL: Final = f"Wheel-Version: 1.0\nGenerator: {_PACKAGE}\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def write_wheels(folder: str, python: str) -> list[str]:
    """Write the wheels of this package and of its dependencies, and the script that a processing job starts.

    What it needs is downloaded by pip, for Linux on x86-64.

    Args:
        folder: The folder: ``s3://bucket/prefix``, or a local one.
        python: Version of Python in the image, such as ``3.12``.

    Returns:
        The names of the files.

    Raises:
        SMDebugRuntimeError: This package is not installed, or pip finds no fitting wheels.
        StorageError: The folder cannot be written to.
    """
    backend = open_backend(folder)
    with tempfile.TemporaryDirectory() as scratch:
        own = _write_own_wheel(Path(scratch))
        target = Path(scratch, "wheels")
        platforms = [f"--platform={platform}" for platform in _PLATFORMS]
        options = ["--quiet", "--only-binary=:all:", f"--python-version={python}", *platforms, f"--dest={target}"]
        report = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "pip", "download", *options, str(own)], capture_output=True, text=True, check=False
        )
        if report.returncode:
            raise SMDebugRuntimeError(f"pip cannot download the wheels for Python {python}: {report.stderr.strip()}")
        files = {path.name: path.read_bytes() for path in sorted(target.iterdir())} | {START_FILE: _START.encode()}
    for name, content in files.items():
        backend.write(name, [content])
    return list(files)


def _write_own_wheel(folder: Path) -> Path:
    """Write the wheel of this package, made of its files here, and return its path."""
    try:
        distribution = importlib.metadata.distribution(_PACKAGE)
    except importlib.metadata.PackageNotFoundError as error:
        raise SMDebugRuntimeError(f"wheels need an installed {_PACKAGE}: call pip install in its folder") from error
    root = Path(__file__).parents[1]
    paths = sorted(path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    files = {path.relative_to(root.parent).as_posix(): path.read_bytes() for path in paths}
    name = f"{_PACKAGE}-{distribution.version}"
    metadata = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
    files |= {f"{name}.dist-info/METADATA": metadata.encode(), f"{name}.dist-info/WHEEL": _WHEEL.encode()}
    record = f"{name}.dist-info/RECORD"
    wheel = folder / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in {**files, record: _record(files, record)}.items():
            archive.writestr(path, content)
    return wheel


def _record(files: dict[str, bytes], own_path: str) -> bytes:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.writerow([path, f"sha256={digest}", len(content)])
    rows.writerow([own_path, "", ""])
    return text.getvalue().encode()
