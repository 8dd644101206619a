"""The surroundings of a hook inside and outside a SageMaker job, for tests of scripts on this machine."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import Final

from sagemaker_debug_ext.hooks.options.config_file import (
    CONFIG_PATH_VARIABLE,
    JOB_NAME_VARIABLE,
    TENSORBOARD_PATH_VARIABLE,
)

_OUT_DIR: Final = "/opt/ml/output/tensors"
_TENSORBOARD_CONFIG: Final = "/opt/ml/input/config/tensorboardoutputconfig.json"


class SagemakerSimulator:
    """Makes a hook believe, within a `with` block, that a SageMaker job has written its configuration files.

    The environment is restored at the end.

    Args:
        json_config_path: Where the hook's configuration file is written.
        tensorboard_dir: Folder of the TensorBoard files.
        training_job_name: Name of the job.
        json_file_contents: Content of the hook's configuration file.
        cleanup: Whether to remove the output of an earlier job at the beginning, and the files at the end.

    Attributes:
        out_dir: Where the hook writes unless the file names another folder.
        tb_json_config_path: Path of TensorBoard's configuration file.
    """

    def __init__(
        self,
        json_config_path: str = "/tmp/zcc_config.json",  # noqa: S108 - the default of smdebug
        tensorboard_dir: str = "/tmp/tensorboard",  # noqa: S108 - likewise
        training_job_name: str = "sm_job",
        json_file_contents: str = "{}",
        cleanup: bool = True,
    ) -> None:
        self.out_dir = _OUT_DIR
        self.json_config_path = json_config_path
        self.tb_json_config_path = _TENSORBOARD_CONFIG
        self.tensorboard_dir = tensorboard_dir
        self.training_job_name = training_job_name
        self.json_file_contents = json_file_contents
        self.cleanup = cleanup
        self._former: dict[str, str | None] = {}

    def __enter__(self) -> SagemakerSimulator:
        if self.cleanup:
            shutil.rmtree(self.out_dir, ignore_errors=True)
        contents = {
            self.json_config_path: self.json_file_contents,
            self.tb_json_config_path: json.dumps({"LocalPath": self.tensorboard_dir}),
        }
        for path, content in contents.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(content, encoding="utf-8")
        variables = {
            CONFIG_PATH_VARIABLE: self.json_config_path,
            TENSORBOARD_PATH_VARIABLE: self.tb_json_config_path,
            JOB_NAME_VARIABLE: self.training_job_name,
        }
        self._former = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.cleanup:
            for path in (self.json_config_path, self.tb_json_config_path):
                Path(path).unlink(missing_ok=True)
        for name, value in self._former.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class ScriptSimulator:
    """Removes the output folders of a script before and after a `with` block.

    Args:
        out_dir: Folder of the trial.
        tensorboard_dir: Folder of the TensorBoard files; None if there is none.
    """

    def __init__(self, out_dir: str = "/tmp/test", tensorboard_dir: str | None = None) -> None:  # noqa: S108 - as above
        self.out_dir = out_dir
        self.tensorboard_dir = tensorboard_dir

    def _remove(self) -> None:
        for folder in filter(None, (self.out_dir, self.tensorboard_dir)):
            shutil.rmtree(folder, ignore_errors=True)

    def __enter__(self) -> ScriptSimulator:
        self._remove()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._remove()
