"""Tests of scripts surround a hook as a SageMaker job does, with both libraries."""

import json
import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.filterwarnings("ignore")  # the original warns of its dependencies

VARIABLES = ("SMDEBUG_CONFIG_FILE_PATH", "TENSORBOARD_CONFIG_FILE_PATH", "TRAINING_JOB_NAME")


@pytest.fixture
def job(library, tmp_path, monkeypatch):
    """A simulator whose files lie in the test's folder instead of /opt/ml."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    made = library.module("core.utils").SagemakerSimulator(
        json_config_path=str(tmp_path / "hook.json"),
        tensorboard_dir=str(tmp_path / "board"),
        training_job_name="job-1",
        json_file_contents=json.dumps({"LocalPath": str(tmp_path / "run")}),
    )
    made.out_dir = str(tmp_path / "out")
    made.tb_json_config_path = str(tmp_path / "config" / "board.json")
    return made


def test_job_when_simulated_then_its_files_and_variables_are_there_and_go(library, job, tmp_path):
    """What an earlier job has written goes first."""
    (tmp_path / "out").mkdir()
    with job as inside:
        assert inside is job
        assert not (tmp_path / "out").exists()
        assert library.module("core.sagemaker_utils").is_sagemaker_job()
        assert os.environ["TRAINING_JOB_NAME"] == "job-1"
        found = [json.loads(Path(os.environ[name]).read_text()) for name in VARIABLES[:2]]
        assert found == [{"LocalPath": str(tmp_path / "run")}, {"LocalPath": str(tmp_path / "board")}]
    assert not any(name in os.environ for name in VARIABLES)
    assert list(tmp_path.rglob("*.json")) == []


def test_hook_when_made_in_a_simulated_job_then_follows_its_files(library, job, tmp_path):
    """As AWS's containers make it."""
    pytest.importorskip("torch")
    smd = library.module("pytorch")
    smd.del_hook()
    with job:
        hook = smd.get_hook(create_if_not_exists=True)
        assert (hook.out_dir, hook.tensorboard_dir) == (str(tmp_path / "run"), str(tmp_path / "board"))
    smd.del_hook()


def test_script_when_simulated_then_its_folders_go_before_and_after(library, tmp_path):
    """Each test begins with empty folders."""
    folders = [tmp_path / "run", tmp_path / "board"]
    for folder in folders:
        folder.mkdir()
    with library.module("core.utils").ScriptSimulator(*map(str, folders)) as script:
        assert script.out_dir == str(folders[0])
        assert not any(folder.exists() for folder in folders)
        folders[0].mkdir()
    assert not folders[0].exists()


def test_environment_when_a_simulated_job_ends_then_is_as_before(tmp_path, monkeypatch):
    """The original removes variables that it did not set."""
    from sagemaker_debug_ext.hooks.simulators import SagemakerSimulator

    monkeypatch.setenv("TRAINING_JOB_NAME", "outer")
    job = SagemakerSimulator(str(tmp_path / "hook.json"))
    job.out_dir, job.tb_json_config_path = str(tmp_path / "out"), str(tmp_path / "config" / "board.json")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "other.json").touch()
    with job:
        assert os.environ["TRAINING_JOB_NAME"] == "sm_job"
    assert os.environ["TRAINING_JOB_NAME"] == "outer"
    assert (tmp_path / "config" / "other.json").exists()
