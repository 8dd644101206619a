"""The server: SageMaker's operations on jobs in front of moto's server for all other services."""

from __future__ import annotations

import functools
import json
import logging
import os
import shlex
import threading
from collections.abc import Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import boto3

from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.laptop.api import Application, SageMakerAPI
from sagemaker_debug_ext.laptop.containers import enter_namespace
from sagemaker_debug_ext.laptop.denials import JOB_KEY, Denials
from sagemaker_debug_ext.laptop.functions import Functions
from sagemaker_debug_ext.laptop.iam import RoleChecks
from sagemaker_debug_ext.laptop.jobs.batch import PATHS, ServiceJobs
from sagemaker_debug_ext.laptop.jobs.pipeline_execution import StepType
from sagemaker_debug_ext.laptop.jobs.pipelines import Pipelines
from sagemaker_debug_ext.laptop.jobs.processing import ProcessingJobs
from sagemaker_debug_ext.laptop.jobs.training import NAME, TrainingJobs
from sagemaker_debug_ext.laptop.jobs.tuning import TuningJobs
from sagemaker_debug_ext.laptop.objects import S3Locations, load_buckets, save_buckets
from sagemaker_debug_ext.laptop.reports import PROCESSING, TRAINING, TUNING, JobKind, JobReports, Report
from sagemaker_debug_ext.local import Event
from sagemaker_debug_ext.local.description import FINAL_STATUSES
from sagemaker_debug_ext.local.plan import JobHost
from sagemaker_debug_ext.store.backends.s3 import S3Options

LOOPBACK: Final = "127.0.0.1"
URL_FILE: Final = "endpoint-url"
"""File of the work folder with the endpoint URL of the server that uses it."""

_LOG: Final = logging.getLogger(__name__)
_KEY: Final = "laptop"  # the server takes any
_FOREIGN: Final = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_")
_SDK_CONFIG: Final = "SAGEMAKER_USER_CONFIG_OVERRIDE"
# Each call of an SDK would wait for an address of AWS that is out of reach.
_NO_TELEMETRY: Final = {
    "SchemaVersion": "1.0",
    "SageMaker": {"PythonSDK": {"Modules": {"TelemetryOptOut": True}}},
}


class LaptopServer:
    """An AWS on this machine that runs training jobs; use it as a context manager.

    It authenticates nobody, so whoever reaches its address can run programs as the user of this process.

    Args:
        work_dir: Folder for jobs and S3 objects. The objects are loaded at the start and saved at the end.
        host: Address to listen at.
        port: Port to listen at; 0 chooses a free one.
        region: The region that jobs and clients use.
        has_debugger: Whether requests may have Debugger members, as in accounts with access to the service.
        in_namespace: Whether jobs run in a namespace in which their folder is ``/opt/ml``.
        denied: Actions of IAM that the roles of jobs have no right to; see `Denials`.

    Raises:
        MissingDependencyError: moto's server is not installed.
        SMDebugRuntimeError: The address is in use, or not one of this machine.
        SMDebugValueError: An action is none that can be denied.
    """

    def __init__(
        self,
        work_dir: str | os.PathLike[str],
        *,
        host: str = LOOPBACK,
        port: int = 0,
        region: str = "us-east-1",
        has_debugger: bool = False,
        in_namespace: bool = False,
        denied: Collection[str] = (),
    ) -> None:
        self._work_dir = Path(work_dir).expanduser().absolute()
        self._region = region
        self._in_namespace = in_namespace
        self._api = _make_api()
        self._server = _listen(host, port, Denials(self._api, denied))
        self._thread = threading.Thread(target=self._server.serve_forever, name="laptop-server", daemon=True)
        self.url: Final = f"http://{host}:{self._server.server_port}"
        """The endpoint URL for clients."""
        self._s3 = S3Options(client=self.client("s3"))
        self._reports: JobReports | None = None
        self._functions: Functions | None = None
        self.jobs: Final = TrainingJobs(self._work_dir, self._make_host, self._on_event, has_debugger)
        """The training jobs."""
        self.processing_jobs: Final = ProcessingJobs(self._work_dir, self._make_host, self._report)
        """The processing jobs."""
        self.tuning_jobs: Final = TuningJobs(self._work_dir, self.jobs, self._report)
        """The tuning jobs."""
        self.pipelines: Final = Pipelines(
            self._work_dir, self._step_types(), S3Locations(self._work_dir / "inputs", self._s3)
        )
        """The pipelines."""
        self._service_jobs = ServiceJobs(self.jobs)

    def client(self, service: str) -> Any:
        """Return a boto3 client of a service of this server."""
        session: Any = boto3.Session(aws_access_key_id=_KEY, aws_secret_access_key=_KEY, region_name=self._region)
        return session.client(service, endpoint_url=self.url)

    def environment(self, environ: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return environment variables with which the clients of a process reach this server.

        Args:
            environ: Variables to extend; those of this process by default.
        """
        own = {name: value for name, value in (environ or os.environ).items() if not name.startswith(_FOREIGN)}
        own.setdefault(_SDK_CONFIG, str(self._work_dir / "sdk-config.json"))
        return {**own, **self.client_variables()}

    def client_variables(self) -> dict[str, str]:
        """Return the environment variables that point clients at this server."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": _KEY,
            "AWS_SECRET_ACCESS_KEY": _KEY,
            "AWS_DEFAULT_REGION": self._region,
            "AWS_REGION": self._region,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": ",".join(filter(None, [os.environ.get("NO_PROXY", ""), LOOPBACK])),
            "SAGEMAKER_VALIDATE_ROLE": "false",
        }

    def export_lines(self) -> str:
        """Return `client_variables` as lines for a shell."""
        return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in self.client_variables().items())

    def start(self) -> None:
        """Start to answer requests, and load the S3 objects of the work folder."""
        self._work_dir.mkdir(parents=True, exist_ok=True)
        (self._work_dir / "sdk-config.json").write_text(json.dumps(_NO_TELEMETRY), encoding="utf-8")
        (self._work_dir / URL_FILE).write_text(self.url, encoding="utf-8")
        self._thread.start()
        load_buckets(self._work_dir / "s3", self._s3)
        self._functions = Functions(self.client, self.environment())
        self._reports = JobReports(self.client, self._describe_job)
        service_jobs = self._service_jobs.operations
        self._api.paths.update({path: service_jobs[name] for path, name in PATHS.items()})
        for table in (self.jobs, self.processing_jobs, self.tuning_jobs, self.pipelines):
            self._api.operations.update(table.operations)
        self._api.operations["DescribeTrainingJob"] = self._describe

    def wait(self) -> None:
        """Wait until all jobs have ended."""
        for table in (self.pipelines, self.tuning_jobs, self.processing_jobs, self.jobs):
            for name in table.names:
                table.wait_for(name)

    def close(self) -> None:
        """Stop all jobs, save the S3 objects to the work folder, and stop to answer requests."""
        for table in (self.pipelines, self.tuning_jobs, self.processing_jobs, self.jobs):
            table.close()
        if self._reports is not None:
            self._reports.close()
        if self._functions is not None:
            self._functions.close()
            save_buckets(self._work_dir / "s3", self._s3)
            (self._work_dir / URL_FILE).unlink(missing_ok=True)
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def __enter__(self) -> LaptopServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _step_types(self) -> dict[str, StepType]:
        return {
            "Training": StepType(
                name=NAME,
                create=self.jobs.create,
                wait_for=self.jobs.wait_for,
                stop=self.jobs.stop,
                status="TrainingJobStatus",
                arn="TrainingJobArn",
                metadata="TrainingJob",
            ),
            "Processing": StepType(
                name="ProcessingJobName",
                create=self.processing_jobs.create,
                wait_for=self.processing_jobs.wait_for,
                stop=self.processing_jobs.stop,
                status="ProcessingJobStatus",
                arn="ProcessingJobArn",
                metadata="ProcessingJob",
            ),
            "Tuning": StepType(
                name="HyperParameterTuningJobName",
                create=self.tuning_jobs.create,
                wait_for=self.tuning_jobs.wait_for,
                stop=self.tuning_jobs.stop,
                status="HyperParameterTuningJobStatus",
                arn="HyperParameterTuningJobArn",
                metadata="TuningJob",
                max_name=32,
            ),
        }

    def _make_host(self, name: str) -> JobHost:
        return JobHost(
            locations=S3Locations(self._work_dir / "inputs" / name, self._s3),
            environment={**self.environment(), "AWS_ACCESS_KEY_ID": JOB_KEY},
            container=enter_namespace if self._in_namespace else None,
        )

    def _describe(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Describe a job; who is told that it has ended finds its last lines in the logs."""
        description = self.jobs.describe(request)
        has_ended_here = description["TrainingJobStatus"] in FINAL_STATUSES and description[NAME] in self.jobs.names
        if has_ended_here and self._reports is not None:
            self._reports.wait_for_end(TRAINING, description[NAME])
        return description

    def _describe_job(self, kind: JobKind, name: str) -> dict[str, Any]:
        if kind is PROCESSING:
            return self.processing_jobs.describe(name)
        return self.tuning_jobs.describe(name) if kind is TUNING else self.jobs.describe({NAME: name})

    def _on_event(self, event: Event) -> None:
        if self._reports is not None:
            self._reports.put_event(event)

    def _report(self, report: Report) -> None:
        if self._reports is not None:
            self._reports.put(report)


def _make_api() -> SageMakerAPI:
    werkzeug_app = import_optional("moto.moto_server.werkzeug_app", "the laptop server", "laptop")
    account = import_optional("moto.core", "the laptop server", "laptop").DEFAULT_ACCOUNT_ID
    others = werkzeug_app.DomainDispatcherApplication(werkzeug_app.create_backend_app)
    return SageMakerAPI(RoleChecks(others, _KEY, account))


def _listen(host: str, port: int, application: Application) -> Any:
    serving = import_optional("werkzeug.serving", "the laptop server", "laptop")
    werkzeug_app = import_optional("moto.moto_server.werkzeug_app", "the laptop server", "laptop")

    @functools.wraps(werkzeug_app.MotoRequestHandler.log_request)
    def log_request(self: Any, code: object = "-", size: object = "-") -> None:  # noqa: ARG001 - given signature
        _LOG.debug("%s %s", self.requestline, code)

    handler = type("RequestHandler", (werkzeug_app.MotoRequestHandler,), {"log_request": log_request})
    try:
        return serving.make_server(host, port, application, threaded=True, request_handler=handler)
    except (OSError, SystemExit) as error:  # werkzeug exits when the address is in use
        raise SMDebugRuntimeError(
            f"the server cannot listen at {host}:{port}: choose another address or port ({error})"
        ) from error
