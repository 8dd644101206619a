"""Hooks around the updates of optimizers, which see gradients that no hook on a parameter does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torch import nn
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from sagemaker_debug_ext.hooks.capture.step_buffer import StepBuffer
from sagemaker_debug_ext.hooks.pytorch.module_hooks import HookCallback, Removable

BeforeUpdate = Callable[[set[int]], object]
"""Called before an update with the `id` of each parameter that is updated."""


class OptimizerHooks:
    """Saves gradients before an optimizer uses them, and keeps those that it has used.

    The hooks stay registered until `detach`, because a compiled optimizer is compiled anew at every change of them.

    Args:
        before_update: Called by PyTorch before each update; is to call `run_before`.
        after_update: Called by PyTorch after each update; is to call `note_used`.
    """

    def __init__(self, before_update: Callable[..., Any], after_update: Callable[..., Any]) -> None:
        self.used: set[str] = set()
        """Gradients of the open step that an update has used; later backward passes do not change them."""
        self._before_update = before_update
        self._after_update = after_update
        self._handles: list[Removable] = []
        self._functions: list[BeforeUpdate] = []
        self._awaited: list[str] = []
        self._is_watching = self._is_keeping = False
        self._have_gradients_come = False
        self._on_every_update: Callable[..., Any] | None = None

    @property
    def has_missed_gradients(self) -> bool:
        """Whether gradients were awaited, and none came."""
        return self._is_watching and not self._have_gradients_come

    def watch(self, on_update: Callable[..., Any]) -> None:
        """Call a function before all updates; it is registered once, before optimizers are compiled."""
        if self._on_every_update is None:
            self._on_every_update = on_update
            self._handles.append(register_optimizer_step_pre_hook(HookCallback(on_update)))

    def save_before_updates(self, gradients: Iterable[str], save: BeforeUpdate) -> None:
        """Call a function before every update in this step.

        Args:
            gradients: Names of the gradients that the function saves.
            save: The function.
        """
        self._awaited += gradients
        if not self._is_watching:
            self._is_watching = True
            self._handles.append(register_optimizer_step_pre_hook(HookCallback(self._before_update)))
        self._functions.append(save)

    def save_shards(self, gradients: Mapping[str, nn.Parameter], capture: Callable[[str, Any], object]) -> None:
        """Save gradients that a sharding library hands to the optimizer without a backward hook on the parameter."""
        waiting = dict(gradients)

        def save(updated: set[int]) -> None:
            for name in [name for name, parameter in waiting.items() if id(parameter) in updated]:
                gradient = waiting.pop(name).grad
                if gradient is not None:
                    capture(name, gradient)

        self.save_before_updates(gradients, save)

    def keep_used_gradients(self) -> None:
        """Keep gradients that an update has used, because a backward pass of another model may go through this one."""
        if not self._is_keeping:
            self._is_keeping = True
            self._handles.append(register_optimizer_step_post_hook(HookCallback(self._after_update)))

    def run_before(self, optimizer: Optimizer) -> None:
        """Run the functions of this step before an update; a script may have several optimizers."""
        self._have_gradients_come = True
        if self._functions:
            updated = _parameters_of(optimizer)
            for function in self._functions:
                function(updated)

    def note_used(self, optimizer: Optimizer, gradients: Mapping[str, nn.Parameter], step: StepBuffer | None) -> None:
        """Note the gradients of the open step that an update has used.

        Args:
            optimizer: The optimizer.
            gradients: The gradients that are captured in this step, with their parameters.
            step: The open step.
        """
        if gradients and step is not None:
            updated = _parameters_of(optimizer)
            self.used.update(
                name for name, parameter in gradients.items() if id(parameter) in updated and step.has(name)
            )

    def end_step(self, step: StepBuffer | None) -> None:
        """Forget the functions and gradients of the open step."""
        if self._awaited and not self._have_gradients_come and step is not None:
            self._have_gradients_come = any(map(step.has, self._awaited))
        self._awaited.clear()
        self._functions.clear()
        self.used.clear()

    def detach(self) -> None:
        """Remove the hooks from PyTorch."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()


def _parameters_of(optimizer: Optimizer) -> set[int]:
    """Return the `id` of each parameter that an optimizer updates."""
    return {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
