"""Sync of a job's files to the locations in its request, while it runs and after it has ended."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.local.archives import files_below, pack
from sagemaker_debug_ext.local.layout import CHECKPOINTS, TENSORBOARD, TENSORS, JobFolder
from sagemaker_debug_ext.local.paths import Locations, join_location
from sagemaker_debug_ext.requests import artifact_paths
from sagemaker_debug_ext.store.backends import LocalBackend, ObjectInfo
from sagemaker_debug_ext.store.folder_sync import FolderSync, mapped, write_object
from sagemaker_debug_ext.store.job_end import has_ended
from sagemaker_debug_ext.store.trial_mirror import TensorMirror


def output_path(request: Mapping[str, Any]) -> str | None:
    """Return the location for the job's model and output; None without an ``OutputDataConfig``."""
    base = request.get("OutputDataConfig", {}).get("S3OutputPath")
    return join_location(base, request["TrainingJobName"], "output") if base else None


class ArtifactSync:
    """Syncs all outputs of a job outside its own folder.

    Args:
        request: The CreateTrainingJob request.
        folder: The job's folder.
        locations: Maps the request's locations to local paths.
    """

    def __init__(self, request: Mapping[str, Any], folder: JobFolder, locations: Locations) -> None:
        self._request = request
        self._folder = folder
        self._locations = locations
        paths = artifact_paths(request)
        self.tensors = self._mirror(TensorMirror, TENSORS.folder(request, folder), paths.debugger)
        checkpoints = request.get(CHECKPOINTS.member, {}).get("S3Uri")
        self._others = [
            mirror
            for mirror in (
                self._mirror(FolderSync, TENSORBOARD.folder(request, folder), paths.tensorboard),
                self._mirror(FolderSync, CHECKPOINTS.folder(request, folder), checkpoints),
            )
            if mirror is not None
        ]

    def _mirror(self, kind: type[FolderSync], source: Path | None, location: str | None) -> Any:
        if source is None or location is None:
            return None
        return kind(source, self._locations.backend(location))

    def check_unused(self) -> None:
        """Check that the location of the job's trial is empty.

        Raises:
            SMDebugRuntimeError: The trial of another job with the same name is there.
        """
        if self.tensors is not None and self.tensors.target.list():
            raise SMDebugRuntimeError(
                f"{self.tensors.target.url!r} already holds the trial of a job of this name: choose another name"
            )

    def fetch_checkpoints(self) -> None:
        """Copy the checkpoints that are there into the folder, as SageMaker does before the entry point starts."""
        folder = CHECKPOINTS.folder(self._request, self._folder)
        if folder is None:
            return
        earlier = self._locations.input_path(self._request[CHECKPOINTS.member]["S3Uri"], anew=True)
        for name, path in files_below(earlier):
            write_object(LocalBackend(folder), name, [mapped(path)])

    def ship(self, final: bool = False) -> list[ObjectInfo]:
        """Copy new files; return the copied files of the trial."""
        shipped = [] if self.tensors is None else self.tensors.ship(final)
        for mirror in self._others:
            mirror.ship(final)
        return shipped

    def trial_has_ended(self) -> bool:
        """Return whether the trial at its S3 location is complete."""
        return self.tensors is not None and has_ended(self.tensors.target)

    def ship_output(self, with_model: bool) -> str | None:
        """Pack the model and the output folder, and return the model's location; None if there is no model.

        Args:
            with_model: False for a failed job, because SageMaker keeps only its output.
        """
        location = output_path(self._request)
        if location is None:
            return None
        self._ship_folder(self._folder.output_data, location, "output")
        return self._ship_folder(self._folder.model, location, "model") if with_model else None

    def _ship_folder(self, folder: Path, location: str, name: str) -> str | None:
        files = list(files_below(folder))
        if not files:
            return None
        backend = self._locations.backend(location)
        if self._request["OutputDataConfig"].get("CompressionType") == "NONE":
            for key, path in files:
                write_object(backend, f"{name}/{key}", [mapped(path)])
            return join_location(location, name) + "/"
        archive = self._folder.root / f"{name}.tar.gz"
        try:
            with archive.open("wb") as file:
                pack(files, file)
            write_object(backend, archive.name, [mapped(archive)])
        except OSError as error:
            raise SMDebugRuntimeError(f"{str(archive)!r} could not be written: {error.strerror}") from error
        finally:
            archive.unlink(missing_ok=True)
        return join_location(location, archive.name)
