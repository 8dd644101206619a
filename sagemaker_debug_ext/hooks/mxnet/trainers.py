"""Tells when trainers update parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from mxnet import gluon

Update = Callable[[Iterable[gluon.Parameter], bool], object]
"""Called with a trainer's parameters, and whether their gradients are added up over all contexts already."""


class TrainerWatch:
    """Tells of every update by a `gluon.Trainer`, between `attach` and `detach`.

    MXNet has no hook for that moment, so `Trainer.step` and `Trainer.update` are replaced by functions that call them.

    Args:
        before: Called before an update.
        after: Called after it.
    """

    def __init__(self, before: Update, after: Update) -> None:
        self._before = before
        self._after = after
        self._originals: dict[str, Callable[..., Any]] = {}
        self._replacements: dict[str, Callable[..., Any]] = {}

    def attach(self) -> None:
        """Begin to watch; watching already changes nothing."""
        if not self._originals:
            # `update` follows `allreduce_grads`, which adds up gradients; `step` does both.
            self._replace("step", is_reduced=False)
            self._replace("update", is_reduced=True)

    def _replace(self, name: str, is_reduced: bool) -> None:
        original = getattr(gluon.Trainer, name)

        @functools.wraps(original)
        def watched(trainer: Any, *args: Any, **kwargs: Any) -> Any:
            if self._replacements.get(name) is not watched:
                return original(trainer, *args, **kwargs)
            parameters = trainer._params  # noqa: SLF001 - a trainer does not tell them otherwise
            self._before(parameters, is_reduced)
            result = original(trainer, *args, **kwargs)
            self._after(parameters, is_reduced)
            return result

        self._originals[name], self._replacements[name] = original, watched
        setattr(gluon.Trainer, name, watched)

    def detach(self) -> None:
        """Watch no longer; should somebody else have replaced a function since, ours stays and only passes on."""
        for name, original in self._originals.items():
            if getattr(gluon.Trainer, name) is self._replacements[name]:
                setattr(gluon.Trainer, name, original)
        self._originals.clear()
        self._replacements.clear()
