"""Manifests of jobs on other clusters, with the settings of a self-managed job in their environment variables.

Manifests for Kubernetes are dictionaries, whose JSON is YAML, too.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from sagemaker_debug_ext.config.job_spec import CLUSTER_VARIABLE, JOB_NAME_VARIABLE, decode_job_spec
from sagemaker_debug_ext.errors import SMDebugValueError, did_you_mean

TRAINER_RUNTIME: Final = "torch-distributed"
"""The training runtime that Kubeflow Trainer installs for PyTorch."""

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_WATCHER: Final = ("python", "-m", "sagemaker_debug_ext.watch.program", "--place", "pod")
_GRACE_SECONDS: Final = 90  # the hook waits up to a minute for the last evaluations


def kubernetes_job(name: str, image: str, command: Sequence[str], variables: Mapping[str, str]) -> dict[str, Any]:
    """Return a Job of Kubernetes.

    Args:
        name: Name of the job.
        image: The image of its container.
        command: The command that trains.
        variables: The environment variables of the self-managed job.
    """
    variables = {CLUSTER_VARIABLE: f"kubernetes:jobs/{name}", **variables}
    container = {"name": "trainer", "image": image, "command": list(command), "env": _env(name, variables)}
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
        **_sidecar(image, _env(name, variables), variables),
        "containers": [container],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"backoffLimit": 0, "template": {"spec": pod}},
    }


def train_job(name: str, image: str, command: Sequence[str], variables: Mapping[str, str]) -> dict[str, Any]:
    """Return a TrainJob of Kubeflow Trainer; see `kubernetes_job` for the arguments."""
    variables = {CLUSTER_VARIABLE: f"kubernetes:trainjobs/{name}", **variables}
    trainer = {"image": image, "command": list(command), "env": _env(name, variables)}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name},
        "spec": {"runtimeRef": {"name": TRAINER_RUNTIME}, "trainer": trainer},
    }


def ray_job(name: str, image: str, command: Sequence[str], variables: Mapping[str, str]) -> dict[str, Any]:
    """Return a RayJob of KubeRay with one head; see `kubernetes_job` for the arguments."""
    runtime = {"env_vars": {**variables, JOB_NAME_VARIABLE: name}}
    head = {"containers": [{"name": "ray-head", "image": image}]}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": name},
        "spec": {
            "entrypoint": shlex.join(command),
            "runtimeEnvYAML": json.dumps(runtime),
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": {"headGroupSpec": {"rayStartParams": {}, "template": {"spec": head}}},
        },
    }


def sbatch_script(name: str, image: str, command: Sequence[str], variables: Mapping[str, str]) -> str:  # noqa: ARG001
    """Return a batch script of Slurm, which has no image; see `kubernetes_job` for the other arguments.

    The job's name on S3 ends in its number, because Slurm runs jobs of the same name. Slurm signals it 90 seconds
    before its time limit.
    """
    exports = [f"export {variable}={shlex.quote(value)}" for variable, value in variables.items()]
    lines = [
        "#!/bin/bash",
        f"#SBATCH --job-name={name}",
        f"#SBATCH --signal=TERM@{_GRACE_SECONDS}",
        f"export {CLUSTER_VARIABLE}=slurm",
        *exports,
        f'export {JOB_NAME_VARIABLE}="$SLURM_JOB_NAME-$SLURM_JOB_ID"',
        f"srun {shlex.join(command)}",
    ]
    return "\n".join(lines) + "\n"


MANIFESTS: Final[Mapping[str, Callable[[str, str, Sequence[str], Mapping[str, str]], dict[str, Any] | str]]] = {
    "job": kubernetes_job,
    "trainjob": train_job,
    "rayjob": ray_job,
    "sbatch": sbatch_script,
}
"""The kinds of manifests."""


_STOPPED: Final = {"job": ("batch", "jobs"), "trainjob": ("trainer.kubeflow.org", "trainjobs")}
"""API group and resource of the jobs that `StopTraining` suspends."""


def stop_rights(kind: str, account: str, job_names: Sequence[str] = ()) -> dict[str, Any]:
    """Return the rights that `StopTraining` needs on Kubernetes: a service account, a Role, and what binds both.

    Args:
        kind: ``job`` or ``trainjob``.
        account: Name of the service account, and of the Role.
        job_names: The jobs that the account may stop; all of its namespace by default.

    Raises:
        SMDebugValueError: An argument is not allowed.
    """
    if kind not in _STOPPED:
        raise SMDebugValueError(
            f"kind must be one of {', '.join(_STOPPED)} (got {kind!r}){did_you_mean(kind, _STOPPED)}"
        )
    for name in (account, *job_names):
        _check_name(name)
    group, resource = _STOPPED[kind]
    rule: dict[str, Any] = {"apiGroups": [group], "resources": [resource], "verbs": ["get", "patch"]}
    if job_names:
        rule["resourceNames"] = list(job_names)
    rbac = "rbac.authorization.k8s.io"
    metadata = {"name": account}
    return {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
            {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": metadata, "rules": [rule]},
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "RoleBinding",
                "metadata": metadata,
                "roleRef": {"apiGroup": rbac, "kind": "Role", "name": account},
                "subjects": [{"kind": "ServiceAccount", "name": account}],
            },
        ],
    }


def manifest(
    kind: str, name: str, image: str, command: Sequence[str], variables: Mapping[str, str], account: str = ""
) -> str:
    """Return the text of a manifest.

    Args:
        kind: One of `MANIFESTS`.
        name: Name of the job, as Kubernetes allows it.
        image: The image of its container; not used by ``sbatch``.
        command: The command that trains.
        variables: The environment variables of the self-managed job.
        account: Service account of the pod, such as that of `stop_rights`; only for ``job``.

    Raises:
        SMDebugValueError: An argument is not allowed.
    """
    if kind not in MANIFESTS:
        known = ", ".join(MANIFESTS)
        raise SMDebugValueError(f"kind must be one of {known} (got {kind!r}){did_you_mean(kind, MANIFESTS)}")
    _check_name(name)
    if account:
        _check_name(account)
        if kind != "job":
            raise SMDebugValueError(
                f"account must be left out for {kind}, whose pods others describe (got {account!r})"
            )
    if not command:
        raise SMDebugValueError("command must hold the program that trains (got no words)")
    if kind != "sbatch" and not image:
        raise SMDebugValueError(f"image must name the image of the container (got {image!r})")
    made = MANIFESTS[kind](name, image, command, variables)
    if account and isinstance(made, dict):
        made["spec"]["template"]["spec"]["serviceAccountName"] = account
    return made if isinstance(made, str) else json.dumps(made, indent=2) + "\n"


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise SMDebugValueError(
            f"name must be 1 to 63 lower-case letters, digits or hyphens, with no hyphen at either end (got {name!r})"
        )


def _sidecar(image: str, env: list[dict[str, str]], variables: Mapping[str, str]) -> dict[str, Any]:
    """Return the container of the watcher, if the settings place it in one; Kubernetes ends it after the others."""
    spec = decode_job_spec(variables)
    if spec is None or spec.watch.place != "pod":
        return {}
    watcher = {
        "name": "rules",
        "image": image,
        "command": list(_WATCHER),
        "restartPolicy": "Always",
        "env": env,
        "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}},
    }
    return {"initContainers": [watcher]}


def _env(name: str, variables: Mapping[str, str]) -> list[dict[str, str]]:
    named = {JOB_NAME_VARIABLE: name, **variables}
    return [{"name": variable, "value": value} for variable, value in named.items()]
