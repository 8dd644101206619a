"""Sound programs in the style of the frameworks' own examples and tutorials: each trains well, so no rule may fire."""

from __future__ import annotations

from pathlib import Path
from typing import Final

SOUND_PROGRAMS: Final = {
    framework: sorted((Path(__file__).parent / framework).glob("*.py")) for framework in ("pytorch", "keras")
}
"""The programs of each framework."""
