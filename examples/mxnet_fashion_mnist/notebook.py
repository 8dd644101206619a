"""Watch a convolutional network learn: submit a job, follow its tensors while it trains, and draw them.

The cells of the notebook, one after the other: the request of a training job that captures the first convolution, the
job itself on this machine, the trial followed live, and for each saved step two pictures: what the convolution makes of
some images, and its kernels. Needs MXNet and matplotlib:

    pip install 'sagemaker_debug_ext[mxnet,report]'
    python notebook.py --work-dir /tmp/clothes
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sagemaker_debug_ext import CollectionConfig, DebuggerHookConfig, Rule, modes, rule_configs
from sagemaker_debug_ext.errors import TrialNotFoundError
from sagemaker_debug_ext.local import LocalTrainingJob, run_training_job, upload_source
from sagemaker_debug_ext.requests import training_job_request
from sagemaker_debug_ext.trials import Trial

BUCKET = "s3://clothes"
NUM_ROWS = 4


def make_request(work_dir: Path, save_interval: int, hyperparameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the CreateTrainingJob request: the first convolution is captured, and three rules watch the job."""
    source = upload_source(Path(__file__).parent, f"{BUCKET}/source", work_dir)
    return training_job_request(
        job_name=f"clothes-{dt.datetime.now(dt.timezone.utc):%Y%m%d-%H%M%S-%f}",
        role_arn="arn:aws:iam::111122223333:role/SageMaker",
        image_uri="763104351884.dkr.ecr.us-east-1.amazonaws.com/mxnet-training:1.9.0-cpu-py38",
        region="us-east-1",
        output_path=f"{BUCKET}/output",
        max_runtime_in_seconds=600,
        hyperparameters={
            "sagemaker_program": json.dumps("train.py"),
            "sagemaker_submit_directory": json.dumps(source),
            **hyperparameters,
        },
        debugger_hook_config=DebuggerHookConfig(
            hook_parameters={"save_interval": save_interval},
            collection_configs=[
                CollectionConfig("conv0_tensors", {"include_regex": "conv0.*"}),
                CollectionConfig("gradients"),
                CollectionConfig("losses", {"save_interval": 5}),
            ],
        ),
        rules=[
            Rule.sagemaker(rule_configs.loss_not_decreasing(), rule_parameters={"num_steps": 40}),
            Rule.sagemaker(rule_configs.vanishing_gradient()),
            Rule.sagemaker(rule_configs.exploding_tensor()),
        ],
    )


def open_trial(job: LocalTrainingJob) -> Trial:
    """Open what a job saves, as soon as there is something."""
    while True:
        with contextlib.suppress(TrialNotFoundError):
            return job.trial()
        with contextlib.suppress(TimeoutError):  # it still runs
            job.wait(timeout=0.1)


def draw(rows: np.ndarray[Any, Any], title: str, path: Path) -> None:
    """Draw rows of small images, each in its own range of grey, as one PNG."""
    figure = Figure(figsize=(1.1 * rows.shape[1], 1.1 * rows.shape[0] + 0.4))
    FigureCanvasAgg(figure)
    for place, image in zip(
        figure.subplots(*rows.shape[:2], squeeze=False).flat, rows.reshape(-1, *rows.shape[2:]), strict=True
    ):
        place.imshow(image, cmap="gray")
        place.set_axis_off()
    figure.suptitle(title, fontsize=9)
    figure.savefig(path, dpi=80)


def draw_step(trial: Trial, step: int, folder: Path) -> None:
    """Draw what the convolution makes of the first images of a step, and its kernels as that step left them."""
    outputs = trial.tensor("conv0_output_0").value(step, modes.TRAIN)[:NUM_ROWS]
    kernels = trial.tensor("conv0_weight").value(step, modes.TRAIN)
    draw(outputs, f"conv0_output_0 at step {step}", folder / f"conv0_output_0-{step:06d}.png")
    draw(kernels.transpose(1, 0, 2, 3), f"conv0_weight after step {step}", folder / f"conv0_weight-{step:06d}.png")


def run(work_dir: Path, save_interval: int, hyperparameters: Mapping[str, Any]) -> None:
    """Run the job and draw its steps as they come."""
    folder = work_dir / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    request = make_request(work_dir, save_interval, hyperparameters)
    with run_training_job(request, work_dir, wait=False) as job:
        print(f"{job.name}: {job.debugger_artifacts_path}")
        trial = open_trial(job)
        for step in trial.follow(modes.TRAIN):
            if "conv0_output_0" in trial.tensor_names(step=step, mode=modes.TRAIN):
                draw_step(trial, step, folder)
                print(f"step {step}: drawn while the job is {job.describe()['TrainingJobStatus']}", flush=True)
        description = job.wait()
    print(f"{description['TrainingJobStatus']}: pictures in {folder}")
    print(f"conv0_tensors: {', '.join(trial.tensor_names(collection='conv0_tensors'))}")
    for status in description["DebugRuleEvaluationStatuses"]:
        print(f"{status['RuleConfigurationName']}: {status['RuleEvaluationStatus']}")
    accuracy = trial.tensor("scalar/accuracy")
    print(f"accuracy: {float(accuracy.value(accuracy.steps(modes.EVAL)[-1], modes.EVAL)):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work-dir", type=Path, required=True)
    parser.add_argument("--save-interval", type=int, default=30)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--train-images", type=int, default=6000)
    parser.add_argument("--hybridize", type=int, choices=(0, 1), default=1)
    given = vars(parser.parse_args())
    work_dir, save_interval = given.pop("work_dir"), given.pop("save_interval")
    run(work_dir, save_interval, {name.replace("_", "-"): value for name, value in given.items()})


if __name__ == "__main__":
    main()
