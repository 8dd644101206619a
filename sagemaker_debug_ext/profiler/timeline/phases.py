"""`profile_phase`: name a part of a script in the timeline."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from sagemaker_debug_ext.errors import SMDebugTypeError, brief
from sagemaker_debug_ext.profiler.timeline.current import current_timeline


@contextlib.contextmanager
def profile_phase(name: str) -> Iterator[None]:
    """Record how long a part of a script takes, in a ``with`` block or as a decorator.

    Nothing happens in a process whose steps are not timed.

    Args:
        name: Name of the phase.

    Raises:
        SMDebugTypeError: The name is no text, or empty.
    """
    given: object = name
    if not isinstance(given, str) or not given:
        raise SMDebugTypeError(f"name must be a text that is not empty (got {brief(given)})")
    timeline = current_timeline()
    if timeline is None:
        yield
        return
    start = time.perf_counter_ns()
    try:
        yield
    finally:
        timeline.add(name, name, start, time.perf_counter_ns())
