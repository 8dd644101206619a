"""Capture of inputs and outputs of blocks that MXNet runs as one graph, which skips the blocks' own hooks.

While a hybridised block runs, MXNet can report the outputs of the graph's nodes. Calling the block with symbols, as
MXNet does to build the graph, shows which of them are inputs and outputs of which block.
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
    """The role of a tensor: input or output of a block."""

    block: gluon.Block
    kind: str


class _Relay:
    """Callback for every output of a node, also in the backward pass, which may outlive the hook."""

    def __init__(self) -> None:
        self.receive: Callable[[str, NDArray], object] | None = None

    def __call__(self, output: bytes, _: bytes, handle: int) -> None:
        """Forward an output while a receiver is set."""
        array = NDArray(NDArrayHandle(handle), writable=False)  # always created, because it frees the handle
        if self.receive is not None:
            self.receive(_node(output.decode()), array)


_KEPT: Final[list[object]] = []
"""C callbacks that MXNet may call until the process ends."""


class GraphWatch:
    """Watches the calls of one hybridised block, each between `begin` and `end`.

    MXNet cannot remove a monitor callback. A second executor of the same graph therefore replaces the block's own one
    during the watched calls, and all other calls stay unchanged.

    Args:
        block: The outermost hybridised block.
        wanted: The inner blocks whose inputs and outputs are captured.
        offer: Called with the place of a tensor and the tensor, which must be copied before the call returns.
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
        """Watch the next call. The graph is built now instead of during the call.

        Returns:
            Whether the graph is supported: its inputs are single arrays, no back end has changed it, and it is static.
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
        """Stop watching; return the blocks with missing inputs or outputs."""
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
    """Return an executor for a graph of a block that reports its nodes.

    It allocates memory at each call even if the block's own executor allocates it once, because with static memory
    MXNet does not report all nodes.

    Returns:
        None if the inputs of the graph, or their order, differ from those of the block.
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
    """Return a block's graph, the places of the outputs of its nodes, and the names that several nodes share."""
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
    """Yield the symbols in nested tuples and lists, one per output."""
    if isinstance(values, mx.sym.Symbol):
        num_outputs = len(values.list_outputs())
        yield from [values] if num_outputs == 1 else [values[at] for at in range(num_outputs)]
    elif isinstance(values, (tuple, list)):
        for value in values:
            yield from _symbols_in(value)


def _node(output: str) -> str:
    """Return the canonical name of a node's output, ``conv0_output`` in graphs and ``conv0_0`` in callbacks."""
    match = _OUTPUT.fullmatch(output)
    return output if match is None else f"{match['node']}:{match['number'] or 0}"
