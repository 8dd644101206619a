"""``sagemaker-debug migrate``."""

import json
import os

import pytest

from sagemaker_debug_ext.cli.main import main

SCRIPT = "#!/usr/bin/env python\nimport smdebug.pytorch as smd\n"
GONE = "from smdebug.core.locations import TensorLocation\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "train.py").write_text(SCRIPT)
    (tmp_path / "a" / "train.py").chmod(0o755)
    (tmp_path / "rule.py").write_bytes("# -*- coding: latin-1 -*-\r\n# \u00e4\r\nimport smdebug\r\n".encode("latin-1"))
    (tmp_path / "note.txt").write_text("import smdebug\n")
    return tmp_path


def write_notebook(file):
    """Write a notebook whose second cell imports smdebug."""
    cells = [
        {"cell_type": "markdown", "source": ["About smdebug\n"]},
        {"cell_type": "code", "outputs": [], "source": ["import os\n", "import smdebug"]},
        {"cell_type": "code", "outputs": [], "source": ["!pip install smdebug"]},
    ]
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"cells": cells, "nbformat": 4}, indent=1))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}


def test_migrate_when_run_dry_then_lists_changes_and_writes_nothing(folder, capsys):
    """The default is safe."""
    before = contents(folder)
    assert main(["migrate", str(folder)]) == 0
    output = capsys.readouterr().out
    assert f"{folder}/a/train.py:2: smdebug -> sagemaker_debug_ext" in output
    assert "2 renames (not written; --write does so), 0 places to change by hand" in output
    assert contents(folder) == before


def test_migrate_when_told_to_write_then_changes_python_files_only(folder, capsys):
    """Encoding, line ends and permissions stay."""
    assert main(["migrate", str(folder), "--write"]) == 0
    assert "2 renames (written)" in capsys.readouterr().out
    assert (folder / "a" / "train.py").read_text() == SCRIPT.replace("smdebug", "sagemaker_debug_ext")
    assert os.access(folder / "a" / "train.py", os.X_OK)
    assert (folder / "rule.py").read_bytes().endswith(b"# \xe4\r\nimport sagemaker_debug_ext\r\n")
    assert (folder / "note.txt").read_text() == "import smdebug\n"


def test_migrate_when_a_name_is_gone_then_exits_with_one(folder, capsys):
    """CI sees that somebody has to look."""
    (folder / "gone.py").write_text(GONE)
    (folder / "broken.py").write_text("print 'x'\n")
    assert main(["migrate", str(folder), "--json"]) == 1
    files = {os.path.basename(entry["path"]): entry for entry in json.loads(capsys.readouterr().out)["files"]}
    assert "use create_trial of sagemaker_debug_ext.trials" in files["gone.py"]["findings"][0]["text"]
    assert files["gone.py"]["changes"] == [{"line": 1, "old": "smdebug", "new": "sagemaker_debug_ext"}]
    assert "not Python" in files["broken.py"]["findings"][0]["text"]


def test_migrate_when_it_finds_notebooks_then_renames_their_cells(tmp_path, capsys):
    """A place has the number of its cell; copies that Jupyter keeps stay."""
    file, copy = tmp_path / "a.ipynb", tmp_path / ".ipynb_checkpoints" / "a.ipynb"
    write_notebook(file)
    write_notebook(copy)
    before = file.read_text()
    assert main(["migrate", str(tmp_path)]) == 1
    output = capsys.readouterr().out
    assert f"{file}:cell 2:2: smdebug -> sagemaker_debug_ext\n" in output
    assert f"{file}:cell 3:1: a command names smdebug" in output
    assert file.read_text() == before
    assert main(["migrate", str(tmp_path), "--write", "--json"]) == 1
    [entry] = json.loads(capsys.readouterr().out)["files"]
    assert entry["changes"] == [{"cell": 2, "line": 2, "old": "smdebug", "new": "sagemaker_debug_ext"}]
    assert file.read_text() == before.replace("import smdebug", "import sagemaker_debug_ext")
    assert copy.read_text() == before


def test_migrate_when_a_notebook_cannot_be_read_then_says_so_and_goes_on(tmp_path, capsys):
    """One broken file does not hide the others."""
    (tmp_path / "a.ipynb").write_text("{")
    (tmp_path / "b.py").write_text("import smdebug\n")
    assert main(["migrate", str(tmp_path)]) == 1
    output = capsys.readouterr().out
    assert "a.ipynb:1: the notebook is not JSON" in output
    assert "b.py:1: smdebug ->" in output


def test_migrate_when_the_path_does_not_exist_then_says_so(tmp_path, capsys):
    """Wrong use ends with 2."""
    assert main(["migrate", str(tmp_path / "nothing")]) == 2
    assert "PATH must be a file or a folder" in capsys.readouterr().err
