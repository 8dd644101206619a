from __future__ import annotations

import json
import os
from typing import Any

import pytest

from sagemaker_debug_ext.local.environment import count_gpus, job_environment
from sagemaker_debug_ext.local.layout import JobFolder

REQUEST: dict[str, Any] = {
    "TrainingJobName": "job-1",
    "HyperParameters": {
        "lr": "0.1",
        "layers": "[1, 2]",
        "name": '"x y"',
        "note": "plain text",
        "sagemaker_program": '"train.py"',
        "sagemaker_submit_directory": '"s3://bucket/code/sourcedir.tar.gz"',
        "sagemaker_region": '"eu-west-1"',
        "sagemaker_mpi_enabled": "false",
    },
    "InputDataConfig": [
        {"ChannelName": name, "DataSource": {"S3DataSource": {"S3Uri": f"s3://bucket/{name}"}}}
        for name in ("train", "eval")
    ],
    "Environment": {"MY_OUT": "/opt/ml/model", "SM_LOG_LEVEL": "10"},
}


def environment(folder: JobFolder, inherited: dict[str, str] | None = None) -> dict[str, str]:
    return job_environment(REQUEST, folder, arn="arn:job", python="/venv/bin/python", inherited=inherited or {})


def test_environment_has_the_variables_of_the_training_toolkit(folder: JobFolder) -> None:
    """Scripts find the same names and the same forms of values as in a container."""
    found = environment(folder)
    expected = {
        "SM_HP_LR": "0.1",
        "SM_HP_LAYERS": "[1,2]",
        "SM_HP_NAME": "x y",
        "SM_HP_NOTE": "plain text",
        "SM_HPS": '{"layers":[1,2],"lr":0.1,"name":"x y","note":"plain text"}',
        "SM_USER_ARGS": '["--layers","[1, 2]","--lr","0.1","--name","x y","--note","plain text"]',
        "SM_USER_ENTRY_POINT": "train.py",
        "SM_MODULE_NAME": "train",
        "SM_MODULE_DIR": "s3://bucket/code/sourcedir.tar.gz",
        "SM_FRAMEWORK_PARAMS": '{"sagemaker_mpi_enabled":false}',
        "SM_CHANNELS": '["eval","train"]',
        "SM_CHANNEL_TRAIN": str(folder.data / "train"),
        "SM_CHANNEL_EVAL": str(folder.data / "eval"),
        "SM_MODEL_DIR": str(folder.model),
        "SM_OUTPUT_DIR": str(folder.ml / "output"),
        "SM_OUTPUT_DATA_DIR": str(folder.output_data),
        "SM_INPUT_DIR": str(folder.ml / "input"),
        "SM_INPUT_CONFIG_DIR": str(folder.config),
        "SM_HOSTS": '["algo-1"]',
        "SM_CURRENT_HOST": "algo-1",
        "SM_NUM_CPUS": str(os.cpu_count()),
        "TRAINING_JOB_NAME": "job-1",
        "TRAINING_JOB_ARN": "arn:job",
        "SMDEBUG_CONFIG_FILE_PATH": str(folder.config / "debughookconfig.json"),
        "TENSORBOARD_CONFIG_FILE_PATH": str(folder.config / "tensorboardoutputconfig.json"),
        "CHECKPOINT_CONFIG_FILE_PATH": str(folder.config / "checkpointconfig.json"),
    }
    assert {name: found.get(name) for name in expected} == expected
    training = json.loads(found["SM_TRAINING_ENV"])
    assert training["hyperparameters"] == json.loads(found["SM_HPS"])
    assert training["channel_input_dirs"] == {"train": str(folder.data / "train"), "eval": str(folder.data / "eval")}
    assert all(isinstance(value, str) for value in found.values())


def test_environment_of_the_request_wins_and_is_relocated(folder: JobFolder) -> None:
    """The request's own variables come last, and may name the container's folders."""
    found = environment(folder)
    assert found["MY_OUT"] == str(folder.model)
    assert found["SM_LOG_LEVEL"] == "10"


def test_environment_drops_inherited_variables_of_another_job(folder: JobFolder) -> None:
    """A job started from within a job sees its own settings only; what is no job's business stays."""
    inherited = {"SM_HP_OLD": "1", "SM_CHANNEL_OLD": "/x", "AWS_REGION": "eu-west-1", "PATH": "/bin"}
    found = environment(folder, inherited)
    assert "SM_HP_OLD" not in found
    assert "SM_CHANNEL_OLD" not in found
    assert found["AWS_REGION"] == "eu-west-1"
    assert found["PATH"] == f"/venv/bin{os.pathsep}/bin"


@pytest.mark.parametrize(("visible", "count"), [("", 0), ("0", 1), ("0,1", 2), ("-1", 0)])
def test_count_gpus_when_devices_are_listed_counts_them(
    monkeypatch: pytest.MonkeyPatch, visible: str, count: int
) -> None:
    """The variable that hides devices from a process is respected."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert count_gpus() == count
