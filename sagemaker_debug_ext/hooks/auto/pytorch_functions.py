"""Capture of functions of `torch.nn.functional` that scripts call: losses and dropout.

`F.cross_entropy(scores, labels)` is saved as a call of an `nn.CrossEntropyLoss` is, so that rules need not know which
of the two a script uses. A call of `F.dropout` is saved as whether it drops anything, because it does so in evaluation,
too, unless the script passes its mode.
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
from torch.nn import functional

from sagemaker_debug_ext.hooks.pytorch.torch_compile import is_recording

LOSS_FUNCTIONS: Final[Mapping[str, str]] = {
    "binary_cross_entropy": "BCELoss",
    "binary_cross_entropy_with_logits": "BCEWithLogitsLoss",
    "cross_entropy": "CrossEntropyLoss",
    "hinge_embedding_loss": "HingeEmbeddingLoss",
    "huber_loss": "HuberLoss",
    "kl_div": "KLDivLoss",
    "l1_loss": "L1Loss",
    "mse_loss": "MSELoss",
    "nll_loss": "NLLLoss",
    "smooth_l1_loss": "SmoothL1Loss",
    "soft_margin_loss": "SoftMarginLoss",
}
"""Function → the module of the same loss."""

DROPOUT_FUNCTIONS: Final = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
"""Functions that drop elements when they are told to train, which is their default but for ``alpha_dropout``."""

OnLoss = Callable[[str, Mapping[str, Any], tuple[Any, Any], Tensor, nn.Module | None], object]
"""Called with the class of the module, the arguments, predictions and targets, the loss, and the module if one calls.
"""

_MODULES: Final = frozenset({"torch.nn.modules.loss", "torch.nn.modules.dropout"})
"""Where the modules are whose calls of functions are reported."""


OnDropout = Callable[[str, bool, nn.Module | None], object]
"""Called with the name of the function, whether it drops elements, and the module if one calls."""


def wrap_losses(on_call: OnLoss) -> None:
    """Report calls of loss functions by the script and by loss modules."""
    for name, kind in LOSS_FUNCTIONS.items():

        def report(given: dict[str, Any], loss: Tensor, caller: FrameType, kind: str = kind) -> None:
            predictions, targets = (given.pop(key) for key in ("input", "target"))
            on_call(kind, given, (predictions, targets), loss, _module_of(caller))

        _wrap(name, report)


def wrap_dropout(on_call: OnDropout, is_wanted: Callable[[], bool]) -> None:
    """Report calls of dropout functions by the script and by dropout modules, while `is_wanted` holds.

    A model may have many dropouts, and few steps that are saved.
    """
    for name in DROPOUT_FUNCTIONS:

        def report(given: dict[str, Any], _output: Tensor, caller: FrameType, name: str = name) -> None:
            on_call(name, bool(given["training"] and given["p"] > 0), _module_of(caller))

        _wrap(name, report, is_wanted)


def _wrap(
    name: str,
    report: Callable[[dict[str, Any], Tensor, FrameType], None],
    is_wanted: Callable[[], bool] = lambda: True,
) -> None:
    """Report the arguments, result and caller of a function's calls by the script and by losses and dropouts."""
    original = getattr(functional, name)
    signature = inspect.signature(original)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if is_recording() or type(result) is not Tensor or _is_transformed() or not is_wanted():
            return result
        frame = sys._getframe(1)  # noqa: SLF001 - the only way to learn who calls
        caller = _name_of(frame)
        if caller in _MODULES or not caller.startswith("torch."):
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            report(given.arguments, result, frame)
        return result

    # PyTorch compiles what this returns in the place of the function.
    call.__prepare_scriptable__ = lambda: original  # type: ignore[attr-defined]
    setattr(functional, name, call)


def _name_of(frame: FrameType) -> str:
    """Return the name of the module whose code calls."""
    name: str = frame.f_globals.get("__name__", "")
    return name


def _module_of(frame: FrameType) -> nn.Module | None:
    """Return the loss or dropout that calls its function; None if the script calls it."""
    module = frame.f_locals.get("self") if _name_of(frame) in _MODULES else None
    return module if isinstance(module, nn.Module) else None


def _is_transformed() -> bool:
    """Return whether tensors stand for others, as in the transforms of `torch.func`."""
    return torch._C._functorch.peek_interpreter_stack() is not None  # noqa: SLF001
