"""Processing jobs: the entry point of a CreateProcessingJob request as a process of this machine."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.laptop.api import APIError, Operation
from sagemaker_debug_ext.laptop.jobs.records import Listing, Records, check
from sagemaker_debug_ext.laptop.objects import fetch
from sagemaker_debug_ext.laptop.reports import PROCESSING, Change, Line, Report
from sagemaker_debug_ext.local.archives import files_below
from sagemaker_debug_ext.local.description import check_job_name, job_arn, shorten
from sagemaker_debug_ext.local.environment import inherited_environment
from sagemaker_debug_ext.local.layout import HOST, JobFolder
from sagemaker_debug_ext.local.paths import Locations
from sagemaker_debug_ext.local.plan import JobHost
from sagemaker_debug_ext.local.process import JobProcess, LineReader, describe_exit, tail
from sagemaker_debug_ext.store.folder_sync import write_object

NAME: Final = "ProcessingJobName"
FINAL: Final = frozenset({"Completed", "Failed", "Stopped"})

_LOG: Final = logging.getLogger(__name__)
_LISTING: Final = Listing(
    name=NAME,
    status="ProcessingJobStatus",
    end="ProcessingEndTime",
    arn="ProcessingJobArn",
    others=("FailureReason", "ExitMessage"),
    result="ProcessingJobSummaries",
)
_POLL_SECONDS: Final = 0.1
_UPLOAD_SECONDS: Final = 1.0
_GRACE_SECONDS: Final = 10.0
_DAY: Final = 86_400
_ASKED: Final = "asked"


class ProcessingJobs:
    """The processing jobs of one server.

    Args:
        work_dir: The work folder; each job has a folder in ``processing``.
        make_host: Returns what a job can use of this machine, by the name of the job.
        report: Takes the reports of the jobs.
    """

    def __init__(self, work_dir: Path, make_host: Callable[[str], JobHost], report: Callable[[Report], object]) -> None:
        self._folder = work_dir / "processing"
        self._make_host = make_host
        self._report = report
        self._records = Records(work_dir / "processing", _LISTING, FINAL)
        self._runs: dict[str, _Run] = {}

    @property
    def operations(self) -> dict[str, Operation]:
        """The operations of the API, by name."""
        return {
            "CreateProcessingJob": self.create,
            "DescribeProcessingJob": self._records.get,
            "ListProcessingJobs": self._records.page,
            "StopProcessingJob": self.stop,
        }

    @property
    def names(self) -> list[str]:
        """The names of the jobs that this server has started, in order."""
        return list(self._runs)

    def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Start a processing job.

        Raises:
            APIError: The request is not valid, or the name is in use.
        """
        check(request, "CreateProcessingJobRequest")
        name = str(request[NAME])
        try:
            check_job_name(name)
            run = _Run(request, JobFolder(self._folder / name), self._make_host(name), self._update, self._report)
        except DebugExtError as error:
            raise APIError("ValidationException", str(error)) from error
        arn = job_arn(request, "processing-job", name)
        description = {key: value for key, value in request.items() if key != "Tags"}
        self._records.add({**description, "ProcessingJobArn": arn, "ProcessingJobStatus": "InProgress"})
        self._runs[name] = run
        run.start()
        return {"ProcessingJobArn": arn}

    def describe(self, name: str) -> dict[str, Any]:
        """Describe a processing job.

        Raises:
            APIError: There is no such job.
        """
        return self._records.get({NAME: name})

    def stop(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Stop a processing job.

        Raises:
            APIError: There is no such job, or it has ended.
        """
        description = self._records.get(request)
        status = description["ProcessingJobStatus"]
        if status in FINAL:
            raise APIError("ValidationException", f"The request was rejected because the processing job is {status}")
        self._records.update(description[NAME], ProcessingJobStatus="Stopping")
        self._runs[description[NAME]].stop()
        return {}

    def wait_for(self, name: str) -> dict[str, Any]:
        """Wait until a job of this server has ended, and return its description."""
        self._runs[name].join()
        return self.describe(name)

    def close(self) -> None:
        """Stop all jobs, and wait until they have ended."""
        for run in self._runs.values():
            run.stop()
        for run in self._runs.values():
            run.join()

    def _update(self, name: str, **members: Any) -> None:
        self._records.update(name, **members)
        self._report(Change(PROCESSING, name, members["ProcessingJobStatus"] in FINAL))


class _Run:
    """A processing job that runs."""

    def __init__(
        self,
        request: Mapping[str, Any],
        folder: JobFolder,
        host: JobHost,
        update: Callable[..., object],
        report: Callable[[Report], object],
    ) -> None:
        self._request = request
        self._name = str(request[NAME])
        self._folder = folder
        self._host = host
        self._locations: Locations = host.locations or Locations(folder.root)
        self._update = update
        self._report = report
        self._stopped = threading.Event()
        self._inputs = [(item["S3Input"]["S3Uri"], self._path(item)) for item in self._described_inputs()]
        self._outputs = [_Output(item["S3Output"], folder, self._locations) for item in self._described_outputs()]
        self._command = self._make_command()
        self._thread = threading.Thread(target=self._run, name=f"processing-job-{self._name}")

    def start(self) -> None:
        """Start the job."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the job to stop."""
        self._stopped.set()

    def join(self) -> None:
        """Wait for the end of the job."""
        self._thread.join()

    def _described_inputs(self) -> Iterator[Mapping[str, Any]]:
        for item in self._request.get("ProcessingInputs", ()):
            if item.get("S3Input", {}).get("S3DataType") != "S3Prefix" or "LocalPath" not in item["S3Input"]:
                raise APIError(
                    "ValidationException",
                    f"ProcessingInputs: {item['InputName']!r} must have an S3Input with the S3DataType S3Prefix and a "
                    "LocalPath on this server",
                )
            yield item

    def _described_outputs(self) -> Iterator[Mapping[str, Any]]:
        for item in self._request.get("ProcessingOutputConfig", {}).get("Outputs", ()):
            if "LocalPath" not in item.get("S3Output", {}):
                raise APIError(
                    "ValidationException",
                    f"ProcessingOutputConfig: {item['OutputName']!r} must have an S3Output with a LocalPath on this "
                    "server",
                )
            yield item

    def _path(self, item: Mapping[str, Any]) -> Path:
        return self._folder.container_path(item["S3Input"]["LocalPath"])

    def _make_command(self) -> list[str]:
        app = self._request["AppSpecification"]
        if not app.get("ContainerEntrypoint"):
            raise APIError(
                "ValidationException",
                "AppSpecification must have a ContainerEntrypoint: the code inside the image "
                f"{app['ImageUri']!r} cannot be run on this machine",
            )
        command = self._folder.relocate([*app["ContainerEntrypoint"], *app.get("ContainerArguments", ())])
        return list(command if self._host.container is None else self._host.container(self._folder, command))

    def _run(self) -> None:
        self._update(self._name, ProcessingJobStatus="InProgress", ProcessingStartTime=time.time())
        try:
            members = self._process()
        except Exception as error:  # noqa: BLE001 - the end of the thread: who waits must hear of whatever it was
            if not isinstance(error, DebugExtError):
                _LOG.exception("running processing job %s failed", self._name)
            members = {"ProcessingJobStatus": "Failed", "FailureReason": shorten(f"InternalServerError: {error}")}
        self._update(self._name, ProcessingEndTime=time.time(), **members)

    def _process(self) -> dict[str, Any]:
        self._prepare()
        environment = inherited_environment(sys.executable, self._host.environment)
        environment |= self._folder.relocate(self._request.get("Environment", {}))
        process = JobProcess(
            self._command,
            cwd=self._folder.ml,
            environment=environment,
            stdout=self._folder.stdout,
            stderr=self._folder.stderr,
        )
        try:
            reason = self._follow(process)
        finally:
            process.stop(0.0)
            code = process.wait()
        for output in self._outputs:
            output.upload()
        message = tail(self._folder.ml / "output" / "message")
        said = {"ExitMessage": shorten(message)} if message else {}
        if reason or code is None:
            why = {} if reason == _ASKED else {"FailureReason": reason}
            return {"ProcessingJobStatus": "Stopped", **said, **why}
        if code:
            text = f"AlgorithmError: {describe_exit(code)}\n{message or tail(self._folder.stderr)}"
            return {"ProcessingJobStatus": "Failed", "FailureReason": shorten(text, keep_end=True), **said}
        return {"ProcessingJobStatus": "Completed", **said}

    def _prepare(self) -> None:
        config = self._folder.ml / "config"
        config.mkdir(parents=True)
        (self._folder.ml / "output").mkdir()
        self._folder.stdout.touch()
        self._folder.stderr.touch()
        resources = {"current_host": HOST, "hosts": [HOST]}
        (config / "resourceconfig.json").write_text(json.dumps(resources), encoding="utf-8")
        (config / "processingjobconfig.json").write_text(json.dumps(dict(self._request)), encoding="utf-8")
        for uri, path in self._inputs:
            fetch(self._locations, uri, path)
        for output in self._outputs:
            output.folder.mkdir(parents=True, exist_ok=True)

    def _follow(self, process: JobProcess) -> str:
        """Pass lines and files on until the process has ended; return why it was stopped."""
        lines = [LineReader(self._folder.stdout), LineReader(self._folder.stderr)]
        limit = self._request.get("StoppingCondition", {}).get("MaxRuntimeInSeconds", _DAY)
        deadline, next_upload, reason = time.monotonic() + limit, 0.0, ""
        while process.poll() is None:
            self._print(lines)
            if not reason and (self._stopped.is_set() or time.monotonic() > deadline):
                reason = _ASKED if self._stopped.is_set() else f"the job ran longer than {limit} seconds"
                process.stop(_GRACE_SECONDS)
            if time.monotonic() > next_upload:
                for output in self._outputs:
                    output.upload_new()
                next_upload = time.monotonic() + _UPLOAD_SECONDS
            process.wait(_POLL_SECONDS)
        self._print(lines, last=True)
        return reason

    def _print(self, readers: list[LineReader], last: bool = False) -> None:
        for reader in readers:
            for line in reader.read(last):
                self._report(Line(PROCESSING, self._name, line))


class _Output:
    """An output of a processing job: a folder, and where its files go."""

    def __init__(self, output: Mapping[str, Any], folder: JobFolder, locations: Locations) -> None:
        self.folder = folder.container_path(output["LocalPath"])
        self._backend = locations.backend(output["S3Uri"])
        self._is_continuous = output["S3UploadMode"] == "Continuous"
        self._uploaded: dict[str, int] = {}

    def upload_new(self) -> None:
        """Upload files that have changed, if this output is uploaded while the job runs."""
        if self._is_continuous:
            with contextlib.suppress(FileNotFoundError):  # of a file that was removed just now
                self.upload()

    def upload(self) -> None:
        """Upload files that have changed."""
        for key, path in files_below(self.folder):
            changed_at = path.stat().st_mtime_ns
            if self._uploaded.get(key) != changed_at:
                write_object(self._backend, key, [path.read_bytes()])
                self._uploaded[key] = changed_at
