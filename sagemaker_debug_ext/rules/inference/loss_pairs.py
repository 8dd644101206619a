"""Pairs of validation and training losses, by name or by evaluation round."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import attrs

from sagemaker_debug_ext.vocabulary import ModeKeys

VALIDATION_NAME: Final = re.compile(r"(?:validation|valid|val|eval|test)[-_](?P<loss>.+)", re.DOTALL)
MATTERS: Final = 0.1
"""Fraction of the largest loss so far up to which a difference between losses is negligible."""
TRAINING_PREFIXES: Final = ("train-", "train_", "training-", "training_", "")


class Losses(NamedTuple):
    """The two losses that are compared."""

    validation: float
    training: float


def loss_pairs(names: Iterable[str]) -> dict[str, str]:
    """Return the pairs of validation and training losses, by name.

    ``validation-X`` (also ``valid``, ``val``, ``eval``, ``test``, and ``_`` for ``-``) belongs to ``train-X``, else to
    ``training-X``, else to ``X``.
    """
    known = set(names)
    pairs = {}
    for name in sorted(known):
        match = VALIDATION_NAME.fullmatch(name)
        candidates = [prefix + match["loss"] for prefix in TRAINING_PREFIXES] if match else []
        training = next((candidate for candidate in candidates if candidate in known), None)
        if training is not None:
            pairs[name] = training
    return pairs


@attrs.define
class _Mean:
    total: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        self.total += value
        self.count += 1

    @property
    def value(self) -> float:
        return self.total / self.count


class EvaluationRounds:
    """Mean losses by evaluation round, separately for each loss.

    A round is a run of EVAL steps without a TRAIN step in between. Its validation loss is the mean over its EVAL steps
    so far, its training loss the mean over the TRAIN steps since the round before. Other modes do not count.
    """

    def __init__(self) -> None:
        self._in_round = False
        self._latest: dict[str, Losses] = {}
        self._training: dict[str, _Mean] = collections.defaultdict(_Mean)
        self._validation: dict[str, _Mean] = collections.defaultdict(_Mean)

    def observe(self, mode: ModeKeys, losses: Mapping[str, float]) -> dict[str, Losses]:
        """Add the losses saved at a step, if any, and return those that can be compared."""
        if mode is ModeKeys.TRAIN:
            if self._in_round:
                self._training.clear()
                self._validation.clear()
            self._in_round = False
            self._add(self._training, losses)
        elif mode is ModeKeys.EVAL:
            self._in_round = True
            self._add(self._validation, losses)
            return {
                name: Losses(self._validation[name].value, self._training[name].value)
                for name in losses
                if name in self._training
            }
        return {}

    def observe_whole(self, mode: ModeKeys, losses: Mapping[str, float]) -> dict[str, Losses]:
        """Add the losses saved at a step, and return those of the round that it ends, because training goes on.

        Only losses that are saved at this step, too, are returned, so that their worker can be found.
        """
        ended = self._latest if mode is ModeKeys.TRAIN else {}
        compared = self.observe(mode, losses)
        self._latest = {} if mode is ModeKeys.TRAIN else {**self._latest, **compared}
        return {name: pair for name, pair in ended.items() if name in losses}

    def take_latest(self) -> dict[str, Losses]:
        """Return the losses of the round so far, which no step of training ends, and forget them."""
        latest, self._latest = self._latest, {}
        return latest

    @staticmethod
    def _add(means: dict[str, _Mean], losses: Mapping[str, float]) -> None:
        for name, loss in losses.items():
            means[name].add(loss)
