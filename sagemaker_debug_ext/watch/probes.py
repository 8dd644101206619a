"""Where a job runs besides SageMaker: whether it has ended there, and how it is stopped there."""

from __future__ import annotations

import json
import logging
import re
import ssl
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import attrs
import botocore.exceptions

from sagemaker_debug_ext.config.job_spec import CLUSTER_VARIABLE
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.rules.action import aws_client

LOOK_SECONDS: Final = 30.0

_LOG: Final = logging.getLogger(__name__)
_APIS: Final = {"jobs": "apis/batch/v1", "trainjobs": "apis/trainer.kubeflow.org/v1alpha1"}
_ENDS: Final = frozenset({"Complete", "Completed", "Failed", "Suspended"})
_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_SECONDS: Final = 30
_KUBERNETES: Final = re.compile(r"kubernetes:(?P<kind>jobs|trainjobs)/(?P<name>[a-z0-9][a-z0-9.-]*)")
_SLURM: Final = re.compile(r"slurm(?::(?P<job>\d+))?")


class JobProbe(Protocol):
    """Knows one job."""

    def has_ended(self) -> bool:
        """Return whether the job has ended."""

    def stop(self) -> None:
        """Ask the job to stop."""


@attrs.frozen(kw_only=True)
class KubernetesJob:
    """A Job of Kubernetes or a TrainJob of Kubeflow Trainer; it is stopped by suspending it.

    Args:
        url: Address of the cluster's API.
        token: The token of the pod's service account, which needs the rights ``get`` and ``patch`` on the job.
        namespace: The namespace of the job.
        kind: ``jobs`` or ``trainjobs``.
        name: Name of the job.
        authority: File with the certificate of the API's authority; None for those of the system.
    """

    url: str
    token: str = attrs.field(repr=False)
    namespace: str
    kind: str
    name: str
    authority: str | None = None

    @classmethod
    def from_pod(cls, kind: str, name: str, environ: Mapping[str, str], account: Path = _ACCOUNT) -> KubernetesJob:
        """Return a job in the namespace of the pod that runs this process.

        Raises:
            SMDebugValueError: This is no pod, or it has no service account.
        """
        try:
            host, port = environ["KUBERNETES_SERVICE_HOST"], environ["KUBERNETES_SERVICE_PORT"]
            token = (account / "token").read_text(encoding="utf-8").strip()
            namespace = (account / "namespace").read_text(encoding="utf-8").strip()
        except (KeyError, OSError) as error:
            raise SMDebugValueError(f"only a pod with a service account knows jobs of Kubernetes ({error})") from error
        return cls(
            url=f"https://{host}:{port}",
            token=token,
            namespace=namespace,
            kind=kind,
            name=name,
            authority=str(account / "ca.crt"),
        )

    def has_ended(self) -> bool:
        """Return whether the job is complete, has failed, or is suspended."""
        conditions = self._send("GET").get("status", {}).get("conditions", ())
        return any(item["type"] in _ENDS and item["status"] == "True" for item in conditions)

    def stop(self) -> None:
        """Suspend the job, which ends its pods."""
        self._send("PATCH", {"spec": {"suspend": True}})

    def _send(self, method: str, change: Mapping[str, Any] | None = None) -> dict[str, Any]:
        request = urllib.request.Request(  # noqa: S310 - an address of the cluster
            f"{self.url}/{_APIS[self.kind]}/namespaces/{self.namespace}/{self.kind}/{self.name}",
            method=method,
            data=None if change is None else json.dumps(change).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/merge-patch+json"},
        )
        context = ssl.create_default_context(cafile=self.authority) if self.url.startswith("https:") else None
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS, context=context) as response:  # noqa: S310 - see above
                found: dict[str, Any] = json.loads(response.read())
        except urllib.error.HTTPError as error:
            with error:  # it holds the connection
                problem = f"{method} of {self.kind} {self.name!r} was answered {error.code} {error.reason}"
            raise OSError(problem) from None
        return found


@attrs.frozen(kw_only=True)
class SlurmJob:
    """A job of Slurm; it is stopped with SIGTERM, and cancelled a minute later if that has not ended it.

    Args:
        job: Its number.
        grace_seconds: Time between the two.
    """

    job: str
    grace_seconds: float = 60.0

    def has_ended(self) -> bool:
        """Return whether the job is no longer in the queue."""
        run = subprocess.run(  # noqa: S603 - a number
            ["squeue", "--noheader", "--jobs", self.job, "--format", "%T"],  # noqa: S607 - found as users find it
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if run.returncode:
            if "Invalid job id" in run.stderr:  # Slurm has forgotten it
                return True
            raise OSError(f"squeue failed: {run.stderr.strip()}")
        return not run.stdout.strip()

    def stop(self) -> None:
        """Signal all steps of the job, and cancel it later."""
        self._cancel("--signal=TERM")
        timer = threading.Timer(self.grace_seconds, self._cancel_at_last)
        timer.daemon = True
        timer.start()

    def _cancel_at_last(self) -> None:
        try:
            if not self.has_ended():
                self._cancel()
        except OSError:
            _LOG.warning("job %s of Slurm could not be cancelled", self.job, exc_info=True)

    def _cancel(self, *options: str) -> None:
        run = subprocess.run(  # noqa: S603 - a number
            ["scancel", *options, self.job],  # noqa: S607 - found as users find it
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if run.returncode:
            raise OSError(f"scancel failed: {run.stderr.strip()}")


@attrs.frozen
class SageMakerJob:
    """A training job of SageMaker.

    Args:
        name: Its name.
        client_factory: Creates the AWS client of a service, by name.
    """

    name: str
    client_factory: Callable[[str], Any] = aws_client

    def has_ended(self) -> bool:
        """Return whether the job has a final status, or is no longer there: only jobs that have ended are deleted."""
        try:
            description = self.client_factory("sagemaker").describe_training_job(TrainingJobName=self.name)
        except botocore.exceptions.ClientError as error:
            if _is_not_found(error):
                return True
            raise
        return description["TrainingJobStatus"] in ("Completed", "Failed", "Stopped")

    def stop(self) -> None:
        """Stop the job."""
        self.client_factory("sagemaker").stop_training_job(TrainingJobName=self.name)


def _is_not_found(error: botocore.exceptions.ClientError) -> bool:
    """Return whether an error says that there is no such job; SageMaker has no code of its own for it."""
    found = error.response["Error"]
    return found["Code"] == "ResourceNotFound" or (
        found["Code"] == "ValidationException" and "not found" in found["Message"].lower()
    )


def find_probe(text: str, job_name: str, environ: Mapping[str, str]) -> JobProbe:
    """Return the probe of a job.

    Args:
        text: The value of `CLUSTER_VARIABLE`.
        job_name: Name of the job, for SageMaker.
        environ: The environment of the process.

    Raises:
        SMDebugValueError: The text names no job.
    """
    if text == "sagemaker":
        return SageMakerJob(job_name)
    if found := _KUBERNETES.fullmatch(text):
        return KubernetesJob.from_pod(found["kind"], found["name"], environ)
    job = (found["job"] or environ.get("SLURM_JOB_ID")) if (found := _SLURM.fullmatch(text)) else None
    if job:
        return SlurmJob(job=job)
    raise SMDebugValueError(
        f"{CLUSTER_VARIABLE} must be kubernetes:jobs/NAME, kubernetes:trainjobs/NAME, slurm:NUMBER, slurm in a job of "
        f"Slurm, or sagemaker (got {text!r})"
    )


def wait_for_end(probe: JobProbe, given_up: threading.Event, seconds: float = LOOK_SECONDS) -> bool:
    """Wait until a job has ended; while its cluster does not answer, it is taken for running.

    Args:
        probe: Knows the job.
        given_up: Set when nobody waits any more.
        seconds: Time between two looks.

    Returns:
        Whether the job has ended; False if the wait was given up.
    """
    has_failed = False
    while not given_up.is_set():
        try:
            if probe.has_ended():
                return True
            has_failed = False
        except Exception as error:  # noqa: BLE001 - of any client; the rules go on
            if not has_failed:
                _LOG.warning("the state of the job is unknown: %s", error)
            has_failed = True
        given_up.wait(seconds)
    return False
