"""The trial in the output of a job that ships it at its end: SageMaker packs it, and `unpack_trial` puts it on S3."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sagemaker_debug_ext.config.job_spec import SHIP_FOLDER, JobSpec
from sagemaker_debug_ext.errors import TrialNotFoundError
from sagemaker_debug_ext.store.backends import Backend, Buffer, open_backend

_ARCHIVE: Final = "output.tar.gz"
_FOLDER: Final = "output/"
_CHUNK_BYTES: Final = 8 << 20
_TRIAL: Final = "debug-output"
_END: Final = f"{_TRIAL}/training_job_end.ts"


def unpack_trial(spec: JobSpec, job: Mapping[str, Any]) -> None:
    """Copy what a job has written to its output folder to where others read it, unless that was done before.

    Args:
        spec: The settings of the job, with the locations that are read outside the container.
        job: The description of the job, which has ended.

    Raises:
        TrialNotFoundError: The job has no output, or its hook has written nothing there.
        StorageError: The output cannot be read, or the copy cannot be written.
    """
    name = job["TrainingJobName"]
    target = open_backend(f"{spec.root}/{name}")
    if target.exists(_END):
        return
    output = f"{job['OutputDataConfig']['S3OutputPath'].rstrip('/')}/{name}/output"
    has_end, is_empty = False, True
    for path, content in _files(open_backend(output)):
        _, found, key = path.partition(f"{SHIP_FOLDER}/{name}/")
        if not found:
            continue
        is_empty = False
        if key == _END:
            has_end = True  # written last, so that an interrupted copy is made again
        else:
            target.write(key, [content])
    if is_empty:
        raise TrialNotFoundError(output, f"{_ARCHIVE} holds no folder {SHIP_FOLDER}/{name}: was a hook in the script?")
    if has_end:
        target.create(_END)


def _files(output: Backend) -> Iterator[tuple[str, Buffer]]:
    """Return path and content of each file in the output of a job, packed or not."""
    if not output.exists(_ARCHIVE):
        for info in output.list(_FOLDER):
            yield info.key, output.read(info.key) or b""
        return
    stream = io.BufferedReader(_Stream(output, _ARCHIVE), _CHUNK_BYTES)
    with tarfile.open(fileobj=stream, mode="r|gz") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                yield member.name, file.read()


class _Stream(io.RawIOBase):
    """An object as a file that is read from start to end."""

    def __init__(self, backend: Backend, key: str) -> None:
        self._backend = backend
        self._key = key
        self._at = 0

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        content = self._backend.read(self._key, self._at, len(target)) or b""
        target[: len(content)] = content
        self._at += len(content)
        return len(content)
