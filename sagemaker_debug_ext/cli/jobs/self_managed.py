"""``sagemaker-debug self-managed``: jobs whose hook and rules run without the Debugger service."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sagemaker_debug_ext.cli import _arguments, _output
from sagemaker_debug_ext.config.job_spec import (
    JOB_NAME_VARIABLE,
    JobSpec,
    decode_job_spec,
    encode_job_spec,
)
from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugValueError

if TYPE_CHECKING:
    from sagemaker_debug_ext.sdk import TrainingJob

_STDIN: Final = "-"
_ISSUES_FOUND: Final = 1


_SUMMARY: Final = "Run the hook and the rules of a job without the Debugger service."
_ENV: Final = (
    "Print the environment variables that carry the settings of a job: as lines for a shell, as JSON or as YAML. "
    "The file holds a request as debugger_request returns it."
)
_MANIFEST: Final = (
    "Print the manifest of a job for Kubernetes, Kubeflow Trainer or Ray, or a batch script for Slurm, with the "
    "variables that `env` prints. Add resources, volumes and service accounts to it as your cluster needs them."
)
_RBAC: Final = (
    "Print a service account for pods, and a Role that lets it look at and suspend jobs of its namespace, which is all "
    "that StopTraining does there."
)
_TEMPLATE: Final = (
    "Print a CloudFormation template with a function that stops jobs submitted with SelfManaged(stop='events'), a "
    "topic for messages, and the policies of training jobs, watchers and readers. Self-managed jobs work without it."
)
_WATCH: Final = (
    "Evaluate the rules of a running or ended job on this machine, unless another watcher does. A job that is given by "
    "its folder is followed until its trial ends; use resume if it was killed. "
    "Exit status: 1 if a rule has found an issue."
)
_WHEELS: Final = (
    "Write the wheels of this package and of what it needs, for Linux on x86-64, and a script that installs them, to a "
    "folder for SelfManaged(place='processing', rule_wheels_uri=...). They are downloaded by pip."
)
_RESUME: Final = (
    "Evaluate all rules of an ended job on this machine, whose watcher was killed or had too little time. Actions that "
    "were carried out are not repeated. Exit status: 1 if a rule has found an issue."
)


def add_parser(commands: Any) -> None:
    """Add the command and its own commands."""
    parser = commands.add_parser("self-managed", help=_SUMMARY, description=_SUMMARY)
    parser.set_defaults(command=parser)
    parts = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_settings(parts)
    _add_setup(parts)
    _add_rules(parts)


def _add_settings(parts: Any) -> None:
    """Add the commands that print the settings of a job."""
    env = _arguments.add_command(parts, "env", "Print the environment variables of a job.", run_env, description=_ENV)
    env.add_argument("request", metavar="FILE", help="JSON file with a request; - reads standard input")
    env.add_argument(
        "--channel",
        action="store_true",
        help="upload the settings to S3; print the input channel of a SageMaker job, which carries them, to stderr",
    )
    form = env.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print a JSON object, for Environment of a request")
    form.add_argument(
        "--yaml", action="store_true", help="print a list of names and values, for a Kubernetes container"
    )
    manifest = _arguments.add_command(
        parts, "manifest", "Print a job for another cluster with these variables.", run_manifest, description=_MANIFEST
    )
    manifest.add_argument("kind", metavar="KIND", help="job (Kubernetes), trainjob (Kubeflow), rayjob or sbatch")
    manifest.add_argument("request", metavar="FILE", help="JSON file with a request; - reads standard input")
    manifest.add_argument("--name", required=True, help="name of the job, which becomes its folder on S3")
    manifest.add_argument("--image", default="", help="image of the container; not for sbatch")
    manifest.add_argument("--account", default="", help="service account of the pod; only for job")
    for part in (env, manifest):
        part.add_argument(
            "--ship",
            default="s3",
            choices=("s3", "folder"),
            help="where the job writes: to S3, or to the LocalPath of DebugHookConfig, a shared folder",
        )
    manifest.add_argument("words", metavar="COMMAND", nargs="+", help="the command that trains, after --")
    show = _arguments.add_command(parts, "show", "Print the settings that environment variables hold.", run_show)
    show.add_argument("job", nargs="?", metavar="JOB", help="name of a training job (default: this environment)")


def _add_setup(parts: Any) -> None:
    """Add the commands that set up an account or a cluster for jobs."""
    rbac = _arguments.add_command(
        parts, "rbac", "Print the rights that StopTraining needs on Kubernetes.", run_rbac, description=_RBAC
    )
    rbac.add_argument("kind", metavar="KIND", help="job (Kubernetes) or trainjob (Kubeflow)")
    rbac.add_argument("--account", default="sagemaker-debug", help="name of the service account (default: %(default)s)")
    rbac.add_argument(
        "--job", action="append", default=[], metavar="NAME", help="a job that it may stop; repeatable (default: all)"
    )
    template = _arguments.add_command(
        parts, "template", "Print a CloudFormation template for self-managed jobs.", run_template, description=_TEMPLATE
    )
    template.add_argument(
        "--policies", action="store_true", help="print its policies as JSON, by role, with placeholders like ${Bucket}"
    )
    wheels = _arguments.add_command(
        parts, "wheels", "Write this package and what it needs as wheels.", run_wheels, description=_WHEELS
    )
    wheels.add_argument("folder", metavar="FOLDER", help="s3://bucket/prefix, or a local folder")
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    wheels.add_argument("--python", default=own, metavar="VERSION", help="Python of the image (default: %(default)s)")


def _add_rules(parts: Any) -> None:
    """Add the commands that evaluate the rules of a job, or print their statuses."""
    status = _arguments.add_command(parts, "status", "Print the status of the rules of a job.", run_status)
    status.add_argument("job", metavar="JOB", help="name of a training job, or the folder of the job")
    _arguments.add_json(status)
    watch = _arguments.add_command(parts, "watch", "Evaluate the rules of a job here.", run_watch, description=_WATCH)
    watch.add_argument("job", metavar="JOB", help="name of a training job, or the folder of the job")
    resume = _arguments.add_command(
        parts, "resume", "Evaluate the rules that a watcher has left open.", run_resume, description=_RESUME
    )
    resume.add_argument("job", metavar="JOB", help="name of a training job that has ended, or the folder of the job")


def run_env(arguments: argparse.Namespace) -> int:
    """Print the environment variables for a request."""
    spec = _spec_of_request(arguments)
    variables = _uploaded(spec) if arguments.channel else encode_job_spec(spec)
    if arguments.json:
        _output.write_json(variables)
    elif arguments.yaml:
        # JSON strings are YAML strings.
        _output.write("\n".join(f"- {{name: {name}, value: {json.dumps(value)}}}" for name, value in variables.items()))
    else:
        _output.write("\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items()))
    return 0


def _uploaded(spec: JobSpec) -> dict[str, str]:
    """Upload the settings, tell what to add to InputDataConfig, and return the variables."""
    from sagemaker_debug_ext.config.job_channel import channel_header, channel_input, channel_location
    from sagemaker_debug_ext.config.job_spec import VARIABLE_PREFIX
    from sagemaker_debug_ext.sdk.self_managed import upload_spec

    text = spec.to_json().encode()
    location = channel_location(spec.hook["S3OutputPath"], text)
    upload_spec(location, text)
    _output.say(f"add to InputDataConfig: {json.dumps(channel_input(location))}")
    return {f"{VARIABLE_PREFIX}0": channel_header(text)}


def run_manifest(arguments: argparse.Namespace) -> int:
    """Print a manifest."""
    from sagemaker_debug_ext.requests.manifests import manifest

    variables = encode_job_spec(_spec_of_request(arguments))
    text = manifest(arguments.kind, arguments.name, arguments.image, arguments.words, variables, arguments.account)
    _output.write(text.rstrip("\n"))
    return 0


def run_rbac(arguments: argparse.Namespace) -> int:
    """Print the rights that an action needs on Kubernetes."""
    from sagemaker_debug_ext.requests.manifests import stop_rights

    _output.write_json(stop_rights(arguments.kind, arguments.account, arguments.job))
    return 0


def run_template(arguments: argparse.Namespace) -> int:
    """Print the CloudFormation template, or its policies alone."""
    from sagemaker_debug_ext.template import policies, render_template

    if arguments.policies:
        _output.write_json(policies())
    else:
        _output.write(render_template().rstrip("\n"))
    return 0


def run_show(arguments: argparse.Namespace) -> int:
    """Print the settings of a job or of this environment."""
    from sagemaker_debug_ext.sdk.self_managed import spec_of_job

    job = arguments.job
    spec = decode_job_spec(os.environ) if job is None else spec_of_job(_describe(job).description)
    _output.write_json(json.loads(_required(spec, job or "this environment").to_json()))
    return 0


def run_status(arguments: argparse.Namespace) -> int:
    """Print the statuses of the rules of a job."""
    job = _describe(arguments.job)
    if arguments.json:
        _output.write_json(json.loads(job.to_json()))
    else:
        _output.write(repr(job))
    return _ISSUES_FOUND if job.rules.issues else 0


def run_watch(arguments: argparse.Namespace) -> int:
    """Evaluate the rules of a job on this machine."""
    return _watch(_describe(arguments.job))


def run_resume(arguments: argparse.Namespace) -> int:
    """Evaluate the rules of an ended job on this machine."""
    from sagemaker_debug_ext.watch.status import FINAL_JOB_STATUSES

    job = _describe(arguments.job)
    if "/" not in arguments.job and job.status not in FINAL_JOB_STATUSES:
        raise SMDebugValueError(
            f"JOB must be a job that has ended (got {job.name!r}, which is {job.status}); use watch"
        )
    return _watch(job, has_ended=True)


def run_wheels(arguments: argparse.Namespace) -> int:
    """Write the folder of wheels, and print the names of its files."""
    from sagemaker_debug_ext.sdk.wheels import write_wheels

    _output.write("\n".join(write_wheels(arguments.folder, arguments.python)))
    return 0


def _watch(job: TrainingJob, *, has_ended: bool = False) -> int:
    try:
        rules = job.watch(has_ended=has_ended).rules
    except SMDebugRuntimeError as error:
        _output.say(str(error))
        return 2
    _output.write(repr(rules))
    return _ISSUES_FOUND if rules.issues else 0


def _describe(name: str) -> TrainingJob:
    from sagemaker_debug_ext.sdk import TrainingJob

    return TrainingJob.describe(name)


def _required(spec: JobSpec | None, where: str) -> JobSpec:
    if spec is None:
        raise SMDebugValueError(
            f"{where} has no settings of a self-managed job: submit it with self_managed_request, "
            f"or set the variables that `sagemaker-debug self-managed env` prints, and {JOB_NAME_VARIABLE}"
        )
    return spec


def _read_request(path: str) -> dict[str, Any]:
    text = sys.stdin.read() if path == _STDIN else Path(path).read_text(encoding="utf-8")
    try:
        request = json.loads(text)
    except ValueError as error:
        raise SMDebugValueError(f"{path} must hold JSON ({error})") from error
    if not isinstance(request, dict) or not isinstance(request.get("DebugHookConfig"), dict):
        raise SMDebugValueError(f"{path} must hold a JSON object with DebugHookConfig, as debugger_request returns it")
    return request


def _spec_of_request(arguments: argparse.Namespace) -> JobSpec:
    from sagemaker_debug_ext.config.self_managed import SelfManaged
    from sagemaker_debug_ext.requests.self_managed import spec_of_members
    from sagemaker_debug_ext.requests.shipping import with_folder

    request = _read_request(arguments.request)
    return with_folder(spec_of_members(request, SelfManaged(ship=arguments.ship)), request)
