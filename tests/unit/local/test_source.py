from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.local.layout import JobFolder
from sagemaker_debug_ext.local.paths import Locations
from sagemaker_debug_ext.local.source import (
    command_line_arguments,
    decode_hyperparameters,
    entry_point,
    install_source,
    script_hyperparameters,
    split_hyperparameters,
    upload_source,
)

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def script_request(program: str, source: str, **hyperparameters: Any) -> dict[str, Any]:
    return {
        "TrainingJobName": "job-1",
        "HyperParameters": script_hyperparameters(program, source, hyperparameters),
    }


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    (path / "lib").mkdir(parents=True)
    (path / "train.py").write_text("print('hello')")
    (path / "lib" / "helper.py").write_text("")
    (path / "__pycache__").mkdir()
    (path / "__pycache__" / "train.pyc").write_text("cache")
    return path


@given(st.dictionaries(st.text(min_size=1).filter(lambda name: not name.startswith(("sagemaker_", "_"))), JSON_VALUES))
def test_script_hyperparameters_decode_to_what_was_given(values: dict[str, Any]) -> None:
    """What a caller gives as Python values is what the script's side reads."""
    own, user = split_hyperparameters(decode_hyperparameters(script_hyperparameters("t.py", "s3://bucket/x", values)))
    assert user == values
    assert own == {"sagemaker_program": "t.py", "sagemaker_submit_directory": "s3://bucket/x"}


def test_decode_hyperparameters_of_plain_text_keeps_it() -> None:
    """A text that is no JSON is a text; callers without the SDK do not quote."""
    assert decode_hyperparameters({"a": "train.py", "b": "1e-3", "c": '"1"'}) == {"a": "train.py", "b": 0.001, "c": "1"}


def test_command_line_arguments_are_sorted_and_spelled_as_the_toolkit_does() -> None:
    """Names in order, one hyphen for a letter, Python's spelling of values, maps as pairs."""
    values = {"z": 1, "lr": 0.1, "flag": True, "none": None, "map": {"b": 2, "a": 1}, "name": "x y", "list": [1, "a"]}
    expected = "--flag True --list|[1, 'a']|--lr 0.1 --map a=1,b=2 --name|x y|--none||-z 1"
    flat = [
        part
        for group in expected.split("|")
        for part in ([group] if group in {"[1, 'a']", "x y", ""} else group.split())
    ]
    assert command_line_arguments(values) == flat


def test_entry_point_of_script_runs_it_with_its_own_hyperparameters(folder: JobFolder) -> None:
    """The script gets the user's hyperparameters, without SageMaker's and with this job's folders."""
    request = script_request("train.py", "s3://bucket/x", lr=0.1, out="/opt/ml/model")
    assert entry_point(request, folder, "/venv/python") == [
        "/venv/python",
        "train.py",
        "--lr",
        "0.1",
        "--out",
        str(folder.model),
    ]


def test_entry_point_of_shell_script_quotes_arguments(folder: JobFolder) -> None:
    """A program that is no Python file is run by itself, and blanks do not tear arguments apart."""
    command = entry_point(script_request("run.sh", "s3://bucket/x", name="a b; rm"), folder, "python")
    assert command == ["/bin/sh", "-c", "./run.sh --name 'a b; rm'"]


def test_entry_point_of_container_command_is_that_command(folder: JobFolder) -> None:
    """A container's entry point comes before script mode, with this job's folders."""
    request = script_request("train.py", "s3://bucket/x")
    request["AlgorithmSpecification"] = {
        "ContainerEntrypoint": ["python3", "/opt/ml/input/data/code/t.py"],
        "ContainerArguments": ["--out", "/opt/ml/model"],
    }
    assert entry_point(request, folder, "python") == [
        "python3",
        str(folder.data / "code" / "t.py"),
        "--out",
        str(folder.model),
    ]


def test_entry_point_of_image_alone_is_refused(folder: JobFolder) -> None:
    """A request whose code is in an image cannot run here, and the error says what would."""
    with pytest.raises(SMDebugValueError, match=r"sagemaker_program.*ContainerEntrypoint.*'some-image'"):
        entry_point({"AlgorithmSpecification": {"TrainingImage": "some-image"}}, folder, "python")


@pytest.mark.parametrize("form", ["archive", "folder", "file", "local folder"])
def test_install_source_takes_archives_folders_and_files(
    form: str, source: Path, folder: JobFolder, locations: Locations, tmp_path: Path
) -> None:
    """Whatever form the source has, the program ends up in the code folder."""
    folder.code.mkdir(parents=True)
    uri = upload_source(source / "train.py" if form == "file" else source, "s3://bucket/code/", tmp_path)
    assert uri == "s3://bucket/code/sourcedir.tar.gz"
    if form == "folder":
        source.rename(locations.s3_root / "bucket" / "folder")
        uri = "s3://bucket/folder"
    elif form == "local folder":
        uri = str(source)
    install_source(script_request("train.py", uri), folder, locations)
    assert (folder.code / "train.py").read_text() == "print('hello')"
    assert (folder.code / "lib" / "helper.py").exists() == (form != "file")


def test_install_source_makes_shell_scripts_executable(source: Path, folder: JobFolder, locations: Locations) -> None:
    """A program that was uploaded without its mode can be run."""
    folder.code.mkdir(parents=True)
    (source / "run.sh").write_text("#!/bin/sh\n")
    install_source(script_request("run.sh", str(source)), folder, locations)
    assert (folder.code / "run.sh").stat().st_mode & 0o100


def test_upload_source_leaves_caches_out_and_gives_same_bytes(source: Path, tmp_path: Path) -> None:
    """The archive depends on the source alone."""
    upload_source(source, "s3://bucket/one", tmp_path)
    (source / "__pycache__" / "train.pyc").write_text("another cache")
    upload_source(source, "s3://bucket/two", tmp_path)
    one, two = (tmp_path / "s3/bucket" / name / "sourcedir.tar.gz" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert b"pyc" not in one.read_bytes()


def test_upload_source_of_nothing_is_refused(tmp_path: Path) -> None:
    """A source that does not exist is an error that shows it."""
    with pytest.raises(SMDebugValueError, match=r"source must be .*nowhere"):
        upload_source(tmp_path / "nowhere", "s3://bucket/code", tmp_path)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("tran.py", r"got 'tran.py'; there is: .*train\.py"),
        ("../train.py", "must be a file of the source folder"),
        ("/bin/true", "must be a file of the source folder"),
    ],
)
def test_install_source_without_the_program_says_what_there_is(
    program: str, message: str, source: Path, folder: JobFolder, locations: Locations
) -> None:
    """A wrong program is found before the job starts."""
    folder.code.mkdir(parents=True)
    with pytest.raises(SMDebugValueError, match=message):
        install_source(script_request(program, str(source)), folder, locations)


def test_install_source_warns_of_requirements(
    source: Path, folder: JobFolder, locations: Locations, caplog: pytest.LogCaptureFixture
) -> None:
    """Packages are never installed behind the user's back, and the log says so."""
    folder.code.mkdir(parents=True)
    (source / "requirements.txt").write_text("numpy")
    install_source(script_request("train.py", str(source)), folder, locations)
    assert "requirements.txt" in caplog.text


def test_hyperparameters_are_json_as_the_sdk_quotes_them() -> None:
    """The spelling of texts is the SDK's, so a request built here reads the same in a container."""
    assert script_hyperparameters("train.py", "s3://bucket/x", lr=0.1) == {
        "lr": "0.1",
        "sagemaker_program": json.dumps("train.py"),
        "sagemaker_submit_directory": json.dumps("s3://bucket/x"),
    }
