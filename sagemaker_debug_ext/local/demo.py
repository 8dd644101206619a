"""The demo: two jobs on real images, one sound and one broken, which rules evaluate while they train."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

import sagemaker_debug_ext
from sagemaker_debug_ext import rule_configs
from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.config.actions import StopTraining
from sagemaker_debug_ext.config.collection_config import CollectionConfig
from sagemaker_debug_ext.config.hook import DebuggerHookConfig
from sagemaker_debug_ext.config.rules import Rule
from sagemaker_debug_ext.errors import DebugExtError, SMDebugRuntimeError, TrainingJobError
from sagemaker_debug_ext.local.events import Event, EventHandler, IssueFound, StatusChanged
from sagemaker_debug_ext.local.job import LocalTrainingJob, run_training_job
from sagemaker_debug_ext.local.paths import Locations
from sagemaker_debug_ext.local.source import upload_source
from sagemaker_debug_ext.requests import training_job_request
from sagemaker_debug_ext.requests.checks import check_training_job_request
from sagemaker_debug_ext.rules import Issue
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.folder_sync import write_object

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

NETS: Final = ("healthy", "vanishing")
"""Networks of the example: a convolutional net that learns, and a deep sigmoid net whose gradients vanish."""

_BUCKET: Final = "s3://sagemaker-debug-demo"
_REGION: Final = "us-east-1"
_ROLE: Final = "arn:aws:iam::111122223333:role/SageMakerDebugDemo"
_IMAGE: Final = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.6.0-cpu-py312"
_EXAMPLE: Final = Path("examples", "pytorch_digits")
_BATCH_SIZE: Final = 64
_NUM_TRAINING_IMAGES: Final = 1437  # of 1,797; the example uses the others for validation
_STOP_GRACE_SECONDS: Final = 10.0


@attrs.frozen(kw_only=True)
class RuleReport:
    """The result of a rule: its status and, if it fired, the first global step at which it did, and its message."""

    name: str
    status: str
    first_step: int | None = None
    message: str = ""
    advice: str = ""


@attrs.frozen(kw_only=True)
class JobReport:
    """The result of a job.

    Attributes:
        job_name: Name of the job.
        net: The network it trained.
        status: Its ``TrainingJobStatus``.
        steps: Saved steps of each mode, by name; over all modes under ``GLOBAL``.
        tensors: Number of saved tensors.
        collections: Name → number of saved tensors, of the collections that have any.
        saved_bytes: Bytes of the trial's files.
        accuracy: Latest accuracy on the validation images; None if it was never measured.
        wall_seconds: From the start of the job to its end.
        rules: Result of each rule.
        trial_path: Folder of the trial.
        report_path: The page that says what is wrong with the trial.
    """

    job_name: str
    net: str
    status: str
    steps: Mapping[str, int]
    tensors: int
    collections: Mapping[str, int]
    saved_bytes: int
    accuracy: float | None
    wall_seconds: float
    rules: tuple[RuleReport, ...]
    trial_path: str
    report_path: str


def num_steps(epochs: int) -> int:
    """Return the number of global steps of a complete job: the training batches, and one validation batch per epoch."""
    return epochs * (_NUM_TRAINING_IMAGES // _BATCH_SIZE + 1)


def stage(work_dir: str | os.PathLike[str]) -> tuple[str, str]:
    """Copy the script and the images to the locations in the requests, and return both locations.

    Raises:
        MissingDependencyError: scikit-learn, which provides the images, is not installed.
        SMDebugRuntimeError: The installation lacks the example.
    """
    datasets = import_optional("sklearn.datasets", "The demo", "demo")
    numpy = import_optional("numpy", "The demo")
    import_optional("torch", "The demo", "demo")
    images, labels = datasets.load_digits(return_X_y=True)
    archive = io.BytesIO()
    numpy.savez_compressed(archive, images=images.reshape(-1, 8, 8).astype("float32"), labels=labels)
    write_object(Locations(work_dir).backend(f"{_BUCKET}/digits"), "digits.npz", [archive.getvalue()])
    return upload_source(_example_folder(), f"{_BUCKET}/source", work_dir), f"{_BUCKET}/digits"


def _example_folder() -> Path:
    package = Path(sagemaker_debug_ext.__file__).parent
    for folder in (package, package.parent):  # in an installation, and in a checkout
        if (folder / _EXAMPLE / "train.py").is_file():
            return folder / _EXAMPLE
    raise SMDebugRuntimeError(f"the example {_EXAMPLE} is missing beside the package")


def demo_request(net: str, job_name: str, source: str, images: str, epochs: int) -> dict[str, Any]:
    """Return the validated CreateTrainingJob request of one of `NETS`.

    Args:
        net: The network to train.
        job_name: Name of the job.
        source: Location of the script's archive.
        images: Location of the images.
        epochs: Number of passes over the images.
    """
    hook_config = DebuggerHookConfig(
        hook_parameters={"save_interval": 20, "eval.save_interval": 1},
        collection_configs=[
            CollectionConfig("weights"),
            CollectionConfig("gradients"),
            CollectionConfig("biases"),
            CollectionConfig("losses", {"save_interval": 1}),
            CollectionConfig("relu_output", {"include_regex": ".*relu_output", "eval.save_interval": 10}),
        ],
    )
    rules = [
        Rule.sagemaker(rule_configs.vanishing_gradient(), actions=StopTraining()),
        Rule.sagemaker(rule_configs.exploding_tensor(), actions=StopTraining()),
        Rule.sagemaker(rule_configs.loss_not_decreasing(), rule_parameters={"num_steps": 5}),
        Rule.sagemaker(rule_configs.overfit(), rule_parameters={"patience": 5, "ratio_threshold": 0.5}),
        Rule.sagemaker(rule_configs.dead_relu()),
    ]
    request = training_job_request(
        job_name=job_name,
        role_arn=_ROLE,
        image_uri=_IMAGE,
        region=_REGION,
        output_path=f"{_BUCKET}/output",
        max_runtime_in_seconds=600,
        inputs={"training": images},
        hyperparameters={
            "sagemaker_program": json.dumps("train.py"),
            "sagemaker_submit_directory": json.dumps(source),
            "model": net,
            "epochs": epochs,
            "batch-size": _BATCH_SIZE,
        },
        debugger_hook_config=hook_config,
        rules=rules,
    )
    check_training_job_request(request)
    return request


def demo_requests(work_dir: str | os.PathLike[str], epochs: int) -> dict[str, dict[str, Any]]:
    """Prepare the work folder and return the request of each net."""
    source, images = stage(work_dir)
    now = dt.datetime.now(dt.timezone.utc).strftime("%Y%m%d-%H%M%S")
    return {net: demo_request(net, f"digits-{net}-{now}", source, images, epochs) for net in NETS}


def run_demo(
    requests: Mapping[str, Mapping[str, Any]], work_dir: str | os.PathLike[str], on_event: EventHandler
) -> list[JobReport]:
    """Run the jobs in parallel, and return their results.

    Args:
        requests: Net → request, from `demo_requests`.
        work_dir: The work folder.
        on_event: Called with every event of both jobs.

    Raises:
        TrainingJobError: A job failed.
    """
    watches = {net: _Watch(net, on_event) for net in requests}
    with contextlib.ExitStack() as running:  # an interruption or the failure of one job stops all jobs
        jobs = {
            net: running.enter_context(
                run_training_job(
                    request, work_dir, on_event=watches[net], stop_grace_seconds=_STOP_GRACE_SECONDS, wait=False
                )
            )
            for net, request in requests.items()
        }
        return [watches[net].report(job) for net, job in jobs.items()]


class _Watch:
    """Records results that are available only in events, and forwards the events."""

    def __init__(self, net: str, on_event: EventHandler) -> None:
        self._net = net
        self._on_event = on_event
        self._started_at = time.monotonic()
        self._ended_at = self._started_at
        self._first_issues: dict[str, Issue] = {}

    def __call__(self, event: Event) -> None:
        if isinstance(event, IssueFound):
            self._first_issues.setdefault(event.issue.rule, event.issue)
        elif isinstance(event, StatusChanged):
            self._ended_at = time.monotonic()
        self._on_event(event)

    def report(self, job: LocalTrainingJob) -> JobReport:
        """Wait for the job and return its result."""
        description = job.wait()
        if job.trial_path is None:
            raise TrainingJobError(job.name, "it has saved no trial")
        trial = job.trial()
        report_path = job.folder / "report.html"
        job.write_report(report_path)
        return JobReport(
            job_name=job.name,
            net=self._net,
            status=description["TrainingJobStatus"],
            steps={"GLOBAL": len(trial.steps())} | {mode.name: len(trial.steps(mode=mode)) for mode in trial.modes()},
            tensors=len(trial.tensor_names()),
            collections=_collections(trial),
            saved_bytes=sum(info.size for info in open_backend(job.trial_path).list()),
            accuracy=_last_value(trial, "scalar/accuracy"),
            wall_seconds=self._ended_at - self._started_at,
            rules=tuple(self._rules(description.get("DebugRuleEvaluationStatuses", ()))),
            trial_path=os.fspath(job.trial_path),
            report_path=os.fspath(report_path),
        )

    def _rules(self, statuses: Iterable[Mapping[str, Any]]) -> Iterable[RuleReport]:
        for status in statuses:
            report = RuleReport(name=status["RuleConfigurationName"], status=status["RuleEvaluationStatus"])
            issue = self._first_issues.get(report.name)
            if issue is not None:
                report = attrs.evolve(report, first_step=issue.step, message=issue.message, advice=issue.advice)
            yield report


def _collections(trial: Trial) -> dict[str, int]:
    names = trial.tensor_names()
    counts = {key: sum(map(group.matches, names)) for key, group in sorted(trial.collections().items())}
    return {key: count for key, count in counts.items() if count}


def _last_value(trial: Trial, name: str) -> float | None:
    try:
        tensor = trial.tensor(name)
        return float(tensor.value(tensor.steps()[-1]).item())
    except (DebugExtError, IndexError):  # a job that was stopped early may have no measurement
        return None
