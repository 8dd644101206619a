"""Models that ``torch.compile`` has compiled, as a wrapper or in place, or ``torch.jit``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import jit, nn


def is_compiled(module: nn.Module) -> bool:
    """Tell whether the code of a module is compiled in its place, where hooks would break it or are refused."""
    return compiled_call(module) is not None or isinstance(module, jit.ScriptModule)


def without_compiler(module: nn.Module) -> nn.Module:
    """Return the module itself where `module` is what ``torch.compile`` made of it."""
    original = getattr(module, "_orig_mod", None)
    return original if isinstance(original, nn.Module) else module


def compiled_call(module: nn.Module) -> Callable[..., Any] | None:
    """Return what a module compiled in place calls; None if it is not compiled so."""
    return getattr(module, "_compiled_call_impl", None)


class CompiledCall:
    """Has a function called before a module that is compiled in place; tracing a hook would break its graph.

    Args:
        module: The module.
        function: Called with the module and its positional arguments.
    """

    def __init__(self, module: nn.Module, function: Callable[..., Any]) -> None:
        self._module = module
        self._compiled = compiled = compiled_call(module)
        assert compiled is not None

        def call(*args: Any, **kwargs: Any) -> Any:
            function(module, args)
            return compiled(*args, **kwargs)

        self._call = call
        module._compiled_call_impl = call  # noqa: SLF001 - what the module calls instead of its hooks

    def remove(self) -> None:
        """Restore the module."""
        if compiled_call(self._module) is self._call:
            self._module._compiled_call_impl = self._compiled  # noqa: SLF001
