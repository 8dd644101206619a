"""Values that the traced functions of a script get, of which a model takes its inputs and a loss its labels.

While a function is traced, a model sees a placeholder. The arguments of the call that runs the graph have its value, so
that nothing is added to the graph, which rounds as ever. From the second call on, what the model gives for it is
computed apart, before the graph changes the model.
"""

from __future__ import annotations

import functools
import inspect
import logging
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import NoneType
from typing import Any, Final

import attrs
import numpy as np
import tensorflow as tf

from sagemaker_debug_ext.hooks.fail_safe import never_into_script
from sagemaker_debug_ext.hooks.process.sigterm import wraps_training

LOG = logging.getLogger(__name__)

wraps_training(__name__)

ARRAYS: Final = (np.ndarray, np.generic, tf.Variable)
"""Values other than tensors that a graph gets as tensors."""
SAME_VALUES: Final = ("Identity", "Cast")
"""Operations whose result has the values of what goes in, rounded at most."""


PLAIN: Final = (bool, int, float, str, bytes, NoneType)
"""Values that are the same if they are equal."""
MOST_GRAPHS: Final = 32
"""Number of graphs of a function that are known."""

Computed = Callable[[], Mapping[str, Any] | None]
"""Gives tensors once a function has run; None if they do not belong to a single step."""
Computation = Callable[[Callable[[], Any]], Computed]
"""Computes tensors from the inputs of a function that is about to run, which its argument returns."""


@attrs.frozen
class _Argument:
    """An argument of a traced function, as the number of its tensor among all of them."""

    number: int


@attrs.frozen
class _Call:
    """A call of a traced function from eager code.

    Args:
        function: The function.
        args: Its arguments.
        kwargs: Its arguments that have names.
    """

    function: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def values(self) -> list[Any]:
        """Return the arguments without their structure, in the order of the parameters."""
        given: Iterable[Any] = self.args
        if self.kwargs:
            bound = inspect.signature(self.function.python_function).bind(*self.args, **self.kwargs)
            given = bound.arguments.values()
        return list(tf.nest.flatten(list(given), expand_composites=True))

    def tensors(self) -> list[Any]:
        """Return the tensors among the arguments, as the graph gets them."""
        return list(filter(_is_tensor, self.values()))

    def signature(self) -> tuple[Any, ...]:
        """Return what tells calls of different graphs apart: the arguments that are no tensors."""
        return tuple(None if _is_tensor(value) else _identity(value) for value in self.values())

    def value_of(self, source: Any) -> Any:
        """Return the value of a source of this call."""
        return self.tensors()[source.number] if isinstance(source, _Argument) else source


def _is_tensor(value: Any) -> bool:
    """Return whether a graph gets a value as a tensor."""
    return tf.is_tensor(value) or isinstance(value, ARRAYS)


def _identity(value: Any) -> tuple[type, Any]:
    """Return what tells a value apart from others: itself if it is plain, or its address."""
    return type(value), value if isinstance(value, PLAIN) else id(value)


@attrs.define(eq=False)
class _Traced:
    """What the graph of a function does with its arguments.

    Args:
        sources: Role → the argument that plays it, or its value.
        computation: Computes more from the inputs; None if that is unknown.
    """

    sources: dict[str, Any] = attrs.field(factory=dict)
    computation: Computation | None = None


class TracedArguments:
    """Keeps what the graphs of each function do with its arguments, and tells the values whenever one has run.

    Args:
        tell: Called with the value of each role after a function has run from eager code.
        is_eager: Returns whether operations run at once.
    """

    def __init__(self, tell: Callable[[Mapping[str, Any]], None], is_eager: Callable[[], bool]) -> None:
        self._tell = tell
        self._is_eager = is_eager
        self._graphs: weakref.WeakKeyDictionary[Any, dict[tuple[Any, ...], _Traced]] = weakref.WeakKeyDictionary()
        self._running: tuple[_Call, _Traced] | None = None

    def wrap_call(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of the call of a traced function; those within another one are left alone."""

        @functools.wraps(call)
        def called(function: Any, *args: Any, **kwargs: Any) -> Any:
            if self._running is not None or not self._is_eager():
                return call(function, *args, **kwargs)
            running = _Call(function, args, kwargs)
            traced, computed = self._prepare(running)
            self._running = running, traced
            try:
                result = call(function, *args, **kwargs)
            finally:
                self._running = None
            if traced.sources:
                with never_into_script(_not_told):
                    self._tell_of(running, traced, computed)
            return result

        return called

    def _prepare(self, running: _Call) -> tuple[_Traced, Computed]:
        """Return what is known of the graph of a call, and what gives the values that follow from its inputs."""
        traced = _Traced()
        with never_into_script(_not_told):
            graphs = self._graphs.setdefault(running.function, {})
            if len(graphs) > MOST_GRAPHS:  # of a function that gets other numbers all the time
                graphs.clear()
            traced = graphs.setdefault(running.signature(), traced)
            if traced.computation is not None:
                return traced, traced.computation(functools.partial(running.value_of, traced.sources["inputs"]))
        return traced, dict

    def _tell_of(self, running: _Call, traced: _Traced, computed: Computed) -> None:
        values = {role: running.value_of(source) for role, source in traced.sources.items()}
        more = computed()
        if more is None:  # each call of the function is several steps, or none
            traced.computation = None
        self._tell({**values, **(more or {})})

    def note_computation(self, computation: Computation) -> None:
        """Note how to compute more from the inputs of the function that is being traced, which `note` has noted."""
        if self._running is not None:
            self._running[1].computation = computation

    def note(self, role: str, tensor: Any) -> bool:
        """Note that a tensor of the function that is being traced plays a role.

        Args:
            role: The name under which its value is told.
            tensor: The tensor.

        Returns:
            Whether its value can be told: it is an argument, or known by now.
        """
        if self._running is None:
            return False
        running, traced = self._running
        traced.sources.pop(role, None)
        if role == "inputs":
            traced.computation = None
        source = _source_of(tensor, running.tensors())
        if source is not None:
            traced.sources[role] = source
        return source is not None


def _source_of(tensor: Any, arguments: list[Any]) -> Any:
    """Return which argument a tensor of a graph is, or its value if it is always the same; None if neither is known."""
    if not isinstance(tensor, tf.Tensor):
        return tensor if isinstance(tensor, np.ndarray) else None
    if hasattr(tensor, "numpy"):
        return tensor
    while tensor.op.type in SAME_VALUES:
        if tensor.dtype.is_integer and not tensor.op.inputs[0].dtype.is_integer:  # it cuts fractions
            return None
        tensor = tensor.op.inputs[0]
    graph = tensor.graph
    if graph.outer_graph.building_function:  # a loop or a function within the traced one
        return None
    if tensor.op.type == "Const":
        return tf.get_static_value(tensor)
    captured = next((value for value, inner in graph.captures if inner is tensor), None)
    return captured if hasattr(captured, "numpy") else _argument_of(tensor, graph, arguments)


def _argument_of(tensor: Any, graph: Any, arguments: list[Any]) -> _Argument | None:
    if len(graph.inputs) - len(graph.captures) != len(arguments):
        return None
    number = next((number for number, given in enumerate(graph.inputs[: len(arguments)]) if given is tensor), None)
    return None if number is None or isinstance(arguments[number], tf.Variable) else _Argument(number)


def _not_told(error: Exception) -> None:
    LOG.warning("arguments of a tf.function are not saved: %r", error)


def install(arguments: TracedArguments) -> None:
    """Watch the calls of traced functions."""
    kind: Any = type(tf.function(lambda: None))
    kind.__call__ = arguments.wrap_call(kind.__call__)
