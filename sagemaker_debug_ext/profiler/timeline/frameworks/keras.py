"""Times Keras: each call of the function that trains, tests or predicts a batch is a step.

With TensorFlow that function fetches the batch itself, so that the wait for it is a part of the step. Keras on PyTorch
is timed as PyTorch is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import keras

from sagemaker_debug_ext.profiler.timeline.guard import Guard
from sagemaker_debug_ext.profiler.timeline.step_timer import EVAL, PREDICT, TRAIN, StepTimer
from sagemaker_debug_ext.profiler.timeline.timeline import Timeline

_MODES: Final = {"train": TRAIN, "test": EVAL, "predict": PREDICT}


class _TimedFunction:
    """A function of a model for one batch, whose calls are steps; its attributes are those of the function."""

    def __init__(self, function: Callable[..., Any], mode: str, timer: StepTimer, guard: Guard) -> None:
        self._function = function
        self._mode = mode
        self._clock = timer.clock
        self._begins, self._ends = guard(timer.step_begins), guard(timer.whole_step)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._begins()
        start = self._clock()
        result = self._function(*args, **kwargs)  # raises at the end of the data, which is no step
        self._ends(self._mode, start)
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


def install(timer: StepTimer, guard: Guard, timeline: Timeline) -> None:  # noqa: ARG001 - as for other frameworks
    """Time all training of this process from now on; see `frameworks.torch.install`."""
    if keras.backend.backend() == "torch":
        return
    for kind, mode in _MODES.items():
        name = f"make_{kind}_function"
        owner = next(owner for owner in keras.Model.__mro__ if name in vars(owner))
        setattr(owner, name, _timed_maker(vars(owner)[name], f"{kind}_function", mode, timer, guard))


def _timed_maker(
    original: Callable[..., Any], attribute: str, mode: str, timer: StepTimer, guard: Guard
) -> Callable[..., Any]:
    @functools.wraps(original)
    def make(model: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(model, *args, **kwargs)
        function = getattr(model, attribute, None)
        if function is not None and not isinstance(function, _TimedFunction):
            setattr(model, attribute, _TimedFunction(function, mode, timer, guard))
        return result

    return make
