"""Program records: the model, losses and optimizers of a worker as they were built.

A record is a JSON object beside the collections file, under a prefix of its own, which `smdebug` does not read. It
holds what tensors do not tell: class and arguments of a loss, the activation of the last layer, the type of each layer.
What the hook could not find out is missing or None. ``program.schema.json`` beside this module is the JSON Schema.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext._json import JSONObject
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.store.backends.base import Backend
from sagemaker_debug_ext.store.format.keys import PROGRAM_PREFIX

VERSION: Final = 1
"""Version of the form of records; readers ignore fields they do not know."""


MOST_SHARES: Final = 20
"""Number of classes of which a report has the shares."""


@attrs.frozen(kw_only=True)
class LayerRecord:
    """A layer.

    Args:
        name: Its name, as in names of tensors.
        type: Name of its class.
        activation: Name of its activation; None if it has none, or an unknown one.
        units: Size of the last axis of its output; None if unknown.
        is_training: Whether it was in training mode; None if that is decided at each call.
        batch_axis: The axis of its inputs that it takes for the samples, of a recurrent or attention layer of PyTorch;
            None for other layers.
        moving_share: Fraction by which each training step moves the averages of a batch normalisation to those of its
            batch; None for other layers, and for averages that do not move or are over all steps.
    """

    name: str
    type: str
    activation: str | None = None
    units: int | None = None
    is_training: bool | None = None
    batch_axis: int | None = None
    moving_share: float | None = None


@attrs.frozen(kw_only=True)
class SoftmaxRecord:
    """A softmax, as of an attention.

    Args:
        axis: The axis along which it adds up to 1; not negative.
        shape: Shape of what it makes.
    """

    axis: int
    shape: tuple[int, ...]


@attrs.frozen(kw_only=True)
class ReshapeRecord:
    """A reshape that takes axes for others: its shape has them in another order, and its numbers stay in theirs.

    Args:
        before: Shape of what is reshaped.
        after: Shape of what it makes.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]


@attrs.frozen(kw_only=True)
class LossRecord:
    """A loss.

    Args:
        name: Its name, as in names of tensors.
        type: Name of its class or function.
        arguments: Its numbers, flags and names, such as ``from_logits``, ``reduction`` and the ``weight`` of classes.
        tail: The layers that make its predictions, the last one first, back to the first with weights.
        target_dtype: Dtype of its targets; None if unknown.
        spread_shape: Shape of what it averages, if its targets have spread the predictions, as those of shape (N,)
            spread predictions of shape (N, 1) to (N, N); empty otherwise, and if unknown. A length is -1 in a graph
            for batches of any size.
        pooled_shape: Shape of the targets of all samples that it compares with one sum of picked answers over all of
            them; empty if there are none, and if unknown.
        softmaxes: The softmaxes between its predictions and the inputs of PyTorch models, the last one first.
        reshapes: The reshapes there that take axes for others, the last one first.
    """

    name: str
    type: str
    arguments: Mapping[str, Any] = attrs.field(factory=dict)
    tail: tuple[LayerRecord, ...] = ()
    target_dtype: str | None = None
    spread_shape: tuple[int, ...] = ()
    pooled_shape: tuple[int, ...] = ()
    softmaxes: tuple[SoftmaxRecord, ...] = ()
    reshapes: tuple[ReshapeRecord, ...] = ()


@attrs.frozen(kw_only=True)
class OptimizerRecord:
    """An optimizer.

    Args:
        type: Name of its class.
        numbers: Its numbers and flags, such as ``learning_rate``.
        parameters: The parameters that it has to train, by the names of their tensors; empty if unknown.
        has_gradients: Whether any of these had a gradient before its first update; None if unknown.
    """

    type: str
    numbers: Mapping[str, Any] = attrs.field(factory=dict)
    parameters: tuple[str, ...] = ()
    has_gradients: bool | None = None


@attrs.frozen(kw_only=True)
class ReportRecord:
    """How well classes that were predicted agree with labels.

    Args:
        function: Name of the function that compared them.
        num_samples: Number of predictions.
        num_right: Number of predictions that equal their labels.
        num_expected: Number that would by chance, if predictions had the same shares of classes in another order.
        num_moved: Number of predictions that would have to be of another class to have the shares of the labels.
        deviation: Standard deviation of the number that is right by chance.
        shares: Shares of the predicted classes among the predictions, the largest first, of 20 classes at most.
    """

    function: str
    num_samples: int
    num_right: int
    num_expected: float
    num_moved: int
    deviation: float
    shares: tuple[float, ...]

    @classmethod
    def of(cls, function: str, labels: npt.NDArray[Any], predicted: npt.NDArray[Any]) -> ReportRecord:
        """Compare predictions with labels, both of shape (samples,)."""
        _, ids = np.unique(np.concatenate([labels, predicted]), return_inverse=True)
        of_labels, of_predicted = np.split(ids.reshape(-1), [len(labels)])
        num, size = len(labels), int(ids.max(initial=0)) + 1
        wanted, named = (np.bincount(each, minlength=size).astype(np.float64) for each in (of_labels, of_predicted))
        expected = float(wanted @ named / max(num, 1))
        # the variance over all orders of the predictions, with both counts fixed
        spread = num * expected - float(wanted @ named**2 + wanted**2 @ named) / max(num, 1) + expected**2
        return cls(
            function=function,
            num_samples=num,
            num_right=int(np.count_nonzero(of_labels == of_predicted)),
            num_expected=expected,
            num_moved=int(np.maximum(wanted - named, 0).sum()),
            deviation=math.sqrt(max(spread, 0.0) / max(num - 1, 1)),
            shares=tuple((np.sort(named[named > 0])[::-1][:MOST_SHARES] / max(num, 1)).tolist()),
        )

    @property
    def kappa(self) -> float:
        """Share of what chance leaves wrong that is right (Cohen's kappa); 0 if chance leaves nothing."""
        wrong = self.num_samples - self.num_expected
        return (self.num_right - self.num_expected) / wrong if wrong > 0 else 0.0


@attrs.frozen(kw_only=True)
class ProgramRecord:
    """A training program.

    Args:
        framework: Name of the framework.
        framework_version: Its version.
        model: Name of the class of the model.
        layers: The layers of the model, in the order in which they were made.
        losses: Its losses.
        optimizers: Its optimizers.
        parameters: Further settings of the training, such as the parameters of boosted trees.
        input_dtypes: Dtype of each input of the model; empty if unknown.
        fed_models: Models whose inputs other models make, by the names of their tensors.
        turns: Names of the models that a script trains in turn, batch by batch, so that their losses, predictions and
            labels share names; empty where it trains a single model.
        not_compiled: Variables of a Keras model that are set to train, but were not when the function that trains the
            model was made, by their paths: only `compile` makes another one.
        made_anew: Shapes of the parameters of a layer that each forward pass of a PyTorch model makes anew.
        is_weighted: Whether training weighs samples or their classes, so that its losses are not on the scale of
            validation losses.
        validates_in_training: Whether a custom loop in Keras tells the model to train also where it only computes the
            loss, after it has trained the model.
        has_own_step: Whether the script computes the training steps of a Keras model itself, in ``train_step``.
        num_samples: Number of training samples; None if unknown.
        num_workers: Number of processes that load samples; None if unknown.
        batch_size: Number of samples along the first axis of what a loader of PyTorch yields; None if unknown.
        since_step: Global step from which on it tells of the training. A script that trains one model after another has
            the record of the latest.
        reports: What the script has found out about predicted classes by `sklearn.metrics`, the best of each function
            for each number of samples. It is there once the hook is closed.
        unknown: What could not be found out, each with the reason.
    """

    framework: str
    framework_version: str = ""
    model: str | None = None
    layers: tuple[LayerRecord, ...] = ()
    losses: tuple[LossRecord, ...] = ()
    optimizers: tuple[OptimizerRecord, ...] = ()
    parameters: Mapping[str, Any] = attrs.field(factory=dict)
    input_dtypes: tuple[str, ...] = ()
    fed_models: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    not_compiled: tuple[str, ...] = ()
    made_anew: tuple[tuple[int, ...], ...] = ()
    is_weighted: bool = False
    validates_in_training: bool = False
    has_own_step: bool = False
    num_samples: int | None = None
    num_workers: int | None = None
    batch_size: int | None = None
    since_step: int = 0
    reports: tuple[ReportRecord, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def trained_parameters(self) -> frozenset[str]:
        """The parameters that any optimizer has to train, by the names of their tensors; empty if unknown."""
        return frozenset(name for optimizer in self.optimizers for name in optimizer.parameters)

    @property
    def is_complete(self) -> bool:
        """Whether the program has called its losses, so that the hook learns nothing more of them."""
        return bool(self.parameters) or any(loss.tail for loss in self.losses)

    def loss(self, name: str) -> LossRecord | None:
        """Return the loss of a name; None if it is unknown.

        A loss that is a layer of the model has its name there as well, and goes by its class where it is the only one.
        """
        named = next((loss for loss in self.losses if loss.name == name), None)
        if named is not None:
            return named
        types = [layer.type for layer in self.layers]
        mine = {layer.type for layer in self.layers if layer.name == name and types.count(layer.type) == 1}
        alike = [loss for loss in self.losses if loss.type in mine]
        return alike[0] if len(alike) == 1 else None

    def to_json(self) -> str:
        """Return the text of the file."""
        content: JSONObject = {"version": VERSION, **attrs.asdict(self)}
        return json.dumps(content, default=str, sort_keys=True)

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> ProgramRecord:
        """Parse the text of a file.

        Raises:
            SMDebugValueError: The text is not a program record.
        """
        try:
            content = json.loads(text)
            content["layers"] = _all(LayerRecord, content["layers"])
            content["losses"] = tuple(
                _known(
                    LossRecord,
                    loss,
                    tail=_all(LayerRecord, loss["tail"]),
                    spread_shape=tuple(loss.get("spread_shape", ())),
                    pooled_shape=tuple(loss.get("pooled_shape", ())),
                    softmaxes=tuple(
                        _known(SoftmaxRecord, softmax, shape=tuple(softmax["shape"]))
                        for softmax in loss.get("softmaxes", ())
                    ),
                    reshapes=tuple(
                        _known(ReshapeRecord, reshape, before=tuple(reshape["before"]), after=tuple(reshape["after"]))
                        for reshape in loss.get("reshapes", ())
                    ),
                )
                for loss in content["losses"]
            )
            content["optimizers"] = tuple(
                _known(OptimizerRecord, optimizer, parameters=tuple(optimizer.get("parameters", ())))
                for optimizer in content["optimizers"]
            )
            record: ProgramRecord = _known(
                cls,
                content,
                unknown=tuple(content["unknown"]),
                input_dtypes=tuple(content.get("input_dtypes", ())),
                fed_models=tuple(content.get("fed_models", ())),
                turns=tuple(content.get("turns", ())),
                not_compiled=tuple(content.get("not_compiled", ())),
                made_anew=tuple(map(tuple, content.get("made_anew", ()))),
                reports=tuple(
                    _known(ReportRecord, report, shares=tuple(report["shares"]))
                    for report in content.get("reports", ())
                ),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SMDebugValueError(f"{where}: not a program record: {error!r}") from error
        return record


NO_PROGRAM: Final = ProgramRecord(framework="")
"""The record of a program of which nothing is known."""


def _known(kind: Any, content: Mapping[str, Any], **replaced: Any) -> Any:
    names = {field.name for field in attrs.fields(kind)}
    return kind(**{name: value for name, value in {**content, **replaced}.items() if name in names})


def _all(kind: Any, items: list[Mapping[str, Any]]) -> tuple[Any, ...]:
    return tuple(_known(kind, item) for item in items)


def read_program(backend: Backend) -> ProgramRecord | None:
    """Return the record of the first worker; None if no worker wrote one.

    Raises:
        SMDebugValueError: The file is not a program record.
    """
    for info in backend.list(PROGRAM_PREFIX):
        content = backend.read(info.key)
        if content is not None:
            return ProgramRecord.from_json(bytes(content), info.key)
    return None
