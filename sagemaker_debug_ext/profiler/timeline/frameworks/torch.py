"""Times PyTorch: data loaders, backward passes, updates and checkpoints; Lightning and Transformers run on these.

PyTorch has hooks for updates only. The other functions are replaced by ones that call them, and change nothing else:
neither arguments nor results, no random numbers, and no operation is added. Code that `torch.compile` compiles does not
contain them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import torch
from torch.compiler import is_compiling
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.data import dataloader

from sagemaker_debug_ext.profiler.profiler_constants import PT_DATALOADER_INITIALIZE, PT_DATALOADER_ITER
from sagemaker_debug_ext.profiler.timeline.frameworks.torch_device import CudaClock
from sagemaker_debug_ext.profiler.timeline.guard import Guard
from sagemaker_debug_ext.profiler.timeline.step_timer import AddEvent, StepTimer
from sagemaker_debug_ext.profiler.timeline.timeline import Timeline

_ITERATORS: Final = ("_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter")


def install(timer: StepTimer, guard: Guard, timeline: Timeline) -> None:
    """Time all training of this process from now on.

    Args:
        timer: Gets to know what happens.
        guard: Keeps errors of the timer out of training.
        timeline: Takes events.
    """
    add = timeline.add
    base: Any = dataloader._BaseDataLoaderIter  # noqa: SLF001 - what all iterators of PyTorch derive from
    base.__next__ = _timed_next(base.__next__, timer, guard)
    for name in _ITERATORS:
        kind = getattr(dataloader, name)
        kind.__init__ = _timed_start(kind.__init__, timer, guard, add)
    torch.autograd.backward = _timed_backward(torch.autograd.backward, timer, guard)
    torch.save = _timed_save(torch.save, "torch.save", timer, guard)
    begins, ends = guard(timer.update_begins), guard(timer.update_ends)

    def before_update(optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
        if not is_compiling():
            begins(optimizer)

    def after_update(optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
        if not is_compiling():
            ends(type(optimizer).__name__)

    register_optimizer_step_pre_hook(before_update)
    register_optimizer_step_post_hook(after_update)
    if torch.cuda.is_available():
        clock = timer.device = CudaClock(add, timer.clock)
        timeline.every_second(clock.read)


def install_safetensors(module: Any, timer: StepTimer, guard: Guard) -> None:
    """Time the checkpoints that ``safetensors.torch`` writes, as Transformers does."""
    module.save_file = _timed_save(module.save_file, "safetensors.save_file", timer, guard)


def _timed_next(original: Callable[[Any], Any], timer: StepTimer, guard: Guard) -> Callable[[Any], Any]:
    requested, arrived = guard(timer.batch_requested), guard(timer.batch_arrived)
    exhausted = guard(timer.loader_exhausted)

    @functools.wraps(original)
    def timed_next(self: Any) -> Any:
        start = requested(self)
        try:
            batch = original(self)
        except StopIteration:
            exhausted()
            raise
        if start is not None:
            arrived(self, start, PT_DATALOADER_ITER, f"{type(self).__name__}::GetNext", {"worker_id": 0})
        return batch

    return timed_next


def _timed_start(original: Callable[..., None], timer: StepTimer, guard: Guard, add: AddEvent) -> Callable[..., None]:
    guarded_add = guard(add)

    @functools.wraps(original)
    def timed_start(self: Any, *args: Any, **kwargs: Any) -> None:
        start = timer.clock()
        original(self, *args, **kwargs)
        facts = {
            "num_workers": getattr(self, "_num_workers", 0),
            "pin_memory": bool(getattr(self, "_pin_memory", False)),
        }
        guarded_add(PT_DATALOADER_INITIALIZE, f"{type(self).__name__}.__init__", start, timer.clock(), facts)

    return timed_start


def _timed_backward(original: Callable[..., Any], timer: StepTimer, guard: Guard) -> Callable[..., Any]:
    begins, ends = guard(timer.backward_begins), guard(timer.backward_ends)

    @functools.wraps(original)
    def backward(*args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return original(*args, **kwargs)
        begins()
        result = original(*args, **kwargs)
        ends()
        return result

    return backward


def _timed_save(original: Callable[..., Any], name: str, timer: StepTimer, guard: Guard) -> Callable[..., Any]:
    checkpoint = guard(timer.checkpoint)

    @functools.wraps(original)
    def save(*args: Any, **kwargs: Any) -> Any:
        start = timer.clock()
        result = original(*args, **kwargs)
        checkpoint(name, start)
        return result

    return save
