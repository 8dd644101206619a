from __future__ import annotations

from pathlib import Path

import pytest

from sagemaker_debug_ext.local.layout import JobFolder
from sagemaker_debug_ext.local.paths import Locations


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    """The folder of a job, not made yet."""
    return JobFolder(tmp_path / "jobs" / "job-1")


@pytest.fixture
def locations(tmp_path: Path) -> Locations:
    """Locations of an empty work folder."""
    return Locations(tmp_path)
