"""Folded parts of a page: in a file all are there, a live page asks for those that somebody opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from sagemaker_debug_ext.looking.page.markup import Child, Element, element, shortened

AS_TABLE: Final = "as table"


@attrs.frozen
class Folding:
    """Which folded parts to draw.

    Args:
        opened: Keys of the parts that are open; None draws all of them.
    """

    opened: frozenset[str] | None = None

    def part(self, key: str, summary: str, draw: Callable[[], Child], *, is_open: bool = False) -> Element:
        """Return a part that can be folded, without its content if nobody has opened it.

        Args:
            key: Key of the part on its page.
            summary: The line that is always seen.
            draw: Returns the content.
            is_open: Whether the part is open at first.
        """
        if self.opened is None:
            return element("details", element("summary", summary), draw(), open=is_open)
        named = shortened(key)
        is_asked_for = named in self.opened
        content = draw() if is_open or is_asked_for else None
        return element("details", element("summary", summary), content, open=is_open or is_asked_for, data_part=named)
