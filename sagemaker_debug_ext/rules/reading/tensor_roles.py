"""Roles of tensors, by the names that each framework's hook gives them: `Role`, `NamingScheme`, `naming_scheme_of`.

Rules find weights, gradients and losses by collection, and all other tensors by role. The framework decides which names
have a role, which gradient belongs to which parameter and along which axis a layer's units lie. It also decides when in
a step a value was saved. This module is the only place with such knowledge. The collections that the hook keeps
identify the framework.
"""

from __future__ import annotations

import enum
import itertools
import re
import weakref
from collections.abc import Collection as Names
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from sagemaker_debug_ext.vocabulary import CollectionKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial


class Role(enum.Enum):
    """Role of a tensor that no collection identifies."""

    MODEL_INPUT = "inputs of the model"
    FURTHER_INPUT = "further inputs of the model"
    MODEL_OUTPUT = "outputs of the model"
    LAYER_INPUT = "inputs of layers"
    LAYER_OUTPUT = "outputs of layers"
    RELU_OUTPUT = "outputs of ReLU"
    SATURATING_INPUT = "inputs of tanh and sigmoid"
    DROPOUT_OUTPUT = "outputs of dropout layers"
    NORM_OUTPUT = "outputs of batch normalisations"
    PREDICTION = "answers that losses are given"
    PREDICTION_OR_TARGET = "answers and targets that losses are given"
    CLASS_SCORES = "answers of classifiers"
    CLASS_LABEL = "labels of classes"
    LOSS_CLASS_LABEL = "labels of classes that losses are given"
    REGRESSION_TARGET = "targets of losses of differences"
    ALL_LABELS = "labels that are all saved at each step"
    LOSS_OF_LOOP = "losses of custom loops"


PARAMETERS: Final = (CollectionKeys.WEIGHTS, CollectionKeys.BIASES)
"""Collections of parameters. Their patterns also fit what a layer called ``weights`` gets and gives."""

_MOST_PARTS: Final = 4
"""Number of positions to try as the end of a model's name, because classes with more underscores are rare."""

NOTHING: Final = r"(?!)"
"""Matches no name."""
_INPUT_NUMBER: Final = re.compile("input_[0-9]+$")
_KERAS_PREDICTIONS: Final = re.compile("predictions((?:_[0-9]+)?)")

_COMPARES_TWO: Final = re.compile(r"(CosineEmbedding|MarginRanking)Loss(_[0-9]+)?_input_0$")
"""Predictions of losses that compare two of them, with the targets as third input."""

_NLL: Final = "(?<!Poisson)(?<!Gaussian)NLL"
"""The likelihood of classes; likelihoods of counts and of numbers have other kinds of targets."""


class LossTensorNames(NamedTuple):
    """Names of a loss, of its predictions, and of its targets.

    The loss has the name of the predictions if it was not saved itself.
    """

    loss: str
    answers: str
    targets: str


class NamingScheme:
    """Names and values that a hook saves. This class is for PyTorch and boosted trees.

    Attributes:
        framework: Framework of the hook.
        patterns: Regular expression of each role, searched in names.
        fuses_activations: Whether the output of a layer may be that of its activation, without a name for it.
        hides_kinds: Whether names reveal neither the activation of a layer nor whether labels are classes.
        has_loose_targets: Whether classes may be numbers of any type and shape, or one-hot vectors.
        has_sample_losses: Whether a loss is saved as one number per sample.
        has_running_losses: Whether a loss is saved as the mean since the epoch began.
    """

    framework: ClassVar[str] = "PyTorch, XGBoost"
    fuses_activations: ClassVar[bool] = False
    hides_kinds: ClassVar[bool] = False
    has_loose_targets: ClassVar[bool] = False
    has_sample_losses: ClassVar[bool] = False
    has_running_losses: ClassVar[bool] = False
    patterns: ClassVar[Mapping[Role, str]] = {
        Role.MODEL_INPUT: r"^(?!.*Loss)[A-Z][A-Za-z0-9]*(_[0-9]+)?_input_0$",
        Role.FURTHER_INPUT: r"^(?!.*Loss)[A-Z][A-Za-z0-9]*(_[0-9]+)?_input_[1-9][0-9]*$",
        Role.MODEL_OUTPUT: r"^(?!.*Loss)[A-Z][A-Za-z0-9]*(_[0-9]+)?_output_0$",
        Role.LAYER_INPUT: r"_input_[0-9]+$",
        Role.LAYER_OUTPUT: r"_output_[0-9]+$",
        Role.RELU_OUTPUT: r"relu[0-9_]*output",
        Role.SATURATING_INPUT: r"(tanh|sigmoid)[0-9_]*input",
        Role.DROPOUT_OUTPUT: r"drop.*_output_0$",
        Role.NORM_OUTPUT: r"(bn|batch_?norm).*_output_0$",
        Role.PREDICTION: r"Loss(_[0-9]+)?_input_0$",
        Role.PREDICTION_OR_TARGET: r"[Ll]oss.*_input_[01]$",
        Role.CLASS_SCORES: rf"(CrossEntropy|{_NLL}|BCEWithLogits).*_input_0$|predictions$",
        Role.CLASS_LABEL: rf"(CrossEntropy|{_NLL}|BCE).*_input_1$|labels$",
        Role.LOSS_CLASS_LABEL: rf"(CrossEntropy|{_NLL}|BCE).*_input_1$",
        Role.REGRESSION_TARGET: r"(MSE|L1|Huber)Loss(_[0-9]+)?_input_1$",
        Role.ALL_LABELS: r"^labels$",
        Role.LOSS_OF_LOOP: r"^loss_output_[0-9]+$",
    }
    _gradient_prefix: ClassVar[str] = "gradient/"
    _side_of_layer: ClassVar[re.Pattern[str]] = re.compile("(.+)_(input|output)_0")
    _kinds: ClassVar[Mapping[str, str]] = {
        name: name for name in ("CrossEntropy", "NLL", "BCEWithLogits", "BCE", "MSE", "SmoothL1", "L1", "Huber")
    }
    _kind_pattern: ClassVar[str] = r"(?<!Poisson)(?<!Gaussian)({})Loss"

    def raw_inputs(self, selected: list[str], names: Names[str], trial: Trial) -> list[str]:
        """Return the selected names without inputs of losses, and of models whose inputs another model makes.

        Losses have no parameters, unlike a model beside them.

        Args:
            selected: Names that look like inputs of models.
            names: All available names.
            trial: The trial, whose collections include parameters saved at other steps.
        """
        owners = {name: _INPUT_NUMBER.sub("", name) for name in selected if _INPUT_NUMBER.search(name)}
        fed = {f"{model}_" for model in (trial.program.fed_models if trial.program is not None else ())}
        selected = [name for name in selected if owners.get(name) not in fed]
        models = {owners[name] for name in selected if name in owners}
        if len(models) < 2:
            return selected
        known = trial.collections()
        groups = [known[group] for group in PARAMETERS if group in known]
        parameters = {name for group in groups for name in group.tensor_names}
        parameters |= {name for name in names if any(group.matches(name) for group in groups)}
        others = {model for model in models if not any(parameter.startswith(model) for parameter in parameters)}
        return selected if others == models else [name for name in selected if owners.get(name) not in others]

    def is_gradient(self, name: str) -> bool:
        """Return whether a tensor is the gradient of a parameter."""
        return name.startswith(self._gradient_prefix)

    def path_of(self, name: str) -> str:
        """Return the path of a parameter in the model, given its name or that of its gradient."""
        return name.removeprefix(self._gradient_prefix)

    def is_of_layer(self, name: str) -> bool:
        """Return whether a tensor is an input or output of a layer."""
        return any(re.search(self.patterns[role], name) for role in (Role.LAYER_INPUT, Role.LAYER_OUTPUT))

    def side_of_layer(self, name: str) -> tuple[str, str]:
        """Return a layer, and ``input`` or ``output``, given the name of its first; empty for other tensors."""
        found = self._side_of_layer.fullmatch(name)
        return (found[1], found[2]) if found else ("", "")

    def gradient_names(self, parameter: str) -> tuple[str, ...]:
        """Return the names that a parameter's gradient may have."""
        return (self._gradient_prefix + parameter,)

    def gradient_of(self, parameter: str, names: Names[str]) -> str | None:
        """Return the name of a parameter's gradient among `names`, or None if there is none."""
        return next((name for name in self.gradient_names(parameter) if name in names), None)

    def is_offset(self, parameter: str) -> bool:  # noqa: ARG002
        """Return whether a member of collection ``weights`` is actually a bias, which starts at 0."""
        return False

    def is_updated(self, parameter: str) -> bool:  # noqa: ARG002
        """Return whether a parameter is saved after the update; otherwise, it is saved as the step uses it."""
        return False

    def has_units_last(self, weight: str) -> bool:  # noqa: ARG002
        """Return whether the last axis of a weight is the axis of the units; otherwise, it is the first."""
        return False

    def has_channels_last(self, output: str) -> bool:  # noqa: ARG002
        """Return whether the last axis of a layer's output is the axis of the channels; otherwise, it is the second."""
        return False

    def input_of(self, output: str) -> str:
        """Return the name of the input of the layer that has an output."""
        return output.replace("_output_", "_input_")

    def layers_of(self, weight: str) -> Iterator[tuple[str, str]]:
        """Yield the possible names of the input and output of a weight's layer, the likeliest first."""
        stem = re.sub(r"[._]weight$", "", weight)
        # Hooks put the model's name in front of weights, and in front of layers only if there are several models.
        ends = [match.start() for match in itertools.islice(re.finditer("_", stem), _MOST_PARTS)]
        of_model = [f"{stem[:end]}.{stem[end + 1 :]}" for end in ends]
        for layer in (stem, *of_model, stem.split("_", 1)[-1]):
            yield f"{layer}_input_0", f"{layer}_output_0"

    def parameters_beside(self, name: str, names: Names[str]) -> list[str]:
        """Return the names of the parameters of the layer that has an input or output."""
        known = {*names, name}
        layers = (
            (tensor, next((p for p in self.layers_of(tensor) if not known.isdisjoint(p)), ())) for tensor in names
        )
        return [tensor for tensor, layer in layers if name in layer]

    def bias_of(self, weight: str) -> str:
        """Return the name of the bias beside a weight."""
        return re.sub(r"weight$", "bias", weight)

    def offset_of(self, output: str, names: Names[str]) -> str | None:
        """Return the name of the bias of a batch normalisation, given its output; None if it was not saved."""
        layer = re.escape(re.sub(r"_output_\d+$", "", output))
        layer = layer.replace(r"\.", "[._]", 1)  # behind the name of a second model, whose parameters have "_" there
        bias = re.compile(rf"(^|[._]){layer}(\.|_)bias$")
        found = (name for name in names if bias.search(name))
        return next((name for name in found if not name.startswith("gradient")), None)

    def answers(self, names: Names[str]) -> Iterator[LossTensorNames]:
        """Yield the losses whose predictions and targets are also among `names`, in their order."""
        known = set(names)
        for name in names:
            stem = name.removesuffix("_output_0")
            if stem != name and {f"{stem}_input_0", f"{stem}_input_1"} <= known:
                yield LossTensorNames(name, f"{stem}_input_0", f"{stem}_input_1")

    def targets_of(self, answer: str) -> str:
        """Return the name of the targets that belong to the predictions of a loss."""
        number = 2 if _COMPARES_TWO.search(answer) else 1
        return re.sub(r"_input_0$", f"_input_{number}", answer)

    def loss_of(self, answer: str) -> str:
        """Return the name that the program record gives to the loss of predictions."""
        return answer.removesuffix("_input_0")

    def kind_of_loss(self, answer: str) -> str | None:
        """Return PyTorch's name, without ``Loss``, for the loss of a prediction; None if names do not reveal it."""
        found = re.search(self._kind_pattern.format("|".join(self._kinds)), answer)
        return self._kinds[found[1]] if found else None

    def computed_late(self, name: str) -> int:  # noqa: ARG002
        """Return a sort key for tensors that are not saved in the order of computation."""
        return 0


class _GluonScheme(NamingScheme):
    """MXNet's Gluon: names as in PyTorch but for classes in lower case with a number, and values after the update."""

    framework = "MXNet"
    fuses_activations = True
    has_loose_targets = True
    has_sample_losses = True
    patterns: ClassVar[Mapping[Role, str]] = {
        **NamingScheme.patterns,
        Role.MODEL_INPUT: r"^[a-z_]*(sequential|net|model)[0-9]+_input_0$",
        Role.FURTHER_INPUT: r"^[a-z_]*(sequential|net|model)[0-9]+_input_[1-9][0-9]*$",
        Role.MODEL_OUTPUT: r"^[a-z_]*(sequential|net|model)[0-9]+_output_0$",
        Role.PREDICTION: r"loss[0-9]*_input_0$",
        Role.CLASS_SCORES: r"crossentropyloss[0-9]*_input_0$",
        Role.CLASS_LABEL: r"crossentropyloss[0-9]*_input_1$",
        Role.LOSS_CLASS_LABEL: r"crossentropyloss[0-9]*_input_1$",
        Role.REGRESSION_TARGET: r"(l1|l2|huber)loss[0-9]*_input_1$",
        Role.ALL_LABELS: NOTHING,
    }
    _kinds: ClassVar[Mapping[str, str]] = {
        "softmaxcrossentropy": "CrossEntropy",
        "sigmoidbinarycrossentropy": "BCEWithLogits",
        "l2": "MSE",
        "l1": "L1",
        "huber": "Huber",
    }
    _kind_pattern: ClassVar[str] = r"(?:^|_)({})loss"

    def is_offset(self, parameter: str) -> bool:
        return parameter.endswith(("_beta", "_bias"))

    def is_updated(self, parameter: str) -> bool:  # noqa: ARG002
        return True

    def layers_of(self, weight: str) -> Iterator[tuple[str, str]]:
        layer = weight.removesuffix("_weight")
        yield f"{layer}_input_0", f"{layer}_output_0"

    def computed_late(self, name: str) -> int:
        if re.search(r"_(input|output)_[0-9]+$", name):
            return 0
        return 2 if self.is_gradient(name) else 3

    def offset_of(self, output: str, names: Names[str]) -> str | None:
        beta = re.sub(r"_output_\d+$", "_beta", output)
        return beta if beta in names else None


class _KerasScheme(NamingScheme):
    """Keras: ``<layer>/outputs``, ``<layer>/weights/<path>:0`` after the update, ``gradients/<path>Grad``."""

    framework = "Keras"
    fuses_activations = True
    hides_kinds = True
    has_loose_targets = True
    has_running_losses = True
    patterns: ClassVar[Mapping[Role, str]] = {
        Role.MODEL_INPUT: r"^inputs(_[0-9]+)?$",
        Role.FURTHER_INPUT: NOTHING,
        Role.MODEL_OUTPUT: r"^predictions(_[0-9]+)?$",
        Role.LAYER_INPUT: r"/inputs(_[0-9]+)?$",
        Role.LAYER_OUTPUT: r"/outputs(_[0-9]+)?$",
        Role.RELU_OUTPUT: r"/outputs(_[0-9]+)?$",
        Role.SATURATING_INPUT: r"/outputs(_[0-9]+)?$",
        Role.DROPOUT_OUTPUT: r"drop[^/]*/outputs(_[0-9]+)?$",
        Role.NORM_OUTPUT: r"(bn|batch_?norm)[^/]*/outputs(_[0-9]+)?$",
        Role.PREDICTION: r"^predictions(_[0-9]+)?$",
        Role.PREDICTION_OR_TARGET: r"^(predictions|labels)(_[0-9]+)?$",
        Role.CLASS_SCORES: r"^predictions(_[0-9]+)?$",
        Role.CLASS_LABEL: r"^labels(_[0-9]+)?$",
        Role.LOSS_CLASS_LABEL: r"^labels(_[0-9]+)?$",
        Role.REGRESSION_TARGET: r"^labels(_[0-9]+)?$",
        Role.ALL_LABELS: NOTHING,
        Role.LOSS_OF_LOOP: r"^loss(_[0-9]+)?$",
    }
    _gradient_prefix = "gradients/"
    _side_of_layer = re.compile("(.+)/(input|output)s")

    def raw_inputs(self, selected: list[str], names: Names[str], trial: Trial) -> list[str]:  # noqa: ARG002
        return selected

    def gradient_names(self, parameter: str) -> tuple[str, ...]:
        path = self.path_of(parameter)
        return f"gradients/{path}Grad", f"gradients/{path}:0Grad"  # the latter with Keras 2

    def is_offset(self, parameter: str) -> bool:
        return re.search(r"(^|/)(beta|bias|alpha)(:0)?$", parameter) is not None

    def is_updated(self, parameter: str) -> bool:
        return not parameter.startswith("weights/")  # the prefix of names with a gradient tape

    def has_units_last(self, weight: str) -> bool:
        return re.search(r"kernel(:0)?$", weight) is not None

    def has_channels_last(self, output: str) -> bool:  # noqa: ARG002
        return True

    def input_of(self, output: str) -> str:
        return re.sub(r"/outputs((?:_[0-9]+)?)$", r"/inputs\1", output)

    def layers_of(self, weight: str) -> Iterator[tuple[str, str]]:
        layer, found, _ = weight.partition("/weights/")
        if weight.startswith("weights/"):
            layer, found, _ = weight.removeprefix("weights/").rpartition("/")
        if found:
            yield f"{layer}/inputs", f"{layer}/outputs"

    def parameters_beside(self, name: str, names: Names[str]) -> list[str]:
        layer = re.sub(r"/(inputs|outputs)(_[0-9]+)?$", "", name)
        return [other for other in names if other.startswith((f"{layer}/weights/", f"weights/{layer}/"))]

    def bias_of(self, weight: str) -> str:
        return re.sub(r"kernel(:0)?$", r"bias\1", weight)

    def offset_of(self, output: str, names: Names[str]) -> str | None:
        beside = self.parameters_beside(output, names)
        return next((name for name in beside if re.search(r"(^|/)beta(:0)?$", name)), None)

    def answers(self, names: Names[str]) -> Iterator[LossTensorNames]:
        known = set(names)
        for name in names:
            found = _KERAS_PREDICTIONS.fullmatch(name)
            if found and f"labels{found[1]}" in known and "loss" in known:
                yield LossTensorNames("loss" if name == "predictions" else name, name, f"labels{found[1]}")

    def targets_of(self, answer: str) -> str:
        return answer.replace("predictions", "labels", 1)

    def loss_of(self, answer: str) -> str:
        return answer

    def kind_of_loss(self, answer: str) -> str | None:  # noqa: ARG002
        return None

    def computed_late(self, name: str) -> int:
        if self.is_gradient(name):
            return 2
        if "/weights/" in name or name.endswith(":0"):
            return 3
        return 1 if "/" not in name and not re.match(r"(inputs|labels|predictions)", name) else 0

    def path_of(self, name: str) -> str:
        if self.is_gradient(name):
            return name.removeprefix(self._gradient_prefix).removesuffix("Grad").removesuffix(":0")
        return re.sub(r"^(.*/)?weights/", "", name).removesuffix(":0")


PYTORCH: Final = NamingScheme()
GLUON: Final = _GluonScheme()
KERAS: Final = _KerasScheme()

SCHEMES: Final = (PYTORCH, GLUON, KERAS)
"""All naming schemes; the first is used for trials whose framework is unknown."""

_ONLY_KERAS: Final = frozenset({CollectionKeys.LAYERS, CollectionKeys.OPTIMIZER_VARIABLES})
_GLUON_LOSSES: Final = frozenset({r"[Ll]oss\d*_(?!input).*output", ".*loss._(?!input).*output"})
"""Patterns of collection ``losses`` in MXNet's hooks, both this package's and the original."""

_KNOWN: Final[dict[int, tuple[weakref.ref[Trial], NamingScheme]]] = {}
"""Schemes of living trials by their id. Rules ask so often that hashing a trial by its path would take too long."""


def naming_scheme_of(trial: Trial) -> NamingScheme:
    """Return the naming scheme of the hook that wrote a trial, evaluating by its collections."""
    key = id(trial)
    known = _KNOWN.get(key)
    if known is not None and known[0]() is trial:
        return known[1]
    collections = trial.collections()
    scheme = PYTORCH
    if set(collections) >= _ONLY_KERAS:
        scheme = KERAS
    elif CollectionKeys.LOSSES in collections:
        patterns = set(collections[CollectionKeys.LOSSES].include_regex)
        scheme = GLUON if patterns & _GLUON_LOSSES else PYTORCH
    if collections:  # the framework is unknown until the hook has written them
        _KNOWN[key] = (weakref.ref(trial, lambda _: _KNOWN.pop(key, None)), scheme)
    return scheme


_TYPES: Final[Mapping[Role, frozenset[str]]] = {
    Role.RELU_OUTPUT: frozenset({"ReLU", "ReLU6"}),
    Role.SATURATING_INPUT: frozenset({"Tanh", "Sigmoid"}),
    Role.DROPOUT_OUTPUT: frozenset({"Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout"}),
    Role.NORM_OUTPUT: frozenset({"BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"}),
}
"""PyTorch's classes of the layers that a role is about. Layers in a list have numbers for names."""


def pattern_of(role: Role, trial: Trial) -> str:
    """Return the pattern of a role's names in a trial, or of all frameworks while its framework is unknown.

    It includes the layers that the program record knows to be of the role, whatever their names.
    """
    if not trial.collections():
        return "|".join(dict.fromkeys(f"(?:{scheme.patterns[role]})" for scheme in SCHEMES))
    scheme = naming_scheme_of(trial)
    names = _recorded_layers(role, trial) if scheme is PYTORCH and role in _TYPES else []
    if not names:
        return scheme.patterns[role]
    side = "input" if role is Role.SATURATING_INPUT else "output"
    return f"{scheme.patterns[role]}|^(?:{'|'.join(names)})_{side}_0$"


def _recorded_layers(role: Role, trial: Trial) -> list[str]:
    """Return the escaped names of the layers of a role; a comma would end the pattern in a rule's parameter."""
    layers = () if trial.program is None else trial.program.layers
    return [re.escape(layer.name) for layer in layers if layer.type in _TYPES[role] and "," not in layer.name]
