"""HTML and SVG elements: every text is escaped here, and nowhere else is markup made from text.

Names of tensors, trials and workers, messages and paths are chosen by whoever can write to a trial. Control characters,
and those that are invisible or change the direction of text, are therefore shown by their numbers.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable
from typing import Final, TypeAlias, Union

import attrs

_MOST_CHARACTERS: Final = 200
_VOID: Final = frozenset({"br", "img", "input", "link", "meta"})
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

Child: TypeAlias = Union[str, "Element", "Verbatim", Iterable["Child"], None]
Value: TypeAlias = Union[str, int, float, bool, None]  # noqa: UP007 - as above


@attrs.frozen
class Verbatim:
    """Content that is written as it is: scripts and styles of this package, and JSON without ``<``.

    Args:
        text: The content.
    """

    text: str


@attrs.frozen
class Element:
    """An element of HTML or SVG.

    Args:
        tag: Name of the element.
        attributes: Attributes in order; those that are None or False are left out.
        children: The content.
    """

    tag: str
    attributes: tuple[tuple[str, Value], ...]
    children: tuple[Child, ...]

    def __str__(self) -> str:
        parts: list[str] = []
        _write(self, parts)
        return "".join(parts)


def element(tag: str, *children: Child, **attributes: Value) -> Element:
    """Return an element; ``_`` in names of attributes stands for ``-``, and is left out at the end.

    Example:
        >>> str(element("p", "1 < 2", class_="note"))
        '<p class="note">1 &lt; 2</p>'
    """
    named = tuple((name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items())
    return Element(tag, named, children)


def visible(text: str) -> str:
    r"""Return a text with the numbers of characters that cannot be seen, as ``\u202e``, in their place."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(character) for character in text)


def shortened(text: str) -> str:
    """Return a name with its middle cut out if it is long."""
    seen = visible(text)
    half = _MOST_CHARACTERS // 2
    return seen if len(seen) <= _MOST_CHARACTERS else f"{seen[:half]} … {seen[-half:]}"


def _visible(character: str) -> str:
    if character in "\n\u2009" or unicodedata.category(character) not in _HIDDEN_CATEGORIES:
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _write(child: Child, parts: list[str]) -> None:
    if child is None:
        return
    if isinstance(child, str):
        parts.append(html.escape(visible(child), quote=False))
    elif isinstance(child, Verbatim):
        parts.append(child.text)
    elif isinstance(child, Element):
        parts.append("<" + child.tag)
        parts.extend(_attribute(name, value) for name, value in child.attributes)
        parts.append(">")
        if child.tag not in _VOID:
            for inner in child.children:
                _write(inner, parts)
            parts.append("</" + child.tag + ">")
    else:
        for inner in child:
            _write(inner, parts)


def _attribute(name: str, value: Value) -> str:
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{html.escape(visible(_spell(value)))}"'


def _spell(value: str | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
