"""The record of PyTorch models, losses and optimizers."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim.optimizer import Optimizer
from torch.utils.data import DataLoader, default_collate

from sagemaker_debug_ext.hooks.program.autograd import NearOperations, tail_of
from sagemaker_debug_ext.hooks.program.own_losses import pooled_shape, spread_shape
from sagemaker_debug_ext.store.format.program import LayerRecord, LossRecord, OptimizerRecord, ProgramRecord

_MOST_NUMBERS: Final = 100
"""Length of a tensor, such as the weights of classes, up to which its numbers are recorded."""
_MOST_OPTIMIZERS: Final = 100
"""Number of different optimizers that are recorded, because a script may make one for each update."""
_SIZES: Final = ("out_features", "out_channels", "embedding_dim")
"""Attributes of modules that give the size of their output's last axis."""
_OWN_LOSS: Final = "loss"
"""Name of a loss that is no module and no known function, as in ``loss_output_0``."""


class LoadedData(NamedTuple):
    """What a loader yields, as in `ProgramRecord`."""

    num_samples: int | None = None
    num_workers: int | None = None
    batch_size: int | None = None


def loaded_data(loader: DataLoader[Any]) -> LoadedData:
    """Return what a loader yields. Functions other than the usual one may put samples along any axis of a batch."""
    size = getattr(loader.dataset, "__len__", None)
    has_samples_first = loader.collate_fn is default_collate
    return LoadedData(
        None if size is None else size(), loader.num_workers, loader.batch_size if has_samples_first else None
    )


class TorchProgram:
    """What a hook has learnt of the program so far: losses that were called, optimizers that updated, inputs, data.

    Each method whose name begins with ``note`` returns whether it learnt something, so that the record has changed.
    """

    def __init__(self) -> None:
        self._model: str | None = None
        self._layers: tuple[LayerRecord, ...] = ()
        self._registered: dict[str, LossRecord] = {}
        self._losses: dict[str, LossRecord] = {}
        self._optimizers: list[OptimizerRecord] = []
        self._held: weakref.WeakKeyDictionary[Optimizer, tuple[int, int]] = weakref.WeakKeyDictionary()
        self._noted: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._input_dtypes: tuple[str, ...] = ()
        self._models: dict[int, str] = {}
        self._is_fed: dict[int, bool] = {}
        self._data = LoadedData()
        self._made_anew: tuple[tuple[int, ...], ...] = ()

    def knows_loss(self, name: str) -> bool:
        """Return whether the inputs of a loss have been seen."""
        return name in self._losses

    def note_loss(self, name: str, kind: str, arguments: Mapping[str, Any], inputs: Iterable[Any]) -> bool:
        """Note a loss with the inputs of a call that has gradients.

        Args:
            name: Its name, as in names of tensors.
            kind: Name of its class.
            arguments: Its numbers, flags and names.
            inputs: The inputs, predictions first.
        """
        tensors = [value for value in inputs if isinstance(value, Tensor)]
        if self.knows_loss(name) or not tensors or not tensors[0].requires_grad:
            return False
        near = NearOperations.before(tensors[0])
        self._losses[name] = LossRecord(
            name=name,
            type=kind,
            arguments={key: plain for key, value in arguments.items() if (plain := _plain(value)) is not None},
            tail=tail_of(tensors[0]),
            target_dtype=_dtype(tensors[1]) if len(tensors) > 1 else None,
            softmaxes=near.softmaxes(),
            reshapes=near.mixing_reshapes(),
        )
        return True

    def note_own_loss(self, loss: Tensor, answers: tuple[int, ...]) -> bool:
        """Note what goes wrong in a loss that the script computes itself, or before it.

        Targets may spread answers, all samples may be joined before they are compared, or a reshape may take axes for
        others.

        Args:
            loss: The loss.
            answers: Shape of the output of the last forward pass.
        """
        record = LossRecord(
            name=_OWN_LOSS,
            type="",
            spread_shape=spread_shape(loss, answers),
            pooled_shape=pooled_shape(loss),
            reshapes=NearOperations.before(loss).mixing_reshapes(),
        )
        if record == LossRecord(name=_OWN_LOSS, type="") or self.knows_loss(_OWN_LOSS):
            return False
        self._losses[_OWN_LOSS] = record
        return True

    def note_optimizer(
        self,
        optimizer: Optimizer,
        num_models: int = 0,
        parameters: Callable[[], Iterable[tuple[str, nn.Parameter]]] = tuple,
    ) -> bool:
        """Note an optimizer that makes an update, unless one with the same numbers and parameters is known.

        Of several groups, the numbers of the first count.

        Args:
            optimizer: The optimizer.
            num_models: Number of models that are known.
            parameters: Returns the parameters of these models with their names.
        """
        groups: list[dict[str, Any]] = optimizer.param_groups
        sizes = sum(len(group["params"]) for group in groups), num_models
        if self._held.get(optimizer) == sizes:
            return False
        self._held[optimizer] = sizes
        trained = [parameter for group in groups for parameter in group["params"] if parameter.requires_grad]
        held = set(map(id, trained))
        numbers = {name: value for name, value in groups[0].items() if name != "params"} if groups else {}
        record = OptimizerRecord(
            type=type(optimizer).__name__,
            numbers={
                name: list(value) if isinstance(value, tuple) else value
                for name, value in numbers.items()
                if _is_plain(value) or isinstance(value, tuple)
            },
            parameters=tuple(dict.fromkeys(name for name, parameter in parameters() if id(parameter) in held)),
            has_gradients=any(parameter.grad is not None for parameter in trained),
        )
        if record in self._optimizers or len(self._optimizers) >= _MOST_OPTIMIZERS:
            return False
        self._optimizers.append(record)
        return True

    def note_made_anew(self, shapes: tuple[tuple[int, ...], ...]) -> bool:
        """Note the shapes of the parameters of a layer that each forward pass makes anew."""
        has_news = bool(shapes) and not self._made_anew
        self._made_anew = self._made_anew or shapes
        return has_news

    def _knows(self, value: Any) -> bool:
        """Return whether an object was seen before; one that has the id of a dead one was not."""
        if self._noted.get(id(value)) is value:
            return True
        self._noted[id(value)] = value
        return False

    def note_inputs(self, model: nn.Module, inputs: Iterable[Any]) -> bool:
        """Note the inputs of a model: their dtypes, and whether another model makes them."""
        if self._knows(model):
            return False
        tensors = [value for value in inputs if isinstance(value, Tensor)]
        is_fed = any(tensor.grad_fn is not None for tensor in tensors)
        has_news = is_fed or not self._input_dtypes
        self._is_fed[id(model)] = is_fed
        self._input_dtypes = self._input_dtypes or tuple(map(_dtype, tensors))
        return has_news

    def note_data(self, data: LoadedData) -> None:
        """Note what a loader yields."""
        self._data = data

    def note_modules(
        self, models: Iterable[tuple[str, Iterable[tuple[str, nn.Module]]]], losses: Iterable[tuple[str, nn.Module]]
    ) -> None:
        """Note the registered modules as they are.

        Args:
            models: Each model's class with its modules and their names.
            losses: The losses with their names.
        """
        known = [(name, list(modules)) for name, modules in models]
        self._model = known[0][0] if known else None
        self._models = {id(module): name for name, modules in known for _, module in modules[:1]}
        self._layers = tuple(_layer(name, module) for _, modules in known for name, module in modules)
        self._registered = {
            name: LossRecord(name=name, type=type(loss).__name__, arguments=loss_arguments(loss))
            for name, loss in losses
        }

    def record(self) -> ProgramRecord:
        """Return the record as far as it is known by now."""
        found = {**self._registered, **self._losses}
        return ProgramRecord(
            framework="PyTorch",
            framework_version=torch.__version__,
            model=self._model,
            layers=self._layers,
            losses=tuple(found.values()),
            optimizers=tuple(self._optimizers),
            input_dtypes=self._input_dtypes,
            fed_models=tuple(name for model, name in self._models.items() if self._is_fed.get(model)),
            made_anew=self._made_anew,
            **self._data._asdict(),
            unknown=tuple(
                f"losses.{name}.tail: the operations before the loss, because no call of it with gradients was seen"
                for name in found
                if name not in self._losses
            ),
        )


def _layer(name: str, module: nn.Module) -> LayerRecord:
    settings = vars(module)  # because a failing look-up on a module formats an error, which takes most of the time
    sizes = [settings[size] for size in _SIZES if size in settings]
    units = sizes[0] if sizes else None
    batch_first, activation = settings.get("batch_first"), settings.get("nonlinearity")
    return LayerRecord(
        name=name,
        type=type(module).__name__,
        activation=activation if isinstance(activation, str) else None,
        units=units if isinstance(units, int) else None,
        is_training=module.training,
        batch_axis=int(not batch_first) if isinstance(batch_first, bool) else None,
        moving_share=_moving_share(module),
    )


def _moving_share(module: nn.Module) -> float | None:
    """Return the fraction by which a step moves the averages of a batch normalisation; None if it moves none."""
    if not isinstance(module, nn.modules.batchnorm._BatchNorm):  # noqa: SLF001 - the base of all of them
        return None
    return module.momentum if module.training and module.track_running_stats else None


def loss_arguments(loss: nn.Module) -> dict[str, Any]:
    """Return the numbers, flags, names and weights of classes that a loss was made with."""
    given = {**vars(loss), **dict(loss.named_buffers(recurse=False))}
    return {
        name: plain
        for name, value in given.items()
        if not name.startswith("_") and name != "training" and (plain := _plain(value)) is not None
    }


def _plain(value: Any) -> Any:
    """Return a number, flag or name as it is, and a few numbers as a list; None for anything else."""
    if isinstance(value, Tensor) and value.ndim < 2 and 0 < value.numel() <= _MOST_NUMBERS:
        return value.tolist()
    return value if _is_plain(value) or isinstance(value, list) else None


def _is_plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float, str))


def _dtype(value: Tensor) -> str:
    return str(value.dtype).removeprefix("torch.")
