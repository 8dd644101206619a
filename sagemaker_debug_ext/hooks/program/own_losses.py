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
    is_parameter,
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
_FACTORS: Final = ("_saved_self", "_saved_other")
_SUBTRACTING: Final = frozenset({"Sub", "Rsub"})
_COMPARING: Final = frozenset({"MseLoss", "SmoothL1Loss", "HuberLoss"})
"""Losses that spread an answer to the shape of the targets."""
_SPREADING: Final = "Expand"
_SUMMING: Final = "Sum"


def spread_shape(loss: Tensor, answers: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of what a loss averages, if targets have spread N answers to N × N numbers; empty otherwise.

    Args:
        loss: The loss.
        answers: Shape of the answers that it is computed of, of which only one for each sample can be spread by a
            difference.
    """
    for node in _walk(loss.grad_fn, _OF_NUMBERS):
        sizes = tuple(getattr(node, "_saved_self_sym_sizes", ())) if node.name() in _AVERAGING else ()
        if len(sizes) != 2 or sizes[0] != sizes[1] or sizes[0] < 2:
            continue
        is_of_answers = answers[:1] == sizes[:1] and math.prod(answers) == sizes[0]
        if (is_of_answers and _compares_with_data(node)) or _multiplies_out(node, sizes[0]):
            return sizes
    return ()


def _multiplies_out(averaging: Any, count: int) -> bool:
    """Return whether an operation averages a product of each of N numbers with each of N data, or what is made of it.

    Unlike differences, products keep their data, so that the numbers may be any of a loss, such as distances.
    """
    waiting, seen = [averaging], {averaging}
    for node in waiting:  # grows meanwhile
        before = {other for other, _ in node.next_functions if other is not None}
        if kind_of(node) == _MULTIPLYING and len(before) == 1 and math.prod(shape_of(next(iter(before)))) == count:
            data = [tensor for name in _FACTORS if (tensor := saved_tensor(node, name)) is not None]
            if len(data) == 1 and data[0].numel() == count and not data[0].requires_grad:
                return True
        inner = {
            other for other in before - seen if kind_of(other) in _ELEMENTWISE and shape_of(other) == (count, count)
        }
        seen |= inner
        waiting += inner if len(waiting) < _MOST_OPERATIONS else ()
    return False


def pooled_shape(loss: Tensor) -> tuple[int, ...]:
    """Return the shape of data of each sample that a loss puts to one number of all samples; empty if there is none.

    The number is a sum of answers over the samples, from which targets are subtracted, or a sum or mean of losses that
    is multiplied by weights or rewards. Differences from a mean may be meant, as in the relativistic losses of a
    discriminator.
    """
    for node in _after_weights(loss.grad_fn):
        shape, number = _joined_with_data(node)
        if number is None or not shape or shape[0] < 2:
            continue
        pooling = _pooling(number, shape[0])
        if _SUMMING in pooling or (pooling and kind_of(node) == _MULTIPLYING):
            return shape
    return ()


def _joined_with_data(node: Any) -> tuple[tuple[int, ...], Any]:
    """Return the shape that an operation joins data and one number to, with the number; None for it in other cases."""
    if kind_of(node) in _COMPARING:
        node = node.next_functions[0][0]  # of the other operand, the targets, the graph knows nothing
        joins = kind_of(node) == _SPREADING
    else:
        joins = kind_of(node) == _MULTIPLYING or kind_of(node) in _SUBTRACTING
    operands = [other for other, _ in node.next_functions if other is not None] if joins else []
    return shape_of(node), operands[0] if len(operands) == 1 and _is_number(operands[0]) else None


def _is_number(node: Any) -> bool:
    return not is_parameter(node) and not holds_parameter(node) and math.prod(shape_of(node)) == 1


def _pooling(number: Any, num_samples: int) -> set[str]:
    """Return the kinds of the operations that make a number of tensors whose first axis has some length."""
    found, waiting = set(), [number]
    for node in waiting:  # grows meanwhile
        for other, _ in node.next_functions if len(waiting) < _MOST_OPERATIONS else ():
            if other is None or is_parameter(other):
                continue
            shape = shape_of(other)
            if math.prod(shape) == 1:
                waiting.append(other)
            elif shape[0] == num_samples and not holds_parameter(other):
                found.add(kind_of(node))
    return found


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
    operands = [saved_tensor(node, name) for name in _FACTORS]
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
