"""The folder of wheels, and the script in it that starts a watcher."""

from __future__ import annotations

import os
import subprocess
import sys

from sagemaker_debug_ext.cli.main import main
from support.wheels import write_wheels_offline

SHOW = 'import sys, importlib.util as util; print(util.find_spec("sagemaker_debug_ext").origin, sys.argv[1:])'
PYTHON = f"""#!/bin/bash
[ "$2" = pip ] && exec {sys.executable} "$@"
shift 2
exec {sys.executable} -c '{SHOW}' "$@"
"""
"""A ``python3`` that shows which package a module would be run from."""


def test_script_when_started_then_runs_the_watcher_of_the_wheels(tmp_path, monkeypatch):
    """With the arguments given, and not with a package that the image has."""
    folder = write_wheels_offline(str(tmp_path / "wheels"), tmp_path, monkeypatch)
    (tmp_path / "python3").write_text(PYTHON)
    (tmp_path / "python3").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    command = ["bash", f"{folder}/start.sh", "--job", "a b"]
    report = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert report.stdout.startswith(f"{tmp_path}/tmp.")
    assert report.stdout.endswith("/sagemaker_debug_ext/__init__.py ['--job', 'a b']\n")


def test_command_when_there_are_no_fitting_wheels_then_says_so(tmp_path, monkeypatch, capsys):
    """With what pip says."""
    write_wheels_offline(str(tmp_path / "wheels"), tmp_path, monkeypatch)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nothing"))
    assert main(["self-managed", "wheels", str(tmp_path / "other"), "--python", "3.13"]) == 2
    errors = capsys.readouterr().err
    assert "pip cannot download the wheels for Python 3.13" in errors
    assert "No matching distribution found" in errors
    assert not (tmp_path / "other").exists()
