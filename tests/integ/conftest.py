"""The golden trials, unpacked; and hooks of all frameworks, whose folders say which class it is."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sagemaker_debug_ext.config.saving import SaveConfig

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


@pytest.fixture
def outside_of_jobs(monkeypatch):
    """Have hooks mark the end of their trials, and trials believe it at once."""
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")
    monkeypatch.delenv("TRAINING_JOB_NAME", raising=False)


@pytest.fixture
def make_hook(hook_class, tmp_path):
    """Make hooks that save every step of everything named, and are closed at the end of the test."""
    made = []

    def make(name="out", **arguments):
        arguments.setdefault("save_config", SaveConfig(save_interval=1))
        arguments.setdefault("strict", True)
        hook = hook_class(tmp_path / name if isinstance(name, str) else name, **arguments)
        made.append(hook)
        return hook

    yield make
    for hook in made:
        hook.strict = False
        hook.close()


@pytest.fixture
def open_trial():
    """Close a hook and open what it wrote."""

    def open_it(hook):
        from sagemaker_debug_ext.trials import create_trial

        hook.close()
        return create_trial(hook.out_dir)

    return open_it


@pytest.fixture
def recommended_issues():
    """Return what evaluates a trial by the recommended rules, none of which may fail, and gives the issues."""
    from sagemaker_debug_ext.rules import evaluate
    from sagemaker_debug_ext.rules.recommended import recommended_rules

    def run_rules(trial):
        evaluation = evaluate(recommended_rules(trial), trial)
        issues = evaluation.run()
        assert {each.status for each in evaluation.statuses} <= {"IssuesFound", "NoIssuesFound"}
        return issues

    return run_rules
