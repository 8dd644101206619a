"""Capture of PyTorch's loss functions: what they get and return is saved under the name of the loss module.

`F.cross_entropy(scores, labels)` is saved as a call of an `nn.CrossEntropyLoss` is, so that rules need not know which
of the two a script uses.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.compiler import is_compiling
from torch.nn import functional

LOSS_FUNCTIONS: Final[Mapping[str, str]] = {
    "binary_cross_entropy": "BCELoss",
    "binary_cross_entropy_with_logits": "BCEWithLogitsLoss",
    "cross_entropy": "CrossEntropyLoss",
    "huber_loss": "HuberLoss",
    "kl_div": "KLDivLoss",
    "l1_loss": "L1Loss",
    "mse_loss": "MSELoss",
    "nll_loss": "NLLLoss",
    "smooth_l1_loss": "SmoothL1Loss",
}
"""Function → the module of the same loss."""

OnCall = Callable[[str, Mapping[str, Any], tuple[Any, Any], Tensor, nn.Module | None], object]
"""Called with the class of the module, the arguments, predictions and targets, the loss, and the module if one calls.
"""

_LOSS_MODULES: Final = "torch.nn.modules.loss"


def wrap_losses(on_call: OnCall) -> None:
    """Report calls of loss functions by the script and by loss modules."""
    for name, kind in LOSS_FUNCTIONS.items():
        setattr(functional, name, _wrapped(getattr(functional, name), kind, on_call))


def _wrapped(original: Callable[..., Any], kind: str, on_call: OnCall) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if is_compiling() or type(result) is not Tensor or _is_transformed():
            return result
        frame = sys._getframe(1)  # noqa: SLF001 - the only way to learn who calls
        caller = frame.f_globals.get("__name__", "")
        if caller == _LOSS_MODULES or not caller.startswith("torch."):
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            predictions, targets = (given.arguments.pop(key) for key in ("input", "target"))
            on_call(kind, given.arguments, (predictions, targets), result, _module_of(frame, caller))
        return result

    # PyTorch compiles what this returns in the place of the function.
    call.__prepare_scriptable__ = lambda: original  # type: ignore[attr-defined]
    return call


def _module_of(frame: FrameType, caller: str) -> nn.Module | None:
    """Return the loss module that calls its function; None if the script calls it."""
    module = frame.f_locals.get("self") if caller == _LOSS_MODULES else None
    return module if isinstance(module, nn.Module) else None


def _is_transformed() -> bool:
    """Return whether tensors stand for others, as in tracing and in the transforms of `torch.func`."""
    tracing: bool = torch._C._is_tracing()  # noqa: SLF001 - `torch.jit.is_tracing`, in one call
    return tracing or torch._C._functorch.peek_interpreter_stack() is not None  # noqa: SLF001
