"""Training scripts in processes of their own, with and without capture."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path


def write_hook_file(path: Path, out_dir: Path, collections: Iterable[str]) -> None:
    """Write a hook configuration file as SageMaker puts it into the container: collections, saved at every step."""
    content = {
        "LocalPath": str(out_dir),
        "HookParameters": {"save_interval": "1"},
        "CollectionConfigurations": [{"CollectionName": name} for name in collections],
    }
    path.write_text(json.dumps(content), encoding="utf-8")


def environment_of_scripts() -> dict[str, str]:
    """Return the environment of this process, in which scripts find its modules.

    Hashes are the same in all such processes, so that their output can be compared.
    """
    paths = os.pathsep.join(path for path in sys.path if path)
    return {**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": "0"}


def run_python(*arguments: object, timeout: float = 200) -> subprocess.CompletedProcess[str]:
    """Run Python with arguments, such as the path of a script, and return what became of it."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=environment_of_scripts(),
        timeout=timeout,
    )


def run_captured(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a script as ``sagemaker-debug run`` does."""
    return run_python("-m", "sagemaker_debug_ext.cli.main", "run", *arguments)
