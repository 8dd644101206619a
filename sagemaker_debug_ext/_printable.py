"""Show names and other text of unknown origin on terminals and in logs."""

from __future__ import annotations

import unicodedata
from typing import Final

_SHOWN: Final = "\n\t"


def printable(text: str) -> str:
    r"""Return a text with its control characters escaped, as ``\x1b``; line breaks and tabs stay.

    Escaped are all characters that move the cursor, change colors or the direction of writing, or cannot be encoded, so
    that a name in a trial cannot change how the text around it looks.
    """
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def printable_name(name: str) -> str:
    r"""Return a name for one line of text: as `printable`, and line breaks and tabs are escaped, too."""
    return printable(name).replace("\n", r"\n").replace("\t", r"\t")


def _shown(character: str) -> str:
    if character.isprintable() or character in _SHOWN or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")
