"""Lines of system metrics become columns and come back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.profiler.format.system_rows import SystemRow, parse_rows
from support.profiler import format_rows

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ROWS = st.builds(
    SystemRow,
    TEXTS,
    st.none() | TEXTS,
    TEXTS,
    st.integers(0, 10_000).map(lambda number: number / 100),
    TEXTS,
    st.integers(0, 4_000_000_000_000_000).map(lambda number: number / 1e6),
)


@given(st.lists(ROWS, max_size=20))
def test_rows_when_written_then_are_read_back(rows):
    """Writing and parsing are inverse, whatever the texts hold."""
    parsed, problems = parse_rows(format_rows(rows))
    assert list(parsed.rows()) == rows
    assert problems == []


@given(st.lists(ROWS.filter(lambda row: row.name is not None), min_size=1, max_size=20), st.booleans())
def test_rows_when_keys_are_in_the_usual_order_then_equal_those_of_a_json_parser(rows, spaced):
    """The fast way gives what a JSON parser gives, with and without spaces."""
    entries = [json.loads(line) for line in format_rows(rows).decode().splitlines() if line.strip()]
    content = "".join(json.dumps(entry, separators=None if spaced else (",", ":")) + "\n" for entry in entries)
    parsed, _ = parse_rows(content.encode())
    assert [row.value for row in parsed.rows()] == [entry["Value"] for entry in entries]
    assert [row.name for row in parsed.rows()] == [entry["Name"] for entry in entries]
    assert [row.timestamp for row in parsed.rows()] == [entry["Timestamp"] for entry in entries]


@given(st.lists(ROWS, min_size=1, max_size=5), st.data())
def test_rows_when_the_last_line_is_cut_then_the_others_are_read(rows, data):
    """A file that is being written gives its complete lines, without a complaint."""
    content = format_rows(rows)
    start_of_last = len(format_rows(rows[:-1]))
    cut = data.draw(st.integers(start_of_last, len(content) - 2))
    parsed, problems = parse_rows(content[:cut])
    assert list(parsed.rows()) == rows[:-1]
    assert problems == []


GOOD = '{"Type":"cpu","Name":"cpu0","Dimension":"CPUUtilization","Value":1.0,"NodeId":"algo-1","Timestamp":5.0}\n'


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("{,}", "line 1"),
        ("[]", "must be an object"),
        ('{"Dimension":"","Value":1,"NodeId":"algo-1","Timestamp":5}', "Type"),
        ('{"Type":"cpu","Dimension":"","Value":"1","NodeId":"algo-1","Timestamp":5}', "Value"),
        ('{"Type":"cpu","Dimension":"","Value":1,"NodeId":"algo-1","Timestamp":Infinity}', "Timestamp"),
        ('{"Type":"cpu","Dimension":"","Value":1,"NodeId":"algo-1"}', "Timestamp"),
    ],
)
def test_rows_when_a_line_is_no_row_then_it_is_described_and_left_out(line, part):
    """Each damaged line costs itself only."""
    parsed, problems = parse_rows(f"{line}\n{GOOD}".encode())
    assert [row.value for row in parsed.rows()] == [1.0]
    assert len(problems) == 1
    assert part in problems[0]


@given(st.lists(ROWS, min_size=1, max_size=4), st.data())
def test_rows_when_a_byte_is_changed_then_nothing_is_raised(rows, data):
    """Damage is described, never fatal."""
    content = bytearray(format_rows(rows))
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    parsed, _ = parse_rows(bytes(content))
    assert len(parsed.types) <= 2 * len(rows)
