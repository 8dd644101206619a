"""Gluon blocks: names, child blocks, parameters and callbacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from mxnet import gluon
from mxnet.ndarray import NDArray

from sagemaker_debug_ext.config.collection import Collection as BaseCollection
from sagemaker_debug_ext.errors import SMDebugTypeError, brief


class Collection(BaseCollection):
    """A named group of tensors, to which the inputs and outputs of blocks can be added."""

    def add_block_tensors(self, block: gluon.Block, inputs: bool = False, outputs: bool = True) -> None:
        """Include the inputs, the outputs, or both of a block.

        Raises:
            SMDebugTypeError: `block` is not a block.
        """
        name = re.escape(block_name(check_block(block)))
        self.include([f"^{name}_{kind}_" for kind, wanted in (("input", inputs), ("output", outputs)) if wanted])


class Tap:
    """Callback that calls a method of the hook; copies and pickles of the block get a no-op instead.

    Args:
        method: The method to call.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method

    def __call__(self, *arguments: Any) -> None:
        """Call the method and ignore its result."""
        self._method(*arguments)

    def __deepcopy__(self, _: dict[int, Any]) -> Callable[..., None]:
        return _do_nothing

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _return_stand_in, ()


def _do_nothing(*_: Any) -> None:
    """Replace a tap in copies of a block."""


def _return_stand_in() -> Callable[..., None]:
    return _do_nothing


def check_block(block: object) -> gluon.Block:
    """Return `block` if it is a Gluon block.

    Raises:
        SMDebugTypeError: `block` is not a block.
    """
    if not isinstance(block, gluon.Block):
        raise SMDebugTypeError(f"block must be a mxnet.gluon.Block (got {brief(block)})")
    return block


def block_name(block: gluon.Block) -> str:
    """Return a block's name; a block without one, created without a prefix, gets the default name of its class."""
    return block.name or type(block).__name__.lower()


def parts_of(block: gluon.Block) -> list[gluon.Block]:
    """Return a block and all blocks inside it."""
    parts: list[gluon.Block] = []
    block.apply(parts.append)
    return parts


def outermost_hybridised(block: gluon.Block) -> Iterator[gluon.HybridBlock]:
    """Yield the outermost hybridised blocks in a block, each of which MXNet runs as one graph."""
    inside: set[int] = set()
    for part in reversed(parts_of(block)):  # outer blocks before inner ones
        if id(part) not in inside and getattr(part, "_active", False):  # MXNet has no public attribute for it
            inside.update(id(inner) for inner in parts_of(part))
            yield part


class Parameters:
    """Cached parameters of a block, by `id`, invalidated when blocks or parameters are added or removed.

    Args:
        block: The block.
    """

    def __init__(self, block: gluon.Block) -> None:
        self._block = block
        self._seen: list[tuple[int, int]] = []
        self._found: dict[int, gluon.Parameter] = {}

    def collect(self) -> dict[int, gluon.Parameter]:
        """Return the current parameters."""
        seen = [(id(part), len(part.params.keys())) for part in parts_of(self._block)]
        if seen != self._seen:
            self._seen = seen
            self._found = {id(parameter): parameter for parameter in self._block.collect_params().values()}
        return self._found


def data_of(parameter: gluon.Parameter) -> tuple[NDArray, ...]:
    """Return a parameter's values on all its contexts; none before its deferred initialization."""
    try:
        return tuple(parameter.list_data())
    except RuntimeError:  # a subclass of it means that the shape is not known yet
        return ()
