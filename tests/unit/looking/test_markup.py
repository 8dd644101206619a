"""Text becomes markup in one place, where all of it is escaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sagemaker_debug_ext.looking
from sagemaker_debug_ext.looking.page.markup import element, shortened, visible

PACKAGE = Path(sagemaker_debug_ext.looking.__file__).parent


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text, self.attributes = [], "", []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


@given(text=st.text(), value=st.text())
def test_element_when_text_is_hostile_then_it_stays_text(text, value):
    """Whatever a name holds, one element with one attribute comes out, and its text is what was given."""
    reader = Reader()
    reader.feed(str(element("p", text, title=value)))
    reader.close()
    assert reader.tags == ["p"]
    assert reader.text.replace("\r", "\n") == visible(text).replace("\r", "\n")
    assert [name for name, _ in reader.attributes] == ["title"]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\u202eb", "a\\u202eb"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\x1b[31m", "\\u001b[31m"),
        ("\udc80", "\\udc80"),
        ("größe 学", "größe 学"),
    ],
)
def test_visible_when_characters_hide_then_their_numbers(text, seen):
    """Characters that turn or hide text are spelled."""
    assert visible(text) == seen


def test_shortened_when_long_then_the_middle_is_cut():
    """A name of any length has a bounded length on the page, with both of its ends."""
    seen = shortened("a" * 100_000 + "weight")
    assert len(seen) < 210
    assert seen.startswith("aaa")
    assert seen.endswith("weight")


def test_sources_when_they_make_markup_then_by_elements_only():
    """No text with a tag is put together elsewhere."""
    for path in PACKAGE.rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if path.name in ("markup.py", "document.py") or (path.name == "report.py" and "re.compile" in line):
                continue
            assert not re.search(r"f\"[^\"]*</?[a-z]", line), (path, line)


def test_script_when_it_writes_text_then_never_as_markup():
    """The page's own script sets text only, so that no name can become markup later."""
    script = "".join(path.read_text(encoding="utf-8") for path in (PACKAGE / "static").glob("*.js"))
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert word not in script
