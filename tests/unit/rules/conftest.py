"""What the tests of rules share: trials from plain arrays, and the steps at which a rule fires."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sagemaker_debug_ext.rules import Issue, create_rule, evaluate
from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.trials import Trial, create_trial
from support.rule_trials import memory_trial

MakeTrial = Callable[..., Trial]
RunRule = Callable[..., list[Issue]]


@pytest.fixture
def make_trial(tmp_path: Path) -> MakeTrial:
    """Return a function that writes a trial, as `write_trial` does, and opens it."""
    count = 0

    def make(steps: Mapping[Any, Any], **options: Any) -> Trial:
        nonlocal count
        count += 1
        path = tmp_path / f"trial{count}"
        write_trial(path, steps, **options)
        return create_trial(str(path))

    return make


@pytest.fixture
def run_rule() -> RunRule:
    """Return a function that replays a trial, or steps that it writes into memory, for one rule."""

    def run(rule_name: str, trial: Trial | Mapping[Any, Any], **parameters: Any) -> list[Issue]:
        opened = memory_trial(trial) if isinstance(trial, Mapping) else trial
        evaluation = evaluate([create_rule(rule_name, opened, parameters)], opened)
        issues = evaluation.run()
        assert [status.details for status in evaluation.statuses if status.status == "Error"] == []
        return issues

    return run
