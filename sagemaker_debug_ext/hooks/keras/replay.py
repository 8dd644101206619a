"""Computation of the intermediate tensors of a step beside the graph that trains.

A tensor that a graph gives out is one that the optimizer of graphs must not fuse away, and another fusion rounds
differently. So the graph that trains stays as Keras makes it. The tensors are computed by a second graph, before the
step, from the same batch, variables and seeds. The second graph holds only operations that the tensors depend on. It
therefore has no updates, except where a tensor is computed after an update of the same step; variables that it changes
get their values back.
"""

from __future__ import annotations

import itertools
import random
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import keras
import numpy as np
import tensorflow as tf

from sagemaker_debug_ext.hooks.keras.backend import do_not_convert
from sagemaker_debug_ext.hooks.process.sigterm import wraps_training

wraps_training(__name__)

_READS: Final = frozenset({"Placeholder", "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape"})
"""Stateful operations that may run twice, because they modify nothing."""

_CALLS: Final = re.compile(r"^(Stateful|)PartitionedCall$|^(Stateless|)(While|If|Case)$|^Assert$|^TensorList")
"""Operations that are stateful only if the functions they call are."""

_CHANGES: Final = re.compile(r"Assign|^Resource(Sparse)?Apply|^ResourceScatter|^Rng|^Stateful(?!PartitionedCall)")
"""Operations that modify nothing but variables."""


class NotReplayableError(Exception):
    """A step has effects other than on variables, or draws random numbers that cannot be drawn again."""


class Batches:
    """The batches of one call of Keras' function, drawn before it, and the argument that gives them once more.

    Args:
        source: The argument of the call: an iterator, or a list of batches.
        number: Number of batches that one call runs.
    """

    def __init__(self, source: Any, number: int) -> None:
        self.argument: Any = source
        if isinstance(source, tf.data.Iterator):
            batches = list(itertools.islice(source, number))
            if batches:
                self.argument = _iterator_over(batches, source.element_spec)
        elif isinstance(source, (list, tuple)):
            batches = list(source)
        elif isinstance(source, Iterator):
            batches = list(itertools.islice(source, number))
            self.argument = iter(batches)
        else:  # a distributed iterator
            raise NotReplayableError("the model has replicas")
        self.first: Any = keras.tree.map_structure(_without_optional, batches[0]) if batches else None


class Replay:
    """Computes the recorded tensors of steps.

    Args:
        record: Runs a step on a batch, in a graph, and returns the tensors it recorded.
    """

    def __init__(self, record: Callable[[Any], Mapping[str, Any]]) -> None:
        self._record = record
        self._built: list[tuple[Any, Callable[..., dict[str, Any]]]] = []
        """Functions with the specification of the batches that each takes."""

    def __call__(self, data: Any) -> dict[str, Any]:
        """Return the tensors of a step on a batch.

        Raises:
            NotReplayableError: The step has effects other than on variables, or draws random numbers.
        """
        spec = tf.nest.map_structure(lambda value: _spec_of(value) if _is_dynamic(value) else value, data)
        alike = [(known, function) for known, function in self._built if _have_same_structure(known, spec)]
        for known, function in alike:
            if all(map(_accepts, tf.nest.flatten(known), tf.nest.flatten(spec))):
                return function(data)
        if alike:  # the shape varies, as that of the last batch, or of sentences
            spec = tf.nest.map_structure(_common, alike[-1][0], spec)
        function = self._build(spec)
        self._built.append((spec, function))
        return function(data)

    def _build(self, spec: Any) -> Callable[..., dict[str, Any]]:
        found: dict[str, Any] = {}

        @do_not_convert
        def trace(data: Any) -> None:
            found.clear()
            found.update({name: tf.identity(value) for name, value in self._record(data).items()})

        with _unnoticed():
            concrete = tf.function(trace, autograph=False).get_concrete_function(spec)
        if not found:
            return lambda _: {}
        part = _part_for(concrete.graph.as_graph_def(), [tensor.op.name for tensor in found.values()])
        changes = _changes(part, concrete.graph)
        names = [tensor.op.name for tensor in concrete.inputs]
        captured = concrete.captured_inputs
        num_given = len(names) - len(captured)
        wanted = [tensor.name for tensor in found.values()]
        present = {node.name for node in part.node}

        def run(values: Any) -> list[Any]:
            inputs = dict(zip(names, [*values, *captured], strict=True))
            # `tf.identity` makes the handles of variables tensors of this graph
            feeds = {f"{name}:0": tf.identity(value) for name, value in inputs.items() if name in present}
            outputs: list[Any] = tf.graph_util.import_graph_def(part, input_map=feeds, return_elements=wanted)
            return outputs

        specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in concrete.inputs[:num_given]]
        # made once, because TensorFlow warns of functions that are traced time and again
        graph = tf.function(run, autograph=False).get_concrete_function(specs)

        def replay(data: Any) -> dict[str, Any]:
            dynamic = [value for value in tf.nest.flatten(data) if _is_dynamic(value)]
            values = tf.nest.flatten([_as_tensor(value) for value in dynamic], expand_composites=True)
            if len(values) != num_given:
                raise NotReplayableError("a batch has parts that are no tensors")
            with _kept(concrete.variables if changes else ()):
                return dict(zip(found, graph(values), strict=True))

        return replay


def _iterator_over(batches: list[Any], element_spec: Any) -> Any:
    """Return an iterator over batches that Keras' function takes for the original one."""
    try:
        dataset = tf.data.Dataset.from_tensors(batches[0])
        relaxed = _with_spec(dataset, element_spec)
        for batch in batches[1:]:
            relaxed = relaxed.concatenate(_with_spec(tf.data.Dataset.from_tensors(batch), element_spec))
        return iter(relaxed)
    except (TypeError, ValueError, tf.errors.OpError):
        return iter(batches)  # the batches are drawn, so they have to be trained on


def _with_spec(dataset: Any, element_spec: Any) -> Any:
    return tf.data.experimental.from_variant(tf.data.experimental.to_variant(dataset), element_spec)


def _part_for(whole: Any, names: Iterable[str]) -> Any:
    """Return the part of a graph that some operations depend on."""
    nodes = {node.name: node for node in whole.node}
    needed: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            pending += [input_name.lstrip("^").partition(":")[0] for input_name in nodes[name].input]
    part = tf.compat.v1.GraphDef(versions=whole.versions, library=whole.library)
    part.node.extend(node for node in whole.node if node.name in needed)
    return part


def _changes(part: Any, graph: Any) -> bool:
    """Return whether a part of a graph modifies variables.

    Raises:
        NotReplayableError: It has other effects, or draws random numbers that cannot be drawn again.
    """
    functions = {function.signature.name: function for function in part.library.function}
    pending: list[Iterable[Any]] = [part.node]
    changes = False
    while pending:
        for node in pending.pop():
            called = [
                callee for value in node.attr.values() for callee in (value.func, *value.list.func) if callee.name
            ]
            pending += [functions.pop(callee.name).node_def for callee in called if callee.name in functions]
            if node.op in functions:
                pending.append(functions.pop(node.op).node_def)
            elif _is_stateful(node.op, graph):
                if not _CHANGES.search(node.op):
                    raise NotReplayableError(f"its graph has an operation of type {node.op}")
                changes = True
    return changes


def _is_stateful(kind: str, graph: Any) -> bool:
    if kind in _READS or _CALLS.search(kind):
        return False
    try:
        return bool(graph.op_def_for_type(kind).is_stateful)
    except (KeyError, ValueError, tf.errors.NotFoundError):  # the name of a function
        return False


@contextmanager
def _kept(variables: Iterable[Any]) -> Iterator[None]:
    """Restore the values of variables after the context."""
    values = [(variable, tf.identity(variable)) for variable in variables]
    try:
        yield
    finally:
        for variable, value in values:
            variable.assign(value)


@contextmanager
def _unnoticed() -> Iterator[None]:
    """Build a graph without effects on the script, whose own graph gives the same warnings.

    The random numbers of Python and NumPy are restored, because a layer may draw some while a graph is built.
    """
    state, numpy_state = random.getstate(), np.random.get_state()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(state)
        np.random.set_state(numpy_state)


def _is_dynamic(value: Any) -> bool:
    return isinstance(value, (tf.Tensor, np.ndarray, np.generic, tf.RaggedTensor, tf.SparseTensor, tf.TypeSpec))


def _have_same_structure(first: Any, second: Any) -> bool:
    """Return whether two specifications have tensors in the same places."""
    try:
        tf.nest.assert_same_structure(first, second)
    except (TypeError, ValueError):
        return False
    pairs = zip(tf.nest.flatten(first), tf.nest.flatten(second), strict=True)
    return all(isinstance(one, tf.TypeSpec) is isinstance(other, tf.TypeSpec) for one, other in pairs)


def _accepts(known: Any, given: Any) -> bool:
    """Return whether a function for a part of a batch takes another one; parts that are no tensors must be equal."""
    return bool(known.is_compatible_with(given) if isinstance(known, tf.TypeSpec) else known == given)


def _spec_of(value: Any) -> Any:
    return tf.type_spec_from_value(_as_tensor(value))


def _as_tensor(value: Any) -> Any:
    return tf.convert_to_tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value


def _common(earlier: Any, later: Any) -> Any:
    """Return the specification of both batches: sizes that differ are unknown."""
    if not isinstance(later, tf.TypeSpec):
        return later
    return earlier.most_specific_common_supertype([later]) or later


def _without_optional(value: Any) -> Any:
    return None if isinstance(value, tf.experimental.Optional) else value
