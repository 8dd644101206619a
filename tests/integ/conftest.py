"""The golden trials, unpacked; and hooks of all frameworks, whose folders say which class it is."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sagemaker_debug_ext.hooks import registry
from support.forks import ScriptForks
from support.hooks import closing_hooks

SAFELY = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # early releases of Python 3.10 lack it
ARCHIVES = Path(__file__).parents[1] / "golden"


_SDK_FILTERS = ("default", "error::sagemaker_debug_ext.errors.DebugExtWarning")
WARNING_FILTERS = {
    "boto3": _SDK_FILTERS,
    "sdk_v2": _SDK_FILTERS,
    "sdk_v2/migration": ("default",),  # old scripts ask for what is gone, and are told
    "sdk_v3": _SDK_FILTERS,
    # What the original needs of NumPy and protobuf, and the way in which it looks for modules once it is loaded.
    "oracle": ("ignore::DeprecationWarning:smdebug", "ignore::DeprecationWarning:google"),
    "mxnet": ("ignore::DeprecationWarning:mxnet", "ignore:_SixMetaPathImporter:ImportWarning"),
    # The newest versions warn of boosters that they are going to give up, and that the hook still knows.
    "xgboost": ("ignore:(?s).*booster=(gblinear|dart). is deprecated:UserWarning",),
}
"""What other libraries may warn of, by the folder of the tests."""


def pytest_collection_modifyitems(items):
    """Let other libraries warn of themselves."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            for warning_filter in WARNING_FILTERS.get(item.path.parent.relative_to(here).as_posix(), ()):
                item.add_marker(pytest.mark.filterwarnings(warning_filter))


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


@pytest.fixture(autouse=True)
def _steady(monkeypatch):
    """Have hooks mark the end of their trials, trials believe it at once, and no test meet the hook of another."""
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")
    monkeypatch.delenv("TRAINING_JOB_NAME", raising=False)
    yield
    registry.del_hook()


@pytest.fixture
def hook_class(trainer):
    """Return the hook of the framework whose training the folder has."""
    return trainer.hook_class


@pytest.fixture(scope="session")
def forks():
    """Run scripts in processes of their own; where a framework takes long to import, its folder has one for this."""
    with ScriptForks() as server:
        yield server


@pytest.fixture
def make_hook(hook_class, tmp_path):
    """Return a function that makes strict hooks, which save every step and are closed at the end of the test."""
    with closing_hooks(hook_class, tmp_path, strict=True) as make:
        yield make


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
    """Return a function that runs the recommended rules over a trial and returns the issues. No rule may fail."""
    from sagemaker_debug_ext.rules import evaluate
    from sagemaker_debug_ext.rules.recommended import recommended_rules

    def run_recommended(trial):
        evaluation = evaluate(recommended_rules(trial), trial)
        issues = evaluation.run()
        assert {status.status for status in evaluation.statuses} <= {"IssuesFound", "NoIssuesFound"}
        return issues

    return run_recommended
