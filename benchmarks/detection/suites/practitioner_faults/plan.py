"""The runs of this suite, and functions that add to them."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch
from torch import nn

from harness.parts import BoostingChange, setting, with_inputs, with_model
from harness.registry import Registry
from suites.practitioner_faults.gan import train_gan
from suites.practitioner_faults.tasks import set_steps

PRACTITIONER_FAULTS = Registry("practitioner_faults", 70_000, set_steps)
sound, fault, replicas = PRACTITIONER_FAULTS.sound, PRACTITIONER_FAULTS.fault, PRACTITIONER_FAULTS.replicas

Batch = tuple[torch.Tensor, torch.Tensor]
Prepare = Callable[[torch.Tensor, torch.Tensor], Batch]


def model_fault(cause: str, name: str, task: str, make_model: Callable[[], nn.Module]) -> None:
    """Register another model as a fault."""
    fault(cause, name, task)(with_model(make_model))


def loss_fault(cause: str, name: str, task: str, loss: nn.Module) -> None:
    """Register another loss as a fault."""
    fault(cause, name, task)(setting(loss=loss))


def input_fault(cause: str, name: str, task: str, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Register a change of the inputs of training and evaluation as a fault."""
    fault(cause, name, task)(with_inputs(change))


def boosted(cause: str, name: str, kind: str, change: BoostingChange | None = None, rows: int = 400) -> None:
    """Add a run of boosted trees."""
    PRACTITIONER_FAULTS.boosted(cause, f"boosting {kind}: {name}", kind, change, rows)


def gans(cause: str, name: str, **settings: object) -> None:
    """Add a run of a generator and a discriminator. The settings are the arguments of `train_gan`."""
    seed = PRACTITIONER_FAULTS.next_seed
    PRACTITIONER_FAULTS.other(cause, name, lambda folder: train_gan(folder, seed=seed, **settings))


def at_steps(chosen: Callable[[int], bool], change: Prepare) -> Prepare:
    """Return a function that changes the batches of the chosen steps and passes on all others."""
    steps = itertools.count()

    def prepare(x: torch.Tensor, y: torch.Tensor) -> Batch:
        return change(x, y) if chosen(next(steps)) else (x, y)

    return prepare
