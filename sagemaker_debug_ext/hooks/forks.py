"""Whether this is still the process that a hook was made in."""

from __future__ import annotations

import os
from typing import Final


class _Process:
    """Tells processes apart without asking the system, which takes as long as the rest of a step with nothing due."""

    def __init__(self) -> None:
        self.mark = object()
        """Another one after a fork."""
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.mark = object()


PROCESS: Final = _Process()
"""The process that runs this."""
