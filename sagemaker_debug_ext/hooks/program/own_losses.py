"""What goes wrong in a loss that the script computes itself, read from the graph of its backward pass."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from torch import Tensor

from sagemaker_debug_ext.hooks.program.autograd import (
    ACTIVATIONS,
    OF_WEIGHTS,
    holds_parameter,
    kind_of,
    saved_tensor,
    shape_of,
)

_MOST_OPERATIONS: Final = 200
"""Number of operations to look at."""
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
        *ACTIVATIONS,
    }
)  # fmt: skip
"""Operations that do not spread values on purpose, as ``unsqueeze`` and ``expand`` do."""
_LARGER_OR_SMALLER: Final = frozenset({"Maximum", "Minimum"})
_PICKING: Final = frozenset({"Gather"})
"""Operations that pick one number for each sample, as the logarithm of a probability is."""
_MULTIPLYING: Final = "Mul"
_SUBTRACTING: Final = frozenset({"Sub", "Rsub"})
_COMPARING: Final = frozenset({"MseLoss", "SmoothL1Loss", "HuberLoss"})
"""Losses that spread an answer to the shape of the targets."""
_SPREADING: Final = "Expand"
_SUMMING: Final = "SumBackward0"
"""Name of the operation that makes one number of all."""


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


def pooled_shape(loss: Tensor) -> tuple[int, ...]:
    """Return the shape of targets that are compared with a sum over all samples and columns; empty if there are none.

    Only sums of a product of answers with data count, which are meant to pick one answer of each sample, as that of the
    action taken. Other sums over samples may well be meant, as in a projection or a weighted mean.
    """
    for node in _after_weights(loss.grad_fn):
        shape, number = _compared_with_data(node)
        if number is not None and shape and shape[0] > 1 and _picks(number, shape[0]):
            return shape
    return ()


def _compared_with_data(node: Any) -> tuple[tuple[int, ...], Any]:
    """Return the shape of a difference from data, or of what a loss spreads, and the other operand; None for others."""
    if kind_of(node) in _COMPARING:
        has_targets = node.next_functions[1:2] == ((None, 0),)
        node = node.next_functions[0][0]
        is_compared = has_targets and kind_of(node) == _SPREADING
    else:
        is_compared = kind_of(node) in _SUBTRACTING
    operands = [other for other, _ in node.next_functions if other is not None] if is_compared else []
    return shape_of(node), operands[0] if len(operands) == 1 else None


def _picks(number: Any, num_samples: int) -> bool:
    """Return whether a number is the sum of a table, of several columns, that is a product of answers with data."""
    if number.name() != _SUMMING:
        return False
    table = number.next_functions[0][0]
    shape = shape_of(table)
    if len(shape) != 2 or shape[0] != num_samples or shape[1] < 2 or kind_of(table) != _MULTIPLYING:
        return False
    operands = [other for other, _ in table.next_functions if other is not None]
    return len(operands) == 1 and not holds_parameter(operands[0]) and shape_of(operands[0]) == shape


def _after_weights(start: Any) -> Iterator[Any]:
    """Yield an operation and those before it, each once, back to the last ones with weights."""
    waiting, seen = [start], {start}
    for node in waiting:  # grows meanwhile
        if node is None or len(waiting) > _MOST_OPERATIONS:
            return
        yield node
        for other, _ in node.next_functions if kind_of(node) not in OF_WEIGHTS else ():
            if other is not None and other not in seen:
                seen.add(other)
                waiting.append(other)


def _compares_with_data(averaging: Any) -> bool:
    """Return whether an operation averages what operations on single elements make of answers and data.

    Data have no graph, so that each of the operations has only one operand with one. Pairs of answers have two. So has
    the larger or smaller of two tensors; where both have one shape, the first speaks for the other.
    """
    node, compares = averaging, False
    for _ in range(_MOST_OPERATIONS):
        operands = [other for other, _ in node.next_functions if other is not None]
        before = [other for other in operands if not holds_parameter(other)]
        if operands and not before:
            return compares
        if len(before) != 1 and not (kind_of(node) in _LARGER_OR_SMALLER and _are_of_one_shape(node)):
            return False
        node = before[0]
        if kind_of(node) in OF_WEIGHTS | _PICKING:
            return compares
        if kind_of(node) not in _ELEMENTWISE:
            return False
        compares = compares or kind_of(node) in _OF_TWO
    return False


def _are_of_one_shape(node: Any) -> bool:
    """Return whether neither operand of an operation is spread; False if it does not keep them."""
    operands = [saved_tensor(node, name) for name in ("_saved_self", "_saved_other")]
    return len({tensor.shape for tensor in operands if tensor is not None}) == 1 and None not in operands


def _walk(start: Any, through: frozenset[str]) -> Iterator[Any]:
    """Yield an operation and those before it, and go on before operations of some kinds only."""
    waiting, num_left = [start], _MOST_OPERATIONS
    while waiting and num_left:
        node = waiting.pop()
        num_left -= 1
        if node is not None:
            yield node
            if kind_of(node) in through:
                waiting += [other for other, _ in node.next_functions]
