"""A page in one file: style and scripts inside, allowed by their hashes, and nothing asked of any network.

The pictures are drawn here, as elements; scripts only zoom, sort and read them. They are small enough to be written by
hand and shipped as they are: without a bundler there is nothing to build, to compare with its source, or to license.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sagemaker_debug_ext._json import JSONValue
from sagemaker_debug_ext.looking.page.markup import Child, Verbatim, element

_STATIC: Final = Path(__file__).resolve().parent.parent / "static"


def document(title: str, body: Child, data: Mapping[str, JSONValue] | None = None) -> str:
    """Return a whole HTML document; the same arguments give the same text.

    Args:
        title: Title of the page.
        body: Content of the body.
        data: Values for scripts and programs, by the id of the element that holds each as JSON.
    """
    style = _read("page.css")
    script = _read("page.js")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Verbatim(style)),
    )
    content = element(
        "body",
        body,
        [element("script", embed(value), type="application/json", id=name) for name, value in (data or {}).items()],
        element("script", Verbatim(script)),
    )
    return f"<!doctype html>\n{element('html', head, content, lang='en', data_format='1')}\n"


def embed(value: JSONValue) -> Verbatim:
    """Return JSON that can stand in a script element: without ``<`` and without line separators of JavaScript."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Verbatim(text.replace("<", "\\u003c"))


def _read(name: str) -> str:
    return (_STATIC / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
