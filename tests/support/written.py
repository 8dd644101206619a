"""Where the tests of PyTorch's hook leave their trials for those of the original, which run later."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

WRITTEN: Final = pytest.StashKey[list[Path]]()
"""Key of their folders in the configuration of the test run."""
