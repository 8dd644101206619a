"""Steps of small trials for tests of rules, and short forms of what a rule found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.rules import Issue
from sagemaker_debug_ext.rules.causes import likely_causes
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.store.writer import TrialWriter
from sagemaker_debug_ext.testing.trials import PATTERNS, SmallTrial
from sagemaker_debug_ext.trials import Trial
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL, PREDICT, GLOBAL = ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT, ModeKeys.GLOBAL

KERAS_COLLECTIONS = {"losses": ["^loss$"], "weights": ["kernel", "beta"], "layers": [], "optimizer_variables": []}
"""Collections of a trial that the Keras hook wrote; the last two tell rules which framework it was."""

GLUON_COLLECTIONS = {"losses": [r"[Ll]oss\d*_(?!input).*output"], "weights": ["^(?!gradient).*weight"]}
"""Collections of a trial that the MXNet hook wrote."""

ATTENTION_MASKS: list[tuple[str, list[float], dict[str, str], bool]] = [
    ("layers.0_input_1", [0.0, -np.inf, -np.inf], {}, False),
    ("layers.0_input_1", [0.0, -np.inf, -np.inf], {"tensor_regex": "_input_"}, True),
    ("layers.0_input_1", [0.0, 0.0, np.inf], {}, True),
    ("layers.0_input_1", [0.0, 1.0, -np.inf], {}, True),
    ("layers.0_input_1", [0.0, np.nan, -np.inf], {}, True),
    ("layers.0_output_1", [0.0, -np.inf, -np.inf], {}, True),
]
"""Name, value and parameters of masks and of tensors that resemble them, and whether they count as not finite."""

GAPS_IN_TARGETS: list[tuple[dict[str, Any], bool]] = [
    ({"L1Loss_input_1": [1.0, np.nan]}, False),
    ({"L1Loss_input_1": [1.0, np.nan], "L1Loss_output_0": np.nan}, True),
    ({"L1Loss_input_1": [1.0, np.nan], "gradient/fc.weight": [np.nan]}, True),
    ({"L1Loss_input_1": [np.nan, np.nan]}, True),
    ({"L1Loss_input_1": [1.0, np.inf]}, True),
    ({"L1Loss_input_0": [1.0, np.nan]}, True),
    ({"Net_input_0": [1.0, np.nan]}, True),
]
"""Values of a step that are not finite, and whether they are more than gaps in targets that the loss leaves out."""

Steps = Mapping[tuple[ModeKeys, int], Mapping[str, Any]]


def steps_of(tensors_of_steps: Iterable[Mapping[str, Any]], mode: ModeKeys = TRAIN) -> dict[Any, Any]:
    """Return consecutive steps of one mode from the tensors of each."""
    return {(mode, step): tensors for step, tensors in enumerate(tensors_of_steps)}


def steps_with(name: str, values: Iterable[Any], mode: ModeKeys = TRAIN) -> dict[Any, Any]:
    """Return consecutive steps of one mode at which one tensor has the given values."""
    return steps_of(({name: value} for value in values), mode)


def loss_rounds(training: Sequence[float], validation: Sequence[float]) -> dict[Any, Any]:
    """Return steps that alternate between one training and one evaluation loss, and a training step that ends them."""
    steps = {}
    for number, (train, valid) in enumerate(zip(training, validation, strict=True)):
        steps[TRAIN, number] = {"loss": train}
        steps[EVAL, number] = {"loss": valid}
    return {**steps, (TRAIN, len(training)): {"loss": training[-1]}}


def loss_tensors(scores: Any, targets: Any, loss: Any = 1.0, name: str = "CrossEntropyLoss") -> dict[str, Any]:
    """Return the tensors that the PyTorch hook saves of a loss module at a step."""
    return {f"{name}_input_0": scores, f"{name}_input_1": targets, f"{name}_output_0": loss}


def classification_steps(confidence: float, num: int = 60) -> dict[Any, Any]:
    """Return training steps whose scores of three classes are random but for a bonus of the right class."""
    rng = np.random.default_rng(0)
    found = {}
    for step in range(num):
        labels = rng.integers(0, 3, 30)
        scores = rng.normal(size=(30, 3)) * 0.1
        scores[np.arange(30), labels] += confidence
        found[TRAIN, step] = loss_tensors(scores, labels)
    return found


class MemoryJob(SmallTrial):
    """Writes a trial step by step as `SmallTrial` does, but into memory, which takes a tenth of the time.

    Args:
        workers: Names of the workers that write.
    """

    def __init__(self, workers: Iterable[str] = ("worker_0",)) -> None:  # it does not open a path as its parent does
        self.backend = MemoryBackend()
        self._writers = {worker: TrialWriter(self.backend, worker) for worker in workers}
        self._next_step = 0
        groups = [Collection(name, patterns).to_json_dict() for name, patterns in PATTERNS.items()]
        for writer in self._writers.values():
            writer.write_collections(groups, num_workers=len(self._writers))

    def open(self) -> Trial:
        """Return the trial, opened for reading."""
        return Trial("memory", self.backend, index_cache=False)


def memory_trial(steps: Steps) -> Trial:
    """Write a whole trial into memory, in the order of the steps, and open it."""
    job = MemoryJob()
    for (mode, mode_step), tensors in steps.items():
        job.write(mode, mode_step, tensors)
    job.end()
    return job.open()


def fired_at(issues: Iterable[Issue]) -> list[int]:
    """Return the global step of each issue."""
    return [issue.step for issue in issues]


def first_cause(issues: Sequence[Issue]) -> str | None:
    """Return the name of the likeliest cause of some issues, or None without issues."""
    return likely_causes(issues)[0].name if issues else None
