"""`migration.notebook`: code cells are renamed, and no other byte of the file changes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.migration.notebook import rename_notebook

NEW = "sagemaker_debug_ext"


def notebook(*sources, **layout):
    """Return a notebook as JSON, with one code cell for each source."""
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source} for source in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}, **layout)


def sources(document):
    return [cell["source"] for cell in json.loads(document)["cells"]]


@pytest.mark.parametrize(
    "layout", [{}, {"indent": 1}, {"indent": 2, "ensure_ascii": False}, {"separators": (",", ":")}]
)
def test_notebook_when_renamed_then_only_the_changed_lines_differ(layout):
    """Order, spaces, escapes, outputs and other cells stay, whatever program wrote the file."""
    cells = [
        {"cell_type": "markdown", "source": ["import smdebug ü\n"]},
        {"cell_type": "code", "source": ["x = 'ü'\n", "import smdebug; y = 'ü'\n", "# smdebug\n"], "outputs": []},
        {"cell_type": "code", "source": "import smdebug.pytorch as smd", "outputs": [{"text": ["import smdebug\n"]}]},
    ]
    before = json.dumps({"nbformat": 4, "cells": cells}, **layout) + "\n"
    renamed = rename_notebook(before)
    after = before.replace("import smdebug;", f"import {NEW};").replace("import smdebug.p", f"import {NEW}.p")
    assert renamed.source == after
    assert [(change.cell, change.line) for change in renamed.changes] == [(2, 2), (3, 1)]
    assert renamed.findings == ()


def test_cells_when_one_uses_what_another_imports_then_are_renamed_as_one_program():
    """The import is added where the SDK is imported."""
    renamed = rename_notebook(notebook(["import sagemaker\n", "import os"], ["x = sagemaker.debugger.Rule"]))
    assert sources(renamed.source) == [[f"import sagemaker, {NEW}\n", "import os"], [f"x = {NEW}.Rule"]]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("%matplotlib inline\nimport smdebug", f"%matplotlib inline\nimport {NEW}"),
        ("if x:\n    !ls\n    import smdebug", f"if x:\n    !ls\n    import {NEW}"),
        ("files = !ls\nimport smdebug", f"files = !ls\nimport {NEW}"),
        ("import smdebug\nsmdebug?", f"import {NEW}\nsmdebug?"),
        ("%%time\nimport smdebug", f"%%time\nimport {NEW}"),
        ("%%writefile train.py\nimport smdebug", f"%%writefile train.py\nimport {NEW}"),
        ("x = ('%s'\n  % 1)\nimport smdebug", f"x = ('%s'\n  % 1)\nimport {NEW}"),
        ("%%bash\nls", "%%bash\nls"),
        ("await smdebug.x()", f"await {NEW}.x()"),
    ],
)
def test_cell_when_it_holds_commands_then_its_python_is_renamed(before, after):
    """IPython's own lines stay."""
    assert sources(rename_notebook(notebook(before)).source) == [after]


@pytest.mark.parametrize(
    ("source", "line", "text"),
    [
        ("import os\n! pip install smdebug==1.0", 2, "a command names smdebug"),
        ("%%bash\npython -m smdebug.x", 1, "the cell is not Python"),
        ("print 'x'\nimport smdebug", 1, "the cell is not Python"),
        ("import os\nf('smdebug.pytorch')", 2, "a text names smdebug.pytorch"),
        ("import os\nfrom smdebug.core.tfevent import X", 2, "does not exist"),
    ],
)
def test_cell_when_something_is_left_to_the_user_then_cell_and_line_are_named(source, line, text):
    """The first cell has nothing to report."""
    renamed = rename_notebook(notebook("x = 1", source))
    [finding] = renamed.findings
    assert (finding.cell, finding.line) == (2, line)
    assert text in finding.text


@pytest.mark.parametrize("document", ["", "{", "[]", '{"worksheets": []}', '{"cells": {}}'])
def test_document_when_it_is_no_notebook_then_is_refused(document):
    """Format 3 has other cells."""
    with pytest.raises(SMDebugValueError, match="the notebook"):
        rename_notebook(document)


@given(
    st.lists(st.one_of(st.text(), st.lists(st.text()), st.none(), st.integers())),
    st.booleans(),
    st.one_of(st.none(), st.integers(0, 3)),
)
def test_notebook_when_it_names_nothing_then_not_one_byte_changes(cells, ensure_ascii, indent):
    """Any text may stand in a cell."""
    document = notebook(*cells, ensure_ascii=ensure_ascii, indent=indent)
    assert rename_notebook(document).source == document
