"""The record of a compiled Keras model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import attrs
import keras

from sagemaker_debug_ext.store.format.program import LayerRecord, LossRecord, OptimizerRecord, ProgramRecord

_LOSS_ARGUMENTS: Final = ("from_logits", "reduction", "label_smoothing", "delta", "ignore_class", "axis")
_LONGEST_TAIL: Final = 8
"""Number of layers before the output to look at."""


class BatchForm(NamedTuple):
    """A training batch as the model gets it.

    Args:
        inputs: Dtypes of its inputs; empty if unknown.
        labels: Dtypes of its labels; empty if unknown.
        is_weighted: Whether it has weights of samples, those of their classes included.
    """

    inputs: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    is_weighted: bool = False


UNKNOWN_FORM: Final = BatchForm()


@attrs.frozen
class LoopLoss:
    """A loss that a custom loop calls.

    Args:
        type: Name of its function; empty for one of the script.
        arguments: Its numbers, flags and names.
        number: Which output of the model it is computed of.
    """

    type: str
    arguments: dict[str, Any] = attrs.field(factory=dict)
    number: int = 0

    @classmethod
    def of_keras(cls, loss: Any) -> LoopLoss:
        """Return a loss of Keras."""
        return cls(_loss_type(loss), _loss_arguments(loss))


@attrs.frozen
class LoopCall:
    """How a custom loop calls a model.

    Args:
        trains: Whether it tells the model to train; None if unknown.
        loss: The loss of what the model returns; None if unknown.
        validates_in_training: Whether it tells the model to train also where it only computes a loss.
    """

    trains: bool | None
    loss: LoopLoss | None
    validates_in_training: bool = False


def dtypes_of(values: Iterable[Any]) -> tuple[str, ...]:
    """Return the names of the dtypes of tensors."""
    return tuple(keras.backend.standardize_dtype(value.dtype) for value in values)


def output_keys(model: Any) -> list[str]:
    """Return the names by which `compile` and `fit` know the outputs of a model, in their order; empty if unknown."""
    outputs = _outputs(model)
    return list(outputs if isinstance(outputs, Mapping) else getattr(model, "output_names", ()))


def _outputs(model: Any) -> Any:
    """Return the outputs of a model in the structure that it was made with; None for a subclass, or before `build`."""
    try:
        return model.output
    except (AttributeError, ValueError):
        return None


def keras_program(
    model: Any,
    names: dict[int, str],
    batch: BatchForm = UNKNOWN_FORM,
    loop: LoopCall | None = None,
    own_loss: LossRecord | None = None,
) -> ProgramRecord:
    """Return the record of a model.

    Args:
        model: The model, which may be built or compiled only in part.
        names: Names of its layers, by their `id`.
        batch: Form of a training batch.
        loop: How a custom loop calls the model; None where `fit` trains it.
        own_loss: What is known of a loss that the script computes itself, and that goes wrong; None if there is none.
    """
    layers = [layer for layer in getattr(model, "layers", ()) if not isinstance(layer, keras.layers.InputLayer)]
    tails = list(_tails(model, layers))
    unknown = [] if tails else ["tail: the layers before the output, because the model calls its layers in Python"]
    found = _losses(model, tails, names) if loop is None else _losses_of_loop(loop, tails, names)
    losses = _with_targets(tuple(found), batch.labels)
    if any(loss.type == "" for loss in losses):
        unknown.append("loss: the class of a loss, because it is a custom object")
    if own_loss is not None:
        losses += (own_loss,)
    optimizer = getattr(model, "optimizer", None)
    return ProgramRecord(
        framework="Keras",
        framework_version=keras.__version__,
        model=type(model).__name__,
        layers=tuple(_layer(layer, names, None if loop is None else loop.trains) for layer in _innermost(layers)),
        losses=losses,
        optimizers=(_optimizer(optimizer),) if isinstance(optimizer, keras.optimizers.Optimizer) else (),
        input_dtypes=batch.inputs,
        is_weighted=batch.is_weighted,
        validates_in_training=loop is not None and loop.validates_in_training,
        has_own_step=getattr(type(model), "train_step", None) is not keras.Model.train_step,
        unknown=tuple(unknown),
    )


def _innermost(layers: Iterable[Any]) -> Iterator[Any]:
    """Yield layers, and those of nested models in place of these models."""
    for layer in layers:
        if isinstance(layer, keras.Model):
            yield from _innermost(layer.layers)
        elif not isinstance(layer, keras.layers.InputLayer):
            yield layer


def _layer(layer: Any, names: dict[int, str], is_training: bool | None = None) -> LayerRecord:
    try:
        if isinstance(layer, keras.Model):
            output = layer.output
        else:  # without the property, whose message for a layer that is not built is slow
            (output,) = layer._inbound_nodes[0].output_tensors  # noqa: SLF001
        shape = output.shape
    except (AttributeError, IndexError, ValueError):  # not built, or it has several outputs
        shape = ()
    units = shape[-1] if shape else None
    return LayerRecord(
        name=names.get(id(layer), layer.name),
        type=type(layer).__name__,
        activation=_activation(layer),
        units=units if isinstance(units, int) else None,
        is_training=is_training,
        moving_share=_moving_share(layer),
    )


def _moving_share(layer: Any) -> float | None:
    """Return the fraction by which a step moves the averages of a batch normalisation; None if it moves none."""
    if isinstance(layer, keras.layers.Wrapper):  # such as TimeDistributed
        return _moving_share(layer.layer)
    if isinstance(layer, keras.layers.BatchNormalization) and layer.trainable:
        return 1 - float(layer.momentum)
    return None


def _activation(layer: Any) -> str | None:
    """Return the name of a layer's activation; ``linear`` where a layer with weights has none."""
    if isinstance(layer, keras.layers.Softmax):
        return "softmax"
    if isinstance(layer, keras.layers.ReLU):
        return "relu"
    function = getattr(layer, "activation", None)
    return getattr(function, "__name__", type(function).__name__) if function is not None else None


def _tails(model: Any, layers: list[Any]) -> Iterator[list[Any]]:
    """Yield the layers before each output, the last one first."""
    if isinstance(model, keras.Sequential):
        yield from [list(_back_to_weights(reversed(layers)))] if layers else ()
        return
    outputs = _outputs(model)
    # Keras sorts the outputs of a mapping by name where it flattens them, but hands them out in their own order.
    each = list(outputs.values()) if isinstance(outputs, Mapping) else outputs
    for output in [] if each is None else keras.tree.flatten(each):
        yield list(_back_to_weights(_operations_before(output)))


def _back_to_weights(layers: Any) -> Iterator[Any]:
    for _, layer in zip(range(_LONGEST_TAIL), layers, strict=False):
        yield layer
        if getattr(layer, "weights", None):
            return


def _operations_before(output: Any) -> Iterator[Any]:
    """Yield the operations of a functional model from an output back, as long as each has one input."""
    while output is not None:
        history: Any = getattr(output, "_keras_history", None)
        operation = getattr(history, "operation", None)
        if operation is None or isinstance(operation, keras.layers.InputLayer):
            return
        yield operation
        nodes = getattr(operation, "_inbound_nodes", ())
        inputs = nodes[history.node_index].input_tensors if history.node_index < len(nodes) else []
        output = inputs[0] if len(inputs) == 1 else None


def _losses(model: Any, tails: list[list[Any]], names: dict[int, str]) -> Iterator[LossRecord]:
    given = getattr(model, "loss", None)
    if given is None or type(given).__name__ == "method":
        return
    each = _losses_by_output(model, given)
    several = len(each) > 1
    for index, loss in enumerate(each):
        if loss is None:  # the output has none
            continue
        tail = tails[index if several else 0] if (index < len(tails) and (several or len(tails) == 1)) else []
        found = _loss_object(loss)
        yield LossRecord(
            name=f"predictions_{index}" if several else "predictions",
            type=_loss_type(found),
            arguments=_loss_arguments(found),
            tail=tuple(_layer(layer, names) for layer in tail),
        )


def _losses_by_output(model: Any, given: Any) -> list[Any]:
    """Return the losses that `compile` was given, one for each output in its order."""
    keys = output_keys(model) if isinstance(given, Mapping) else []
    if keys and given.keys() <= set(keys):
        return [given.get(key) for key in keys]
    return list(keras.tree.flatten(given)) if isinstance(given, (list, tuple, Mapping)) else [given]


def _losses_of_loop(loop: LoopCall, tails: list[list[Any]], names: dict[int, str]) -> Iterator[LossRecord]:
    """Yield the loss that a custom loop computes of an output of the model."""
    if loop.loss is not None:
        number = loop.loss.number
        layers = tuple(_layer(layer, names, loop.trains) for layer in (tails[number] if number < len(tails) else []))
        name = f"predictions_{number}" if len(tails) > 1 else "predictions"
        yield LossRecord(name=name, type=loop.loss.type, arguments=loop.loss.arguments, tail=layers)


def _with_targets(losses: tuple[LossRecord, ...], dtypes: tuple[str, ...]) -> tuple[LossRecord, ...]:
    """Return losses with the dtypes of their targets, unless it is unknown which target belongs to which loss."""
    if len(losses) != len(dtypes):
        return losses
    return tuple(attrs.evolve(loss, target_dtype=dtype) for loss, dtype in zip(losses, dtypes, strict=True))


def _loss_object(loss: Any) -> Any:
    if isinstance(loss, str):
        try:
            return keras.losses.get(loss)
        except ValueError:
            return loss
    return loss


def _loss_type(loss: Any) -> str:
    """Return the name of a loss of Keras in the form of its function; empty for losses of the script."""
    function = getattr(loss, "fn", loss)
    name = getattr(function, "__name__", "")
    return name if getattr(keras.losses, name, None) is function else ""


def _loss_arguments(loss: Any) -> dict[str, Any]:
    return {name: value for name in _LOSS_ARGUMENTS if _is_plain(value := _argument(loss, name))}


def _argument(loss: Any, name: str) -> Any:
    settings = getattr(loss, "_fn_kwargs", None) or {}
    return settings.get(name, getattr(loss, name, None))


def _is_plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float, str))


def _optimizer(optimizer: Any) -> OptimizerRecord:
    try:
        settings = optimizer.get_config()
    except (NotImplementedError, TypeError, ValueError):
        settings = {}
    return OptimizerRecord(
        type=type(optimizer).__name__, numbers={name: value for name, value in settings.items() if _is_plain(value)}
    )
