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


Computation = Callable[[Callable[[], Any]], Callable[[], Mapping[str, Any]]]
"""Gets what returns the inputs of a function that is about to run; what it returns gives tensors once that has run."""


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

    def tensors(self) -> list[Any]:
        """Return the tensors among the arguments, in the order of the parameters, as the graph gets them."""
        given: Iterable[Any] = self.args
        if self.kwargs:
            bound = inspect.signature(self.function.python_function).bind(*self.args, **self.kwargs)
            given = bound.arguments.values()
        flat = tf.nest.flatten(list(given), expand_composites=True)
        return [value for value in flat if tf.is_tensor(value) or isinstance(value, ARRAYS)]

    def value_of(self, source: Any) -> Any:
        """Return the value of a source of this call."""
        return self.tensors()[source.number] if isinstance(source, _Argument) else source


class TracedArguments:
    """Keeps what the graph of each function does with its arguments, and tells the values whenever one has run.

    Args:
        tell: Called with the value of each role after a function has run from eager code.
        is_eager: Returns whether operations run at once.
    """

    def __init__(self, tell: Callable[[Mapping[str, Any]], None], is_eager: Callable[[], bool]) -> None:
        self._tell = tell
        self._is_eager = is_eager
        self._sources: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()
        self._computations: weakref.WeakKeyDictionary[Any, Computation] = weakref.WeakKeyDictionary()
        self._running: _Call | None = None

    def wrap_call(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of the call of a traced function; those within another one are left alone."""

        @functools.wraps(call)
        def called(function: Any, *args: Any, **kwargs: Any) -> Any:
            if self._running is not None or not self._is_eager():
                return call(function, *args, **kwargs)
            running = _Call(function, args, kwargs)
            computed = self._compute(running)
            self._running = running
            try:
                result = call(function, *args, **kwargs)
            finally:
                self._running = None
            sources = self._sources.get(function)
            if sources:
                with never_into_script(_not_told):
                    values = {role: running.value_of(source) for role, source in sources.items()}
                    self._tell({**values, **computed()})
            return result

        return called

    def _compute(self, running: _Call) -> Callable[[], Mapping[str, Any]]:
        """Compute what is known to follow from the inputs of a call; return what gives it once the call has run."""
        computation = self._computations.get(running.function)
        if computation is not None:
            with never_into_script(_not_told):
                return computation(functools.partial(running.value_of, self._sources[running.function]["inputs"]))
        return dict

    def note_computation(self, computation: Computation) -> None:
        """Note how to compute more from the inputs of the function that is being traced, which `note` has noted."""
        if self._running is not None:
            self._computations[self._running.function] = computation

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
        sources = self._sources.setdefault(self._running.function, {})
        sources.pop(role, None)
        if role == "inputs":
            self._computations.pop(self._running.function, None)
        source = _source_of(tensor, self._running.tensors())
        if source is not None:
            sources[role] = source
        return source is not None


def _source_of(tensor: Any, arguments: list[Any]) -> Any:
    """Return which argument a tensor of a graph is, or its value if it is always the same; None if neither is known."""
    if not isinstance(tensor, tf.Tensor):
        return tensor if isinstance(tensor, np.ndarray) else None
    if hasattr(tensor, "numpy"):
        return tensor
    while tensor.op.type in SAME_VALUES:
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
