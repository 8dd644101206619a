"""The folders and configuration files below ``/opt/ml`` of a SageMaker container, for a local job."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

import attrs

from sagemaker_debug_ext.errors import SMDebugValueError

HOST: Final = "algo-1"
"""The name of the only host of a local job."""

_ML_PATH: Final = re.compile(r"(?<![\w./-])/opt/ml(?![\w.-])")


@attrs.frozen
class JobFolder:
    """The folder of one job: the root of a container, and files of the runner beside it.

    Attributes:
        root: The folder. ``root/opt/ml`` is the container's ``/opt/ml``.
    """

    root: Path

    @property
    def ml(self) -> Path:
        """The container's ``/opt/ml``."""
        return self.root / "opt" / "ml"

    @property
    def config(self) -> Path:
        """Configuration files."""
        return self.ml / "input" / "config"

    @property
    def data(self) -> Path:
        """Input channels, one folder per channel."""
        return self.ml / "input" / "data"

    @property
    def code(self) -> Path:
        """The user's code, which is also the working directory of the entry point."""
        return self.ml / "code"

    @property
    def model(self) -> Path:
        """The content of ``model.tar.gz``."""
        return self.ml / "model"

    @property
    def output_data(self) -> Path:
        """The content of ``output.tar.gz``."""
        return self.ml / "output" / "data"

    @property
    def profiler_config(self) -> Path:
        """The file with the job's ``ProfilerConfig``, which changes when the job is updated."""
        return self.config / "profilerconfig.json"

    @property
    def failure(self) -> Path:
        """The file to which a script may write why it failed."""
        return self.ml / "output" / "failure"

    @property
    def stdout(self) -> Path:
        """The output of the entry point."""
        return self.root / "stdout.log"

    @property
    def stderr(self) -> Path:
        """The standard error output of the entry point."""
        return self.root / "stderr.log"

    @property
    def description(self) -> Path:
        """The job's description, as JSON."""
        return self.root / "description.json"

    @property
    def reserve(self) -> Path:
        """The file that keeps space for the description while the job runs."""
        return self.root / "description.reserve"

    @property
    def lock(self) -> Path:
        """The lock file, which is locked while the process that runs the job is alive."""
        return self.root / "lock"

    def container_path(self, path: str) -> Path:
        """Return the local folder for an absolute path in the container.

        Raises:
            SMDebugValueError: The path is relative, or is outside the job's folder.
        """
        parts = PurePosixPath(path).parts
        if not path.startswith("/") or ".." in parts:
            raise SMDebugValueError(f"a LocalPath must be absolute and without '..' (got {path!r})")
        return self.root.joinpath(*parts[1:])

    def relocate(self, value: Any) -> Any:
        """Return JSON data in which ``/opt/ml`` is replaced by this job's folder in all strings."""
        if isinstance(value, str):
            return _ML_PATH.sub(lambda _: str(self.ml), value)
        if isinstance(value, Mapping):
            return {key: self.relocate(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.relocate(item) for item in value]
        return value


@attrs.frozen
class OutputMember:
    """A member of the request whose folder in the container is copied to S3 while the job runs.

    Attributes:
        member: Name of the member.
        config_file: The configuration file for it in the container.
        default_path: The folder if the member has no ``LocalPath``.
    """

    member: str
    config_file: str
    default_path: str

    def folder(self, request: Mapping[str, Any], job: JobFolder) -> Path | None:
        """Return the local folder; None if the request lacks the member."""
        if self.member not in request:
            return None
        return job.container_path(request[self.member].get("LocalPath") or self.default_path)


TENSORS: Final = OutputMember("DebugHookConfig", "debughookconfig.json", "/opt/ml/output/tensors")
TENSORBOARD: Final = OutputMember(
    "TensorBoardOutputConfig", "tensorboardoutputconfig.json", "/opt/ml/output/tensorboard"
)
CHECKPOINTS: Final = OutputMember("CheckpointConfig", "checkpointconfig.json", "/opt/ml/checkpoints")
OUTPUTS: Final = (TENSORS, TENSORBOARD, CHECKPOINTS)


def instance_type(request: Mapping[str, Any]) -> str:
    """Return the instance type of the request."""
    resources = request.get("ResourceConfig", {})
    groups = resources.get("InstanceGroups") or [{}]
    return str(resources.get("InstanceType") or groups[0].get("InstanceType") or "local")


def config_files(request: Mapping[str, Any], folder: JobFolder) -> dict[str, Any]:
    """Return the configuration files as file name → JSON data; those of absent members are left out."""
    files: dict[str, Any] = {
        "hyperparameters.json": folder.relocate(request.get("HyperParameters", {})),
        "inputdataconfig.json": _input_data_config(request),
        "resourceconfig.json": _resource_config(request),
    }
    for output in OUTPUTS:
        path = output.folder(request, folder)
        if path is not None:
            files[output.config_file] = {**folder.relocate(request[output.member]), "LocalPath": str(path)}
    if "ProfilerConfig" in request:
        files[folder.profiler_config.name] = folder.relocate(request["ProfilerConfig"])
    return files


def _resource_config(request: Mapping[str, Any]) -> dict[str, Any]:
    group = {"instance_group_name": "homogeneousCluster", "instance_type": instance_type(request), "hosts": [HOST]}
    return {
        "current_host": HOST,
        "current_instance_type": group["instance_type"],
        "current_group_name": group["instance_group_name"],
        "hosts": [HOST],
        "instance_groups": [group],
        "network_interface_name": "eth0",
    }


def _input_data_config(request: Mapping[str, Any]) -> dict[str, Any]:
    mode = request.get("AlgorithmSpecification", {}).get("TrainingInputMode", "File")
    files = {}
    for channel in request.get("InputDataConfig", ()):
        source = channel["DataSource"].get("S3DataSource", {})
        entry = {
            "ContentType": channel.get("ContentType"),
            "TrainingInputMode": channel.get("InputMode", mode),
            "S3DistributionType": source.get("S3DataDistributionType", "FullyReplicated"),
            "RecordWrapperType": channel.get("RecordWrapperType", "None"),
        }
        files[channel["ChannelName"]] = {key: value for key, value in entry.items() if value is not None}
    return files


def create_folders(request: Mapping[str, Any], folder: JobFolder) -> None:
    """Create the folders that a container has when its entry point starts, and the configuration files."""
    for path in (folder.config, folder.data, folder.code, folder.model, folder.output_data):
        path.mkdir(parents=True)
    for output in OUTPUTS:
        output_folder = output.folder(request, folder)
        if output_folder is not None:
            output_folder.mkdir(parents=True, exist_ok=True)
    for name, content in config_files(request, folder).items():
        (folder.config / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    folder.stdout.touch()
    folder.stderr.touch()


def remove_folders(request: Mapping[str, Any], folder: JobFolder) -> None:
    """Remove the folders of a container with all files in them; the output of its entry point is kept."""
    outputs = (output.folder(request, folder) for output in OUTPUTS)
    for path in (folder.ml, *outputs):
        if path is not None and path.exists():
            shutil.rmtree(path)
