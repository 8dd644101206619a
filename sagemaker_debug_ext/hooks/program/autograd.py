"""The operations that make a tensor, read from the graph that PyTorch keeps for the backward pass.

Models call modules, functions and methods alike, so only this graph tells what lies before a loss. It is read, never
changed, and nothing of it is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from torch import Tensor

from sagemaker_debug_ext.store.format.program import LayerRecord

_LONGEST_TAIL: Final = 12
"""Number of operations to look at."""
_ACTIVATIONS: Final = {
    "Softmax": "softmax",
    "LogSoftmax": "log_softmax",
    "Sigmoid": "sigmoid",
    "LogSigmoid": "log_sigmoid",
    "Hardsigmoid": "hard_sigmoid",
    "Tanh": "tanh",
    "Relu": "relu",
    "LeakyRelu": "leaky_relu",
    "Elu": "elu",
    "Gelu": "gelu",
    "Silu": "silu",
    "Softplus": "softplus",
    "Log": "log",
    "Exp": "exponential",
}
_OF_WEIGHTS: Final = frozenset(
    {
        "Addmm", "Mm", "Bmm", "Addbmm", "Baddbmm", "Linear", "Convolution", "ConvolutionOverrideable",
        "MkldnnConvolution", "CudnnConvolution", "NativeBatchNorm", "CudnnBatchNorm", "NativeLayerNorm",
        "NativeGroupNorm", "Embedding",
    }
)  # fmt: skip
"""Operations of layers with weights, whose output may be any number."""
_RESHAPING: Final = frozenset(
    {
        "View", "ReshapeAlias", "UnsafeView", "Squeeze", "Unsqueeze", "Transpose", "T", "Permute", "Clone", "ToCopy",
        "Alias", "Slice", "Select", "Expand", "AsStrided", "Index",
    }
)  # fmt: skip
"""Operations that keep the values."""
_DROPOUT: Final = "Dropout"


def tail_of(output: Tensor) -> tuple[LayerRecord, ...]:
    """Return the operations that make a tensor, the last one first, back to the first with weights.

    The result is empty if the tensor has no graph, and ends before an operation that cannot be described.
    """
    return tuple(_operations(output))


def _operations(output: Tensor) -> Iterator[LayerRecord]:
    node: Any = output.grad_fn
    units = output.shape[-1] if output.ndim else None
    for _ in range(_LONGEST_TAIL):
        kind = "" if node is None else re.sub(r"Backward\d*$", "", node.name())
        if kind in _OF_WEIGHTS:
            yield LayerRecord(name="", type=kind, activation="linear", units=units)
            return
        if kind in _ACTIVATIONS:
            yield LayerRecord(name="", type=kind, activation=_ACTIVATIONS[kind], units=units)
        elif kind == "NativeDropout" or (kind == "Mul" and _is_mask(node)):
            yield LayerRecord(name="", type=_DROPOUT, units=units)
        elif kind not in _RESHAPING and not (kind == "Add" and _adds_parameter(node)):
            return
        node = _before(node)


def _before(node: Any) -> Any:
    """Return the operation before another, which is not a parameter."""
    others = (other for other, _ in node.next_functions if other is not None)
    return next((other for other in others if not _is_parameter(other)), None)


def _is_parameter(node: Any) -> bool:
    return bool(node.name().endswith("AccumulateGrad"))


def _adds_parameter(node: Any) -> bool:
    """Return whether an addition is that of a bias."""
    return any(other is not None and _is_parameter(other) for other, _ in node.next_functions)


def _is_mask(node: Any) -> bool:
    """Return whether a product is that of a dropout: with a tensor without a gradient, of 0 and one other number."""
    if sum(other is not None for other, _ in node.next_functions) != 1:
        return False
    mask = getattr(node, "_saved_other", None)
    if not isinstance(mask, Tensor) or mask.ndim == 0 or mask.numel() < 2:
        return False
    kept = mask[mask != 0]
    return bool(0 < kept.numel() < mask.numel() and (kept == kept[0]).all() and kept[0] > 1)
