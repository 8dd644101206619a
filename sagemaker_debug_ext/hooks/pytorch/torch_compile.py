"""Models that ``torch.compile`` has compiled, as a wrapper or in place, or ``torch.jit``; and code that is recorded."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, Final

import torch
from torch import cuda, jit, nn
from torch.compiler import is_compiling

LOG = logging.getLogger(__name__)

_ORIGINAL: Final = "_orig_mod"
"""Attribute in which a ``torch.compile`` wrapper keeps the original module."""

_is_tracing: Final[Callable[[], bool]] = torch._C._is_tracing  # noqa: SLF001 - `torch.jit.is_tracing`, in one call


def is_recording() -> bool:
    """Return whether what runs now is recorded, to run again without Python.

    That is while ``torch.compile`` or ``torch.jit.trace`` follows the code, and while the GPU records a CUDA graph.
    Nothing may be captured then: it would become a part of the recorded code, or break it.
    """
    if is_compiling() or _is_tracing():
        return True
    if cuda.is_initialized() and cuda.is_current_stream_capturing():  # type: ignore[no-untyped-call]
        _warn_of_graph()
        return True
    return False


@functools.cache
def _warn_of_graph() -> None:
    LOG.warning("what runs in a CUDA graph is not captured: neither its recording nor its replays are steps")


def unwrap_compiled(module: nn.Module) -> nn.Module:
    """Return the original module if `module` is a ``torch.compile`` wrapper; otherwise return `module`."""
    # not by `getattr` first: a failing look-up on a module formats an error
    original = getattr(module, _ORIGINAL) if _ORIGINAL in vars(module).get("_modules", ()) else None
    return original if isinstance(original, nn.Module) else module


def plain_path(path: str) -> str:
    """Return the path of a module or parameter without the parts that ``torch.compile`` adds."""
    return ".".join([part for part in path.split(".") if part != _ORIGINAL])


def compiled_call(module: nn.Module) -> Callable[..., Any] | None:
    """Return the callable of a module compiled in place, or None for other modules."""
    return getattr(module, "_compiled_call_impl", None)


def compiled_children(module: nn.Module) -> set[int]:
    """Return the `id` of every module that the compiled code of a module hides, whose calls nobody sees.

    A module that is compiled in its place can itself be seen, by `CompiledCall`, and so can what wraps a compiled one.
    """
    if isinstance(module, jit.ScriptModule):
        return {id(part) for part in module.modules()}
    if compiled_call(module) is not None or unwrap_compiled(module) is not module:
        return {id(part) for part in module.modules() if part is not module}
    return set()


class CompiledCall:
    """Stands before the code of a module that is compiled in place, and calls functions before and after it.

    A hook that the module calls itself would be traced and break its graph.

    Args:
        module: The module.
    """

    def __init__(self, module: nn.Module) -> None:
        compiled = compiled_call(module)
        assert compiled is not None
        self._module, self._compiled = module, compiled
        self._before: list[Callable[..., object]] = []
        self._after: list[Callable[..., object]] = []
        module._compiled_call_impl = self  # noqa: SLF001 - what the module calls instead of its hooks

    @classmethod
    def of(cls, module: nn.Module) -> CompiledCall:
        """Return the one of a module that is compiled in place."""
        found = compiled_call(module)
        return found if isinstance(found, cls) else cls(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the compiled code."""
        for function in self._before:
            function(self._module, args)
        outputs = self._compiled(*args, **kwargs)
        for function in self._after:
            function(self._module, args, kwargs, outputs)
        return outputs

    def before(self, function: Callable[..., object]) -> RegisteredCall:
        """Call a function before the module, with the module and its positional arguments."""
        return RegisteredCall(self, self._before, function)

    def after(self, function: Callable[..., object]) -> RegisteredCall:
        """Call a function after the module, with the module, its arguments and its outputs."""
        return RegisteredCall(self, self._after, function)

    def leave_if_idle(self) -> None:
        """Restore the module if there is nothing to call."""
        if not (self._before or self._after) and compiled_call(self._module) is self:
            self._module._compiled_call_impl = self._compiled  # noqa: SLF001


class RegisteredCall:
    """A function that a `CompiledCall` calls."""

    def __init__(self, owner: CompiledCall, functions: list[Callable[..., object]], function: Callable[..., object]):
        self._owner, self._functions, self._function = owner, functions, function
        functions.append(function)

    def remove(self) -> None:
        """Remove the callback."""
        self._functions.remove(self._function)
        self._owner.leave_if_idle()
