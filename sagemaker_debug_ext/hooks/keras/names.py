"""Names of the tensors of Keras models (listed in `docs/capturing-tensorflow.md`)."""

from __future__ import annotations

import contextlib
import dis
import re
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import keras
import numpy as np

from sagemaker_debug_ext.hooks.keras.backend import VARIABLE, is_variable

_AUTOMATIC: Final = re.compile(r"^(sequential|functional)(_\d+)?/")
"""Automatic names of Keras models without a class of their own, which are removed from tensor names."""

_HYPERPARAMETERS: Final = ("beta_1", "beta_2", "rho", "momentum")
"""Numbers of optimizers that were variables before Keras 3 and are still captured."""

_OWN_ATTRIBUTES: Final = frozenset(vars(keras.layers.Layer(name="any")))
"""Attributes that every layer has. Without a name, the layer would take one that Keras would give to another."""

_RENAMED: Final = {"iteration": "iter"}


class NamedVariable(NamedTuple):
    """A variable of a model.

    Args:
        layer: Name of the layer it belongs to.
        path: Name of the variable, such as ``dense/kernel``.
        variable: The variable.
    """

    layer: str
    path: str
    variable: Any


def variable_path(variable: Any) -> str:
    """Return the name of a variable without an automatic model name."""
    path = variable.path if isinstance(variable, VARIABLE) else variable.name.partition(":")[0]
    return _AUTOMATIC.sub("", path)


class PathNumbers:
    """Numbers variables of the script itself that share a name, as all do that it gives none."""

    def __init__(self) -> None:
        self._known: dict[str, list[weakref.ref[Any]]] = {}

    def path_of(self, variable: Any) -> str:
        """Return the name of a variable; that of a second one of the same name ends in ``_1``."""
        path = variable_path(variable)
        if isinstance(variable, VARIABLE):
            return path
        known = self._known.setdefault(path, [])
        number = next((number for number, other in enumerate(known) if other() is variable), None)
        if number is None:
            number = next((number for number, other in enumerate(known) if other() is None), len(known))
            known[number : number + 1] = [weakref.ref(variable)]
        return f"{path}_{number}" if number else path


def layers_of(model: Any) -> list[tuple[str, Any]]:
    """Return all layers with their names: own names in nested models, paths for layers inside layers."""
    found: dict[int, tuple[str, Any]] = {}
    taken: set[str] = set()

    def visit(parent: Any, prefix: str) -> None:
        for layer in _children(parent):
            if id(layer) in found:
                continue
            found[id(layer)] = (_make_unique(prefix + layer.name, taken), layer)
            visit(layer, "" if isinstance(layer, keras.Model) else f"{found[id(layer)][0]}/")

    visit(model, "")
    return list(found.values())


def variables_of(model: Any) -> list[NamedVariable]:
    """Return all variables of a model once, by layer; those of layers inside a layer belong to the outer one.

    With them are the variables that layers keep where Keras does not find them, and that `fit` therefore never trains.
    """
    found: dict[int, NamedVariable] = {}
    taken: set[str] = set()
    owners = [(name, layer) for name, layer in layers_of(model) if not isinstance(layer, keras.Model)]
    owners.append((model.name, model))
    tracked = {id(variable) for _, owner in owners for variable in owner.variables}
    for layer, owner in owners:
        others = [variable for variable in _untracked_variables(owner) if id(variable) not in tracked]
        for variable in [*owner.variables, *others]:
            if id(variable) not in found:
                path = _make_unique(variable_path(variable), taken)
                found[id(variable)] = NamedVariable(layer.partition("/")[0], path, variable)
    return list(found.values())


def _untracked_variables(layer: Any) -> Iterator[Any]:
    """Yield the trainable variables in attributes of a layer that Keras may not track.

    These are variables of TensorFlow, and those that functions use, such as the function of a `Lambda` layer. Functions
    of models, such as losses, are no part of the forward pass.
    """
    for name, value in list(vars(layer).items()):
        if name not in _OWN_ATTRIBUTES:
            yield from (found for found in _variables_in(value) if found.trainable)
            if not isinstance(layer, keras.Model):
                for function in _functions_in(value):
                    yield from (found for found in _variables_of_function(function) if found.trainable)


def _variables_in(value: Any) -> Iterator[Any]:
    """Yield the variables of TensorFlow in a value, or in the lists, tuples and mappings that it consists of."""
    if is_variable(value):
        if not isinstance(value, VARIABLE):
            yield value
    else:
        for part in _parts_of(value):
            yield from _variables_in(part)


def _functions_in(value: Any) -> Iterator[types.FunctionType]:
    """Yield a function, or the functions in lists, tuples and mappings."""
    if isinstance(value, types.FunctionType):
        yield value
    else:
        for part in _parts_of(value):
            yield from _functions_in(part)


def _parts_of(value: Any) -> Iterable[Any]:
    return list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()


def _variables_of_function(function: types.FunctionType) -> Iterator[Any]:
    """Yield the variables that a function uses, and those of layers that it uses without a model that trains them.

    Nothing is yielded of functions that stop gradients, because what they use is fixed on purpose.
    """
    code = function.__code__
    if "stop_gradient" in code.co_names:
        return
    for value in _used_values(function):
        if is_variable(value):
            yield value
        elif isinstance(value, keras.layers.Layer) and not isinstance(value, keras.Model):
            is_in_model = bool(getattr(value, "_inbound_nodes", ()))
            yield from () if is_in_model else value.variables


def _used_values(function: types.FunctionType) -> Iterator[Any]:
    """Yield the values of the variables around a function that it uses, as far as they have any."""
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # nothing has been assigned yet
            yield cell.cell_contents
    for instruction in dis.get_instructions(function):
        if instruction.opname == "LOAD_GLOBAL" and instruction.argval in function.__globals__:
            yield function.__globals__[instruction.argval]


def optimizers_of(model: Any) -> list[Any]:
    """Return the optimizers of a model: the compiled one, and those in attributes."""
    candidates = [getattr(model, "optimizer", None)]
    for value in list(vars(model).values()):
        candidates += value if isinstance(value, (list, tuple)) else [value]
    found = {id(value): value for value in candidates if isinstance(value, keras.optimizers.Optimizer)}
    return list(found.values())


def optimizer_values(
    optimizers: Iterable[Any], variables: Iterable[Any], path_of: Callable[[Any], str]
) -> Iterator[tuple[str, Any]]:
    """Yield variables and numbers of optimizers with their names, such as ``Adam/dense/kernel/momentum:0``.

    Args:
        optimizers: The optimizers.
        variables: The trained variables.
        path_of: Function that returns the name of such a variable.
    """
    slugs = {
        variable.path.replace("/", "_"): path_of(variable) for variable in variables if isinstance(variable, VARIABLE)
    }
    taken: set[str] = set()
    for optimizer in [
        found for outer in optimizers for found in (outer, getattr(outer, "inner_optimizer", None)) if found
    ]:
        prefix = _make_unique(type(optimizer).__name__, taken)
        own = {id(variable) for variable in getattr(getattr(optimizer, "inner_optimizer", None), "variables", ())}
        names = set()
        for variable in optimizer.variables:
            if id(variable) not in own:
                name = _slot_name(variable.path.rpartition("/")[2], slugs)
                names.add(name)
                yield f"{prefix}/{name}:0", variable
        if "learning_rate" not in names and not own:
            yield f"{prefix}/learning_rate:0", optimizer.learning_rate
        for name in _HYPERPARAMETERS:
            number = getattr(optimizer, name, None)
            if isinstance(number, float):
                yield f"{prefix}/{name}:0", np.float32(number)


def _slot_name(path: str, slugs: dict[str, str]) -> str:
    fitting = [slug for slug in slugs if path.startswith(f"{slug}_")]
    if not fitting:
        return _RENAMED.get(path, path)
    slug = max(fitting, key=len)
    return f"{slugs[slug]}/{path[len(slug) + 1 :]}"


def _children(parent: Any) -> Iterable[Any]:
    # there is no public way to the layers within a layer
    children: list[Any] = parent.layers if isinstance(parent, keras.Model) else parent._layers  # noqa: SLF001
    return children


def _make_unique(name: str, taken: set[str]) -> str:
    unique, number = name, 0
    while unique in taken:
        number += 1
        unique = f"{name}_{number}"
    taken.add(unique)
    return unique


def is_bias(path: str) -> bool:
    """Return whether a variable is a bias, by the last part of its name."""
    return "bias" in path.rpartition("/")[2]
