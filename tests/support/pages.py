"""Pages of documentation whose snippets are run by tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_SNIPPET: Final = re.compile(r"<!-- runs in: (\w+) -->\n```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


class Snippet(NamedTuple):
    """Code that a page shows, and what it says the code prints; empty if it says nothing."""

    code: str
    printed: str


def snippets_for(page: Path, surface: str) -> Iterator[Snippet]:
    """Yield the snippets of a page that are marked for all surfaces or for this one, in their order."""
    for marked, code, printed in _SNIPPET.findall(page.read_text(encoding="utf-8")):
        if marked in ("all", surface):
            yield Snippet(code, printed)
