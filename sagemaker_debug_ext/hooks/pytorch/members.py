"""The parameters of a model, looked up again only when the model has changed."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TypeAlias

import attrs
from torch import nn

from sagemaker_debug_ext.hooks.pytorch.compiled import plain_path
from sagemaker_debug_ext.hooks.pytorch.shards import is_sharded

Named: TypeAlias = list[tuple[str, nn.Parameter]]
"""Parameters with the names of their tensors."""


@attrs.frozen(eq=False)
class Members:
    """What a model consisted of when it was asked for its parameters.

    Args:
        named: Its parameters.
        modules: Each of its modules, with the parameters and the modules right below it.
        is_complete: Whether all parameters had their data; others come into being without a trace.
    """

    named: Named
    modules: list[tuple[nn.Module, list[nn.Parameter | None], list[nn.Module | None]]]
    is_complete: bool

    @classmethod
    def of(cls, model: nn.Module, prefix: str) -> Members:
        """Look a model up.

        Args:
            model: The model.
            prefix: What to put before the path of each parameter.
        """
        found = list(model.named_parameters())
        lazy = {id(parameter) for _, parameter in found if _is_lazy(parameter)}
        return cls(
            [(prefix + plain_path(path), parameter) for path, parameter in found if id(parameter) not in lazy],
            [
                (module, list(module._parameters.values()), list(module._modules.values()))  # noqa: SLF001 - what both
                for module in model.modules()  # are made of; asking in public takes as long as looking the model up
            ],
            not lazy,
        )

    def are_current(self) -> bool:
        """Tell whether the model still consists of the same modules and parameters."""
        return self.is_complete and all(
            _are_same(module._parameters.values(), parameters)  # noqa: SLF001
            and _are_same(module._modules.values(), modules)  # noqa: SLF001
            for module, parameters, modules in self.modules
        )


def _are_same(found: Iterable[object], known: list[nn.Parameter | None] | list[nn.Module | None]) -> bool:
    some = list(found)
    return len(some) == len(known) and (all(map(operator.is_, some, known)) or all(map(_is_same_or_whole, some, known)))


def _is_same_or_whole(found: object, known: object) -> bool:
    """Tell whether a member is still there, or the whole parameter stands for the shard until a backward pass."""
    if found is known:
        return True
    return (
        is_sharded(known)
        and isinstance(known, nn.Parameter)
        and isinstance(found, nn.Parameter)
        and not is_sharded(found)
        and found.shape == known.shape
    )


def _is_lazy(parameter: nn.Parameter) -> bool:
    return bool(nn.parameter.is_lazy(parameter))
