from __future__ import annotations

import json
from typing import Any

import pytest

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.local.layout import TENSORS, JobFolder, config_files, create_folders

REQUEST: dict[str, Any] = {
    "TrainingJobName": "job-1",
    "HyperParameters": {"lr": "0.1", "out": "/opt/ml/model"},
    "AlgorithmSpecification": {"TrainingInputMode": "FastFile"},
    "ResourceConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 1},
    "InputDataConfig": [
        {
            "ChannelName": "train",
            "DataSource": {"S3DataSource": {"S3Uri": "s3://bucket/train", "S3DataType": "S3Prefix"}},
            "ContentType": "text/csv",
            "InputMode": "File",
        },
        {"ChannelName": "test", "DataSource": {"S3DataSource": {"S3Uri": "s3://bucket/test"}}},
    ],
    "DebugHookConfig": {
        "S3OutputPath": "s3://bucket/opt/ml/out",
        "HookParameters": {"save_interval": "5"},
        "CollectionConfigurations": [{"CollectionName": "losses"}],
    },
    "TensorBoardOutputConfig": {"S3OutputPath": "s3://bucket/tb", "LocalPath": "/logs/tensorboard"},
}


def test_config_files_of_a_full_request_hold_what_the_container_reads(folder: JobFolder) -> None:
    """Every member becomes the file of the format, with this job's folders in place of the container's."""
    files = config_files(REQUEST, folder)
    assert files["hyperparameters.json"] == {"lr": "0.1", "out": str(folder.ml / "model")}
    assert files["debughookconfig.json"] == {
        "S3OutputPath": "s3://bucket/opt/ml/out",
        "LocalPath": str(folder.ml / "output" / "tensors"),
        "HookParameters": {"save_interval": "5"},
        "CollectionConfigurations": [{"CollectionName": "losses"}],
    }
    assert files["tensorboardoutputconfig.json"]["LocalPath"] == str(folder.root / "logs" / "tensorboard")
    assert files["inputdataconfig.json"] == {
        "train": {
            "ContentType": "text/csv",
            "TrainingInputMode": "File",
            "S3DistributionType": "FullyReplicated",
            "RecordWrapperType": "None",
        },
        "test": {
            "TrainingInputMode": "FastFile",
            "S3DistributionType": "FullyReplicated",
            "RecordWrapperType": "None",
        },
    }
    assert files["resourceconfig.json"]["current_instance_type"] == "ml.m5.xlarge"
    assert files["resourceconfig.json"]["hosts"] == ["algo-1"]


def test_config_files_of_absent_members_are_absent(folder: JobFolder) -> None:
    """The mere presence of a file means something to the hook, so absent members have none."""
    assert set(config_files({"TrainingJobName": "job-1"}, folder)) == {
        "hyperparameters.json",
        "inputdataconfig.json",
        "resourceconfig.json",
    }


def test_create_folders_makes_the_container_layout(folder: JobFolder) -> None:
    """After it the folders and files are on disk, and the files are JSON."""
    create_folders(REQUEST, folder)
    assert folder.model.is_dir()
    assert folder.output_data.is_dir()
    assert folder.code.is_dir()
    assert (folder.root / "logs/tensorboard").is_dir()
    assert (folder.ml / "output/tensors").is_dir()
    assert not (folder.ml / "checkpoints").exists()
    written = {path.name: json.loads(path.read_text()) for path in folder.config.iterdir()}
    assert written == config_files(REQUEST, folder)


@pytest.mark.parametrize("path", ["tensors", "/opt/../../etc", ""])
def test_container_path_that_leaves_the_container_is_refused(folder: JobFolder, path: str) -> None:
    """A LocalPath cannot lead out of the job's folder."""
    with pytest.raises(SMDebugValueError, match="absolute and without"):
        folder.container_path(path)


def test_output_folder_of_an_empty_local_path_is_the_default(folder: JobFolder) -> None:
    """An empty LocalPath counts as none."""
    request = {"DebugHookConfig": {"S3OutputPath": "s3://bucket", "LocalPath": ""}}
    assert TENSORS.folder(request, folder) == folder.ml / "output" / "tensors"


@pytest.mark.parametrize(
    ("text", "relocated"),
    [
        ("/opt/ml", "ML"),
        ("/opt/ml/model", "ML/model"),
        ("--out=/opt/ml/model:/opt/ml/code", "--out=ML/model:ML/code"),
        ("cd /opt/ml; ls", "cd ML; ls"),
        ("/opt/mlflow", "/opt/mlflow"),
        ("/data/opt/ml", "/data/opt/ml"),
        ("s3://bucket/opt/ml/x", "s3://bucket/opt/ml/x"),
        ("/opt/ml-data", "/opt/ml-data"),
    ],
)
def test_relocate_replaces_only_the_path_of_the_container(folder: JobFolder, text: str, relocated: str) -> None:
    """Only ``/opt/ml`` itself and what is below it moves to the job's folder."""
    expected = relocated.replace("ML", str(folder.ml)) if "ML" in relocated else relocated
    assert folder.relocate({"key": [text, 1, None]}) == {"key": [expected, 1, None]}
