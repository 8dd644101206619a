"""Times XGBoost: the update of each round is a step, and the evaluation after it a gap between steps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import xgboost as xgb

from sagemaker_debug_ext.profiler.timeline.guard import Guard
from sagemaker_debug_ext.profiler.timeline.step_timer import TRAIN, StepTimer
from sagemaker_debug_ext.profiler.timeline.timeline import Timeline

EVALUATION: Final = "Evaluation"


def install(timer: StepTimer, guard: Guard, timeline: Timeline) -> None:
    """Time all training of this process from now on; see `frameworks.torch.install`."""
    begins, ends, add = guard(timer.step_begins), guard(timer.whole_step), guard(timeline.add)

    def timed(original: Callable[..., Any], is_step: bool) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            if is_step:
                begins()
            start = timer.clock()
            result = original(*args, **kwargs)
            if is_step:
                ends(TRAIN, start)
            else:
                add(EVALUATION, "eval_set", start, timer.clock())
            return result

        return call

    booster: Any = xgb.Booster
    for name, is_step in (("update", True), ("eval_set", False)):
        setattr(booster, name, timed(getattr(booster, name), is_step))
