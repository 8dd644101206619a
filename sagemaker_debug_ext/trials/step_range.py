"""The range of global steps that a trial is limited to."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.trials.arguments import check_step


def _check_bound(_: object, attribute: attrs.Attribute[int | None], bound: object) -> None:
    if bound is not None:
        check_step(bound, attribute.name)


@attrs.frozen
class StepRange:
    """Global steps from `begin`, inclusive, to `end`, exclusive; None means no bound.

    Raises:
        SMDebugTypeError: A bound is not an integer.
    """

    begin: int | None = attrs.field(default=None, validator=_check_bound)
    end: int | None = attrs.field(default=None, validator=_check_bound)

    @classmethod
    def parse(cls, value: Sequence[int | None] | None) -> StepRange:
        """Parse the argument ``range_steps``: a pair of steps, or None for all steps.

        Raises:
            SMDebugTypeError: The value is not a pair, or a bound is not an integer.
            SMDebugValueError: A bound is negative, or the range is empty.
        """
        if value is None:
            return cls()
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            raise SMDebugTypeError(f"range_steps must be a pair (begin, end) (got {value!r})")
        for bound in value:
            if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int)):
                raise SMDebugTypeError(f"the bounds of range_steps must be whole numbers or None (got {value!r})")
            if bound is not None and bound < 0:
                raise SMDebugValueError(f"the bounds of range_steps must not be negative (got {value!r})")
        begin, end = value
        if end is not None and end <= (begin or 0):
            raise SMDebugValueError(f"begin < end must hold in range_steps (got {value!r})")
        return cls(begin, end)

    def __contains__(self, step: int) -> bool:
        return (self.begin is None or step >= self.begin) and (self.end is None or step < self.end)
