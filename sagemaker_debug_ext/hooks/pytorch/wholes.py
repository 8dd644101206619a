"""Tensors that are spread over processes and that the script wants saved as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from torch import Tensor, nn

from sagemaker_debug_ext.config.groups import compile_pattern
from sagemaker_debug_ext.hooks.decisions import Decision, StepPlan
from sagemaker_debug_ext.hooks.pytorch.gathering import Gathering
from sagemaker_debug_ext.hooks.pytorch.roots import Roots
from sagemaker_debug_ext.hooks.pytorch.shards import is_sharded
from sagemaker_debug_ext.hooks.pytorch.workers import is_distributed
from sagemaker_debug_ext.vocabulary import ModeKeys

_GRADIENT: Final = "gradient/"


class Wholes:
    """Has the first worker save whole tensors, of which every process sends its shards.

    Whether anything is exchanged depends on nothing that is another process's own.

    Args:
        roots: The registered models.
        save: Saves what was decided of a tensor.
    """

    def __init__(self, roots: Roots, save: Callable[[str, Tensor, Decision], object]) -> None:
        self._roots = roots
        self._save = save
        self._patterns: tuple[str, ...] = ()
        self.gathering: Gathering | None = None
        """What puts tensors together; None as long as nothing is to be."""

    def add(self, patterns: tuple[str, ...]) -> None:
        """Have further tensors saved as a whole: those in whose names a pattern is found.

        Raises:
            SMDebugValueError: A pattern is no regular expression.
        """
        for pattern in patterns:
            compile_pattern(pattern, "gather()")
        self._patterns += patterns

    def needs_all_processes(self) -> bool:
        """Tell whether processes have to take part that save nothing themselves."""
        return bool(self._patterns) and is_distributed()

    def agree_on_steps(self, last_steps: Mapping[ModeKeys, int]) -> Mapping[ModeKeys, int]:
        """Meet the other processes, if any is needed; return the last steps that count of what all have found."""
        if not self.needs_all_processes():
            return last_steps
        sharded = [name for name, parameter in self._parameters().items() if is_sharded(parameter)]
        self.gathering = Gathering(self._patterns, [*sharded, *(_GRADIENT + name for name in sharded)])
        return self.gathering.agree_on_steps(last_steps)

    def has(self, name: str) -> bool:
        """Tell whether a tensor is saved as a whole."""
        return self.gathering is not None and name in self.gathering.names

    def save_weights(self, plan: StepPlan, is_strict: bool) -> None:
        """Save the parameters that are due.

        Args:
            plan: What is due.
            is_strict: Raise what goes wrong, instead of saving no whole tensors any more.
        """
        due = {name for name in self._due(plan) if not name.startswith(_GRADIENT)}
        if due:
            named = self._parameters()
            self._gather(plan, {name: named[name] for name in due if name in named}, is_strict)

    def gradients_due(self, plan: StepPlan) -> dict[str, nn.Parameter] | None:
        """Return the parameters of this process whose gradients are due, by the name of the gradient.

        Returns:
            None if no gradient is due in any process.
        """
        gradients = {name for name in self._due(plan) if name.startswith(_GRADIENT)}
        if not gradients:
            return None
        named = self._parameters()
        return {name: named[bare] for name in gradients if (bare := name.removeprefix(_GRADIENT)) in named}

    def save_gradients(
        self, plan: StepPlan, owners: Mapping[str, nn.Parameter], updated: set[int], is_strict: bool
    ) -> None:
        """Save the gradients of those parameters that an optimizer is about to update."""
        found = {name: owner.grad for name, owner in owners.items() if owner.grad is not None and id(owner) in updated}
        self._gather(plan, found, is_strict)

    def _parameters(self) -> dict[str, nn.Parameter]:
        return {name: parameter for root in self._roots for name, parameter in self._roots.parameters_of(root)}

    def _due(self, plan: StepPlan) -> list[str]:
        names = self.gathering.names if self.gathering is not None else ()
        return [name for name in names if plan.decide(name) is not None]

    def _gather(self, plan: StepPlan, shards: Mapping[str, Tensor], is_strict: bool) -> None:
        assert self.gathering is not None
        wholes = self.gathering.gather(shards) if is_strict else self.gathering.try_to_gather(shards)
        for name, whole in wholes.items():
            decision = plan.decide(name)
            if decision is not None:
                self._save(name, whole, decision)
