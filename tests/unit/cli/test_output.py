"""Tables, sizes, and JSON for what JSON lacks."""

import json

import numpy as np
import pytest

from sagemaker_debug_ext.cli import _output


def test_table_aligns_numbers_to_the_right():
    """Columns are as wide as their widest cell; missing values are blank."""
    table = _output.format_table(("NAME", "STEP"), [("a", 5), ("long name", 10), ("b", None)])
    assert table.splitlines() == ["NAME       STEP", "a             5", "long name    10", "b"]


def test_table_without_rows_is_its_header():
    """An empty list still says what would be listed."""
    assert _output.format_table(("A", "B"), []) == "A  B"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 KB"), (12_345_678, "12.3 MB"), (5 * 10**12, "5000.0 GB")],
)
def test_bytes_have_the_largest_unit_that_fits(number, text):
    """Sizes are readable."""
    assert _output.format_bytes(number) == text


def test_json_is_always_valid(capsys):
    """Arrays become lists, complex numbers pairs, and non-finite numbers their names."""
    value = {1: np.array([np.nan, np.inf, -np.inf, 1.5]), "c": 1 + 2j, "n": np.int64(3), "s": {5}, "t": (True, None)}
    _output.write_json(value)
    assert json.loads(capsys.readouterr().out) == {
        "1": ["NaN", "Infinity", "-Infinity", 1.5], "c": [1.0, 2.0], "n": 3, "s": [5], "t": [True, None],
    }  # fmt: skip
