"""Measure whether the story of a trial names the layer and the step of a fault.

    python benchmarks/detection/harness/places.py [--only KIND] [--json FILE]

Five jobs of each kind of fault train six layers and a head. In each, one layer gets the fault, at a step in the middle
of training, or for one kind at the first. The layer must be among the first three that the story names, and the step
that it gives within two saved steps of the fault. What no rule finds has no story, and is counted apart.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import attrs
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness.jobs import Mlp, limit_threads, recording_hook
from sagemaker_debug_ext.looking import tell_story
from sagemaker_debug_ext.looking.story import Finding
from sagemaker_debug_ext.trials import create_trial

STEPS, BATCH, DEPTH = 200, 32, 6
PLACES = ((0, 45), (1, 60), (2, 75), (3, 50), (4, 90))
"""Layer and step of each job of a kind."""

NUM_NAMED, TOLERANCE = 3, 2


@attrs.frozen
class Training:
    """What a fault may change."""

    model: nn.Module
    layer: nn.Linear
    group: dict
    """The layer's group of the optimizer."""


def of_gradients(change: Callable[[torch.Tensor], torch.Tensor]):
    """Return a fault that changes the gradients of the layer's parameters."""

    def start(training: Training):
        for parameter in training.layer.parameters():
            parameter.register_hook(change)

    return start


def of_output(change: Callable[[torch.Tensor], torch.Tensor]):
    """Return a fault that changes what the layer returns."""
    return lambda training: training.layer.register_forward_hook(lambda _m, _i, output: change(output))


def of_parameters(change: Callable[[nn.Linear], object], *, is_lasting=False):
    """Return a fault that changes the layer once, or before each step."""

    def start(training: Training):
        def apply(*_):
            with torch.no_grad():
                change(training.layer)

        apply()
        if is_lasting:
            training.layer.register_forward_pre_hook(apply)

    return start


def of_rate(factor: float):
    """Return a fault that multiplies the learning rate of the layer."""
    return lambda training: training.group.update(lr=training.group["lr"] * factor)


KINDS = {
    "gradient is NaN": of_gradients(lambda gradient: gradient * float("nan")),
    "gradient is infinite": of_gradients(lambda gradient: gradient * float("inf")),
    "gradient times 10,000": of_gradients(lambda gradient: gradient * 1e4),
    "gradient times 1e-8": of_gradients(lambda gradient: gradient * 1e-8),
    "a weight is infinite": of_parameters(lambda layer: layer.weight[0, 0].fill_(float("inf"))),
    "output is NaN": of_output(lambda output: output * float("nan")),
    "output is 0": of_output(lambda output: output * 0),
    "output times 1,000": of_output(lambda output: output * 1e3),
    "learning rate is 0": of_rate(0),
    "learning rate times 1,000": of_rate(1e3),
    "units are dead": of_parameters(lambda layer: layer.bias.sub_(100)),
    "weights times 100": of_parameters(lambda layer: layer.weight.mul_(100)),
    "weights are 0": of_parameters(lambda layer: layer.weight.zero_(), is_lasting=True),
    "weights shrink": of_parameters(lambda layer: layer.weight.mul_(0.7), is_lasting=True),
    "weights are tiny from the start": of_parameters(lambda layer: layer.weight.mul_(1e-4)),
}
"""Kind → what starts the fault."""

FROM_THE_START = "weights are tiny from the start"


def train(folder: str, kind: str, layer: int, step: int) -> None:
    """Train a model of which a layer has a fault from a step on."""
    torch.manual_seed(layer)
    model = Mlp(8, 32, 4, depth=DEPTH)
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
    x = torch.randn(640, 8)
    y = (x @ torch.randn(8, 4)).argmax(1)
    loss_of = nn.CrossEntropyLoss()
    groups = [{"params": list(module.parameters())} for module in model.children() if list(module.parameters())]
    optimizer = torch.optim.SGD(groups, lr=0.02, momentum=0.9)
    training = Training(model, getattr(model, f"fc{layer}"), optimizer.param_groups[layer])
    begin = 0 if kind == FROM_THE_START else step
    if not begin:
        KINDS[kind](training)
    hook = recording_hook(folder, model, loss_of)
    for number in range(STEPS):
        if number == begin and begin:
            KINDS[kind](training)
        chosen = torch.randint(0, len(x), (BATCH,))
        optimizer.zero_grad()
        loss_of(model(x[chosen]), y[chosen]).backward()
        optimizer.step()
    hook.close()


def judge(folder: str, layer: int, begin: int) -> dict:
    """Return whether the story names the layer and the step, and what it says."""
    story = tell_story([create_trial(folder)])
    named = (name for finding in story.findings for name in finding.tensors)
    layers = (found[0].replace("relu", "fc") for name in named if (found := re.search(r"(fc|relu)\d|head", name)))
    given = _step_of(story.findings[0]) if story.findings else None
    return {
        "is_found": given is not None,
        "layer": f"fc{layer}" in list(dict.fromkeys(layers))[:NUM_NAMED],
        "step": given is not None and abs(given - begin) <= TOLERANCE,
        "headline": str(story.headline),
    }


def _step_of(finding: Finding) -> int:
    """Return since when the story says that the finding is there; 0 for the first step."""
    return finding.found_at if finding.onset is None else finding.onset.step or 0


def main() -> None:
    """Train and judge all jobs, and print how many are placed rightly."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="KIND", help="only kinds whose names hold this text")
    parser.add_argument("--json", metavar="FILE", help="write the stories of all jobs to this file")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    limit_threads()
    results = defaultdict(list)
    began = time.perf_counter()
    for kind in KINDS:
        if options.only and options.only not in kind:
            continue
        for layer, step in PLACES:
            begin = 0 if kind == FROM_THE_START else step
            with tempfile.TemporaryDirectory() as folder:
                train(folder, kind, layer, step)
                results[kind].append({"place": [f"fc{layer}", begin], **judge(folder, layer, begin)})
        counts = [sum(result[key] for result in results[kind]) for key in ("is_found", "layer", "step")]
        print("{:32} found {}, layer {}, step {}".format(kind, *counts), flush=True)
    every = [result for found in results.values() for result in found if result["is_found"]]
    for key in ("layer", "step"):
        right = sum(result[key] for result in every)
        print(f"{key}: {right} of {len(every)} that are found ({right / len(every):.0%}; at least 80 %)")
    print(f"{time.perf_counter() - began:.0f} s")
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
