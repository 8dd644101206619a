"""The operations that make a tensor, read from the graph that PyTorch keeps for the backward pass.

Models call modules, functions and methods alike, so only this graph tells what lies before a loss. It is read, never
changed, and nothing of it is kept.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs
from torch import Tensor

from sagemaker_debug_ext.store.format.program import LayerRecord, ReshapeRecord, SoftmaxRecord

_LONGEST_TAIL: Final = 12
"""Number of operations to look at."""
ACTIVATIONS: Final = {
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
OF_WEIGHTS: Final = frozenset(
    {
        "Addmm", "Mm", "Bmm", "Addbmm", "Baddbmm", "Linear", "Convolution", "ConvolutionOverrideable",
        "MkldnnConvolution", "CudnnConvolution", "NativeBatchNorm", "CudnnBatchNorm", "NativeLayerNorm",
        "NativeGroupNorm", "Embedding", "Mv", "Dot",
    }
)  # fmt: skip
"""Operations of layers with weights, whose output may be any number."""
RESHAPING: Final = frozenset(
    {
        "View", "ReshapeAlias", "UnsafeView", "Squeeze", "Unsqueeze", "Transpose", "T", "Permute", "Clone", "ToCopy",
        "Alias", "Slice", "Select", "Expand", "AsStrided", "Index",
    }
)  # fmt: skip
"""Operations that keep the values."""
_DROPOUT: Final = "Dropout"
_MOST_OF_ALL: Final = 2_000
"""Number of operations among which leaves are looked for."""
_NEGATIVE: Final = 1 << 64
"""What operations have added to an axis that is counted from the end."""
_MOST_NEAR: Final = 500
"""Number of operations among which softmaxes and reshapes are looked for, so that it takes a millisecond."""
_VIEWS: Final = frozenset({"View", "ReshapeAlias", "UnsafeView"})
"""Operations that give other axes to the same numbers, in the same order."""
_SLICING: Final = frozenset({"Slice", "Index", "Narrow", "AsStrided", "Split", "SplitWithSizes"})
"""Operations that keep a part of an axis."""
_SCALING: Final = frozenset({"Mul", "Div", "Add", "Sub", "Clone", "ToCopy", "NativeDropout", "Neg"})
"""Operations that may come between a padding and the reshape that it is for."""
_MOST_SCALINGS: Final = 4
"""Number of such operations."""
_FILLING: Final = "CopySlices"
"""Name of an assignment to a part of a tensor, as to one of zeros."""
_MOST_AXES: Final = 6
"""Number of axes up to which it is found out whether they were exchanged."""
_OPERANDS: Final = ("_saved_self", "_saved_other", "_saved_mat1", "_saved_mat2", "_saved_vec", "_saved_tensor")
"""Attributes in which operations keep what they are computed of."""


def tail_of(output: Tensor) -> tuple[LayerRecord, ...]:
    """Return the operations that make a tensor, the last one first, back to the first with weights.

    The result is empty if the tensor has no graph, and ends before an operation that cannot be described.
    """
    return tuple(_operations(output))


@attrs.frozen
class NearOperations:
    """The nearest operations that make a tensor.

    Args:
        kinds: Each operation with its name, the last one first.
    """

    kinds: tuple[tuple[Any, str], ...]

    @classmethod
    def before(cls, output: Tensor) -> NearOperations:
        """Return the operations before a tensor."""
        return cls(tuple((node, kind_of(node)) for node in _all_before(output.grad_fn, _MOST_NEAR)))

    def softmaxes(self) -> tuple[SoftmaxRecord, ...]:
        """Return the softmaxes, the last one first."""
        found = (_softmax(node) for node, kind in self.kinds if kind == "Softmax")
        return tuple(record for record in found if record is not None)

    def mixing_reshapes(self) -> tuple[ReshapeRecord, ...]:
        """Return the reshapes that take axes for others, the last one first; see `takes_axes_for_others`.

        Those that shift rows against each other on purpose are left out: what they reshape was padded or cut off, or
        what they make is cut off next. So are those of parameters.
        """
        sliced = {before for node, kind in self.kinds if kind in _SLICING for before, _ in node.next_functions}
        views = (node for node, kind in self.kinds if kind in _VIEWS and node not in sliced)
        found = (_reshape(node) for node in views)
        return tuple(dict.fromkeys(record for record in found if record is not None))


def takes_axes_for_others(before: Sequence[int], after: Sequence[int]) -> bool:
    """Return whether a reshape to axes in another order, of which some may be joined, keeps its numbers in theirs.

    An example is one from (samples, times, features) to (samples, features, times), or to (times, samples · features).
    It is told from splitting and joining neighbours, which may give the same shape: then, of the places at which either
    shape begins anew after some of its axes, each is a multiple of the one before.

    Axes of length 1 do not count. A reshape that also splits axes may regroup on purpose, and is none.
    """
    if 0 in before:
        return False
    long, wanted = ([length for length in shape if length > 1] for shape in (before, after))
    places = sorted({*itertools.accumulate(long, operator.mul), *itertools.accumulate(wanted, operator.mul)})
    if not any(place % earlier for earlier, place in itertools.pairwise(places)):
        return False
    return len(long) <= _MOST_AXES and _are_products(wanted, long)


def _are_products(products: Sequence[int], lengths: Sequence[int]) -> bool:
    """Return whether each of some numbers is the product of some lengths, each of which is a factor of one of them."""
    if not products:
        return not lengths
    for number in range(1, len(lengths) + 1):
        for chosen in itertools.combinations(range(len(lengths)), number):
            if math.prod(lengths[place] for place in chosen) == products[0]:
                others = [length for place, length in enumerate(lengths) if place not in chosen]
                if _are_products(products[1:], others):
                    return True
    return False


def _reshape(node: Any) -> ReshapeRecord | None:
    """Return the record of a reshape if it takes axes for others, also by way of a flat shape."""
    first, before = node, node.next_functions[0][0]
    sizes = _sizes_before(node)
    if len(sizes) == 1 and kind_of(before) in _VIEWS:
        first, sizes = before, _sizes_before(before)
    made = shape_of(node)
    if not (made and sizes and takes_axes_for_others(sizes, made)) or _is_to_shift_or_of_parameter(first):
        return None
    return ReshapeRecord(before=sizes, after=made)


def _is_to_shift_or_of_parameter(node: Any) -> bool:
    """Return whether an operation gets what was padded or cut off, or a parameter, perhaps after it was scaled."""
    for _ in range(_MOST_SCALINGS):
        node = next((other for other, _ in node.next_functions if other is not None), None)
        if node is None or is_parameter(node) or node.name().endswith(_FILLING):
            return True
        kind = kind_of(node)
        if "Pad" in kind or kind in _SLICING:
            return True
        if kind == "Cat":
            return any(other is None for other, _ in node.next_functions)
        if kind not in _SCALING and kind not in ACTIVATIONS:
            return False
    return False


def shape_of(node: Any) -> tuple[int, ...]:
    """Return the shape of what an operation makes; empty if it has none, as nested tensors."""
    try:
        return _plain_sizes(node._input_metadata[0].shape)  # noqa: SLF001 - there is no other way to learn it
    except (AttributeError, IndexError, RuntimeError):
        return ()


def _sizes_before(view: Any) -> tuple[int, ...]:
    """Return the shape of what is reshaped; empty if it is unknown."""
    try:
        return _plain_sizes(view._saved_self_sym_sizes)  # noqa: SLF001 - there is no other way to learn it
    except (AttributeError, RuntimeError):
        return ()


def _plain_sizes(sizes: Sequence[Any]) -> tuple[int, ...]:
    """Return lengths if all of them are numbers, and not symbols, as those of a compiled graph."""
    return tuple(sizes) if all(type(size) is int for size in sizes) else ()


def _softmax(node: Any) -> SoftmaxRecord | None:
    """Return the record of a softmax, without asking for what it has saved, which a checkpoint would compute anew."""
    shape, axis = shape_of(node), getattr(node, "_saved_dim", None)
    if not shape or axis is None:
        return None
    return SoftmaxRecord(axis=axis if axis < len(shape) else axis - _NEGATIVE + len(shape), shape=shape)


def leaves_of(loss: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return the tensors that a loss trains, and the data that an operation puts together with one of these.

    Both are in the order of the computation. Data that no operation keeps are missing, as those that are only added.
    """
    trained: dict[int, Tensor] = {}
    data: dict[int, Tensor] = {}
    for node in _all_before(loss.grad_fn):
        if is_parameter(node):
            trained.setdefault(id(node.variable), node.variable)
            continue
        operands = [other for other, _ in node.next_functions]
        if None in operands and any(map(holds_parameter, operands)):
            kept = [tensor for name in _OPERANDS if (tensor := saved_tensor(node, name)) is not None]
            data.update((id(tensor), tensor) for tensor in kept if tensor.ndim and not tensor.requires_grad)
    return tuple(trained.values())[::-1], tuple(data.values())[::-1]


def _all_before(start: Any, most: int = _MOST_OF_ALL) -> Iterator[Any]:
    """Yield an operation and all before it, the nearest first, each once, until a number of them is known."""
    waiting, seen = [start], {start}
    for node in waiting:  # grows meanwhile
        if node is None or len(waiting) > most:
            return
        yield node
        for other, _ in node.next_functions:
            if other is not None and other not in seen:
                seen.add(other)
                waiting.append(other)


def holds_parameter(node: Any) -> bool:
    """Return whether an operand is a parameter, whatever its shape."""
    while node is not None and kind_of(node) in RESHAPING:
        node = node.next_functions[0][0]
    return node is not None and is_parameter(node)


def saved_tensor(node: Any, name: str) -> Tensor | None:
    """Return an operand that an operation keeps; None if there is none, or if it was overwritten since."""
    try:
        tensor = getattr(node, name, None)
    except RuntimeError:
        return None
    return tensor if isinstance(tensor, Tensor) else None


def _operations(output: Tensor) -> Iterator[LayerRecord]:
    node: Any = output.grad_fn
    units = output.shape[-1] if output.ndim and not output.is_nested else None
    for _ in range(_LONGEST_TAIL):
        kind = kind_of(node)
        if kind in OF_WEIGHTS:
            yield LayerRecord(name="", type=kind, activation="linear", units=units)
            return
        if kind in ACTIVATIONS:
            yield LayerRecord(name="", type=kind, activation=ACTIVATIONS[kind], units=units)
        elif kind == "NativeDropout" or (kind == "Mul" and _is_mask(node)):
            yield LayerRecord(name="", type=_DROPOUT, units=units)
        elif kind not in RESHAPING and not (kind == "Add" and _adds_parameter(node)):
            return
        node = _before(node)


def kind_of(node: Any) -> str:
    """Return the name of an operation; empty for none, and for parameters."""
    return "" if node is None else node.name().rpartition("Backward")[0]


def _before(node: Any) -> Any:
    """Return the operation before another, which is not a parameter."""
    others = (other for other, _ in node.next_functions if other is not None)
    return next((other for other in others if not is_parameter(other)), None)


def is_parameter(node: Any) -> bool:
    """Return whether an operation is none, but hands a gradient to a parameter."""
    return bool(node.name().endswith("AccumulateGrad"))


def _adds_parameter(node: Any) -> bool:
    """Return whether an addition is that of a bias."""
    return any(other is not None and is_parameter(other) for other, _ in node.next_functions)


def _is_mask(node: Any) -> bool:
    """Return whether a product is that of a dropout: with a tensor without a gradient, of 0 and one other number."""
    if sum(other is not None for other, _ in node.next_functions) != 1:
        return False
    mask = getattr(node, "_saved_other", None)
    if not isinstance(mask, Tensor) or mask.ndim == 0 or mask.numel() < 2:
        return False
    kept = mask[mask != 0]
    return bool(0 < kept.numel() < mask.numel() and (kept == kept[0]).all() and kept[0] > 1)
