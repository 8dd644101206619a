"""The operations that make a tensor, read from the graph that PyTorch keeps for the backward pass.

Models call modules, functions and methods alike, so only this graph tells what lies before a loss. It is read, never
changed, and nothing of it is kept.
"""

from __future__ import annotations

import math
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
_AVERAGING: Final = frozenset({"MeanBackward0", "SumBackward0"})
"""Operations that make one number of all; those along an axis have other names."""
_OF_NUMBERS: Final = frozenset({"Add", "Sub", "Rsub", "Mul", "Div", "Neg", "Pow", "Sqrt", "Abs", "Log", "Exp"})
"""Operations after the one that averages, such as the addition of another loss."""
_OF_TWO: Final = frozenset({"Add", "Sub", "Rsub", "Mul", "Div"})
"""Operations that compare answers with targets."""
_ELEMENTWISE: Final = frozenset(
    {
        "Add", "Sub", "Rsub", "Mul", "Div", "Neg", "Pow", "Sqrt", "Abs", "Log", "Log1P", "Exp", "Clamp", "Where",
        "Maximum", "Minimum", "Squeeze", "View", "UnsafeView", "ReshapeAlias", "Clone", "ToCopy", "Alias",
        *_ACTIVATIONS,
    }
)  # fmt: skip
"""Operations that do not spread values on purpose, as ``unsqueeze`` and ``expand`` do."""
_MOST_OPERATIONS: Final = 200


def tail_of(output: Tensor) -> tuple[LayerRecord, ...]:
    """Return the operations that make a tensor, the last one first, back to the first with weights.

    The result is empty if the tensor has no graph, and ends before an operation that cannot be described.
    """
    return tuple(_operations(output))


def spread_shape(loss: Tensor, answers: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of what a loss averages, if targets have spread N answers to N × N numbers; empty otherwise.

    Args:
        loss: The loss.
        answers: Shape of the answers that it is computed of, of which only one for each sample can be spread.
    """
    count = math.prod(answers)
    if count < 2 or answers[0] != count:
        return ()
    square = (count, count)
    averaging = (node for node in _walk(loss.grad_fn, _OF_NUMBERS) if node.name() in _AVERAGING)
    found = (node for node in averaging if tuple(getattr(node, "_saved_self_sym_sizes", ())) == square)
    return square if any(_compares_with_data(node) for node in found) else ()


def _compares_with_data(averaging: Any) -> bool:
    """Return whether an operation averages what operations on single elements make of answers and data.

    Data have no graph, so that each of the operations has only one operand with one. Pairs of answers have two.
    """
    node, compares = averaging, False
    for _ in range(_MOST_OPERATIONS):
        before = [other for other, _ in node.next_functions if other is not None]
        if len(before) != 1:
            return False
        node = before[0]
        if _kind(node) in _OF_WEIGHTS:
            return compares
        if _kind(node) not in _ELEMENTWISE:
            return False
        compares = compares or _kind(node) in _OF_TWO
    return False


def _walk(start: Any, through: frozenset[str]) -> Iterator[Any]:
    """Yield an operation and those before it, and go on before operations of some kinds only."""
    waiting, num_left = [start], _MOST_OPERATIONS
    while waiting and num_left:
        node = waiting.pop()
        num_left -= 1
        if node is not None:
            yield node
            if _kind(node) in through:
                waiting += [other for other, _ in node.next_functions]


def _operations(output: Tensor) -> Iterator[LayerRecord]:
    node: Any = output.grad_fn
    units = output.shape[-1] if output.ndim else None
    for _ in range(_LONGEST_TAIL):
        kind = _kind(node)
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


def _kind(node: Any) -> str:
    """Return the name of an operation."""
    return "" if node is None else re.sub(r"Backward\d*$", "", node.name())


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
