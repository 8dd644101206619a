"""Callbacks for parameter updates by trainers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from mxnet import gluon

Update = Callable[[Iterable[gluon.Parameter], bool], object]
"""Called with a trainer's parameters, and whether their gradients are already summed over all contexts."""


class TrainerWatch:
    """Calls functions at every update by a `gluon.Trainer` between `attach` and `detach`.

    MXNet has no hook for updates, so wrappers replace `Trainer.step` and `Trainer.update`.

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
        """Install the wrappers, unless they are installed."""
        if not self._originals:
            # `update` follows `allreduce_grads`, which sums gradients; `step` does both.
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
        """Remove the wrappers; a wrapper that has been wrapped by other code stays and only calls the original."""
        for name, original in self._originals.items():
            if getattr(gluon.Trainer, name) is self._replacements[name]:
                setattr(gluon.Trainer, name, original)
        self._originals.clear()
        self._replacements.clear()
