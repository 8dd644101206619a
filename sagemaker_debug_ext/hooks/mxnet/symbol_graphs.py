"""Tells the inputs and outputs of blocks that MXNet runs as one graph, where their own hooks are not called.

While a hybridised block runs, MXNet can tell the outputs of the graph's nodes. Which of them go into and come out of
which block, the block itself says when it is called with symbols, as MXNet calls it to make the graph.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

import mxnet as mx
from mxnet import gluon
from mxnet.base import NDArrayHandle
from mxnet.ndarray import NDArray

_ARGUMENT: Final = "argument{}_of_graph"
_OUTPUT: Final = re.compile(r"(?P<node>.*?)_(?:output)?(?P<number>\d*)")


class Place(NamedTuple):
    """Where a tensor is: going into a block, or coming out of it."""

    block: gluon.Block
    kind: str


class _Relay:
    """What MXNet calls for every output of a node, also in the backward pass, which may outlive the hook."""

    def __init__(self) -> None:
        self.receive: Callable[[str, NDArray], object] | None = None

    def __call__(self, output: bytes, _: bytes, handle: int) -> None:
        """Pass an output on while somebody wants it."""
        array = NDArray(NDArrayHandle(handle), writable=False)  # frees the handle, so it is made in any case
        if self.receive is not None:
            self.receive(_node(output.decode()), array)


_KEPT: Final[list[object]] = []
"""C functions that MXNet may call as long as the process lives."""


class GraphWatch:
    """Watches the calls of one hybridised block, each between `begin` and `end`.

    MXNet cannot be asked to stop telling. So a second executor of the same graph takes the place of the block's own
    during the calls to be watched, and all other calls are as they were.

    Args:
        block: The outermost hybridised block.
        wanted: The blocks inside it whose inputs and outputs are wanted.
        offer: Called with where a tensor is, and the tensor, which must be copied before the call returns.
    """

    def __init__(
        self, block: gluon.HybridBlock, wanted: Iterable[gluon.Block], offer: Callable[[Place, NDArray], object]
    ) -> None:
        self.block = block
        self.wanted = list(wanted)
        self._capture = offer
        self._places: dict[str, list[Place]] = {}
        self._shared: set[str] = set()
        self._missing: set[str] = set()
        self._relay = _Relay()
        self._executor: Any = None
        self._original: Any = None

    def begin(self, inputs: tuple[Any, ...]) -> bool:
        """Watch a call that is about to be made; of what the call does, making the graph comes forward.

        Returns:
            Whether this knows the graph: arrays go in one by one, no back end has changed it, and it stays the same.
        """
        self.end()
        block = self.block
        if block._backend is not None or not all(isinstance(value, NDArray) for value in inputs):  # noqa: SLF001
            return False
        if block._cached_op is None:  # noqa: SLF001 - the block's executor, also below
            with inputs[0].context:
                block._build_cache(*inputs)  # noqa: SLF001
        if self._original is not block._cached_op:  # noqa: SLF001
            self._original = block._cached_op  # noqa: SLF001
            graph, self._places, self._shared = _trace(block, inputs, self.wanted)
            self._executor = _make_executor(block, graph, self._relay)
        if self._executor is None:
            return False
        self._missing = set(self._places)
        self._relay.receive = self._tell
        for number, array in enumerate(inputs):
            self._tell(_ARGUMENT.format(number), array)
        block._cached_op = self._executor  # noqa: SLF001
        return True

    def end(self) -> list[gluon.Block]:
        """Watch no longer; return the blocks of which not everything was told."""
        self._relay.receive = None
        if self._executor is not None and self.block._cached_op is self._executor:  # noqa: SLF001
            self.block._cached_op = self._original  # noqa: SLF001
        missing = [place.block for name in self._missing for place in self._places[name]]
        self._missing.clear()
        return list({id(block): block for block in missing}.values())

    def _tell(self, name: str, array: NDArray) -> None:
        if name in self._places and name not in self._shared:
            self._missing.discard(name)
            for place in self._places[name]:
                self._capture(place, array)


def _make_executor(block: gluon.HybridBlock, graph: mx.sym.Symbol, relay: _Relay) -> Any:
    """Make an executor for a graph of a block, one that tells of its nodes.

    It allocates memory at each call also where the block's own does once, as MXNet does not tell of all nodes then.

    Returns:
        None if the graph takes other inputs, or in another order, than the block's own.
    """
    is_data = [is_argument for is_argument, _ in block._cached_op_args]  # noqa: SLF001
    own, others = block._cached_graph[1].list_inputs(), graph.list_inputs()  # noqa: SLF001
    if len(own) != len(others):
        return None
    if any(left != right for left, right, is_argument in zip(own, others, is_data, strict=True) if not is_argument):
        return None
    flags = [
        ("data_indices", [at for at, is_argument in enumerate(is_data) if is_argument]),
        ("param_indices", [at for at, is_argument in enumerate(is_data) if not is_argument]),
        *((name, value) for name, value in block._flags if not name.startswith("static_")),  # noqa: SLF001
    ]
    executor = mx.nd.CachedOp(graph, flags)
    executor._register_op_hook(relay)  # noqa: SLF001
    _KEPT.append(executor._monitor_callback)  # noqa: SLF001
    return executor


def _trace(
    block: gluon.HybridBlock, inputs: tuple[NDArray, ...], wanted: Iterable[gluon.Block]
) -> tuple[mx.sym.Symbol, dict[str, list[Place]], set[str]]:
    """Return a block's graph, where in it the outputs of nodes are, and which names several nodes share."""
    places: dict[str, list[Place]] = collections.defaultdict(list)

    def note(part: gluon.Block, arguments: Any, outputs: Any) -> None:
        for kind, values in (("input", arguments), ("output", outputs)):
            for symbol in _symbols_in(values):
                places[_node(symbol.list_outputs()[0])].append(Place(part, kind))

    handles = [part.register_forward_hook(note) for part in wanted]
    try:
        outputs = block.forward(*(_argument(number, array) for number, array in enumerate(inputs)))
    finally:
        for handle in handles:
            handle.detach()
    ends = list(_symbols_in(outputs))
    graph = mx.sym.Group(ends, type(ends[0]))
    counts = collections.Counter(map(_node, graph.get_internals().list_outputs()))
    return graph, places, {name for name, count in counts.items() if count > 1}


def _argument(number: int, array: NDArray) -> mx.sym.Symbol:
    variable = mx.sym.var(_ARGUMENT.format(number))
    return variable.as_np_ndarray() if isinstance(array, mx.np.ndarray) else variable


def _symbols_in(values: Any) -> Iterator[mx.sym.Symbol]:
    """Yield the symbols in nested tuples and lists, one for each output."""
    if isinstance(values, mx.sym.Symbol):
        num_outputs = len(values.list_outputs())
        yield from [values] if num_outputs == 1 else [values[at] for at in range(num_outputs)]
    elif isinstance(values, (tuple, list)):
        for value in values:
            yield from _symbols_in(value)


def _node(output: str) -> str:
    """Return one spelling of a node's output, which graphs call ``conv0_output`` and running them ``conv0_0``."""
    match = _OUTPUT.fullmatch(output)
    return output if match is None else f"{match['node']}:{match['number'] or 0}"
