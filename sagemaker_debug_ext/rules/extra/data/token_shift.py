"""TokenShift: a model of sequences is trained to predict another token than the next one, or sees that one."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.inference.first_steps import FirstStepsRule
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import KERAS, Role, naming_scheme_of

TOKENS: Final = Selection(roles=(Role.MODEL_INPUT,))
TARGETS: Final = Selection(roles=(Role.LOSS_CLASS_LABEL,))
NUMBERS: Final = Selection(roles=(Role.REGRESSION_TARGET,))
"""Targets that may be the next numbers of a series."""
FIRST_INPUT: Final = "_input_0"
ATTENTION: Final = "MultiheadAttention"
DECODER: Final = "TransformerDecoderLayer"
FEWEST_EQUAL: Final = 2
"""Fewest repetitions of a token at a place that show that states depend on these."""
ROUNDING: Final = 1e-5
"""Largest difference of equal states, relative to how far states are from their mean."""
MOST_PLACES: Final = 4
"""Largest distance of a target from the token at its place."""
FEWEST_TOKENS: Final = 4
"""Fewest different tokens, and places of a sequence, that show a distance."""
FEWEST_TARGETS: Final = 20
SAME: Final = 0.98
"""Fraction of targets that must be the token at one distance; the last of each sequence may be another."""
BY_CHANCE: Final = 0.9
"""Largest fraction of targets that are the token at any other distance."""
LATER: Final = "places later"
"""Text of targets beyond the next token."""
SEEN: Final = "that it is to predict"
"""Text of models that read the next token, or number, before they predict it."""
_FUNCTIONAL: Final = "Functional"
"""Class of Keras models that are no more than a graph of layers."""
BIDIRECTIONAL: Final = "Bidirectional"
"""Class of a Keras layer that also reads backwards."""


def distance_of_targets(tokens: Array, targets: Array) -> int | None:
    """Return how many places after its own each target is among the tokens; None if they are no tokens of it.

    Args:
        tokens: Sequences of tokens, or series of numbers, of shape (samples, places).
        targets: Targets of these places, which may be flattened; whole numbers below 0 do not count.
    """
    if len(tokens) == 0 or targets.size % len(tokens) or min(tokens.shape[1], len(np.unique(tokens))) < FEWEST_TOKENS:
        return None
    rows = targets.reshape(len(tokens), -1)
    shares = [_share(tokens[:, distance:], rows) for distance in range(MOST_PLACES)]
    best = int(np.argmax(shares))
    others = shares[:best] + shares[best + 1 :]
    return best if shares[best] >= SAME and max(others) <= BY_CHANCE else None


def _share(tokens: Array, targets: Array) -> float:
    length = min(tokens.shape[1], targets.shape[1])
    is_known = targets[:, :length] >= 0 if targets.dtype.kind in "iu" else np.isfinite(targets[:, :length])
    if np.count_nonzero(is_known) < FEWEST_TARGETS:
        return 0.0
    return float(np.mean(tokens[:, :length][is_known] == targets[:, :length][is_known]))


class TokenShift(FirstStepsRule):
    """A model of sequences is trained to predict another token than the next one, or sees the next one.

    Compares the targets of classification losses with the tokens that the model reads, at the first TRAIN steps (or
    steps without a mode). Tokens are whole numbers of shape (samples, places) or (places, samples). The rule fires if
    nearly all targets are

    - the tokens two or three places later, as when the script shifts labels that the model shifts itself;
    - the tokens at the same places, while an `nn.MultiheadAttention` gets a causal mask: the model is to go on with a
      sequence, and learns to repeat it;
    - the tokens at the same places of a further input of a functional Keras model, such as that of a decoder, which
      should begin with a start and lag behind;
    - the next tokens, while an `nn.MultiheadAttention` gets no mask, or a recurrent layer also reads backwards, so that
      the model sees what it is to predict. Only PyTorch is checked. If the model reads other tokens, too, as those that
      it translates, only the attention of an `nn.TransformerDecoderLayer` to its own input counts, where that is the
      same for the same token at the same place: dropout of embeddings hides it.

    In PyTorch, targets at the same places or two places later are compared with the first input of the model only,
    because further ones may be the labels themselves, which some models shift. So may models of Keras with a `call` of
    their own.

    Parameters:
        patience: Number of steps at which it must hold; 3 when not given.

    Source:
        Own.

    Example:
        >>> rule = create_rule("TokenShift", trial)
        >>> invoke_rule(rule)
    """

    spec_name = "TokenShift"
    advice = (
        "Let the target of each place be the next token. Do not shift labels for models that do so themselves. "
        "Give attention a causal mask, and let recurrent layers read in one direction only."
    )
    selection = TOKENS.united_with(TARGETS).united_with(NUMBERS)

    def needs(self) -> tuple[TensorRequirement, ...]:
        return TensorRequirement("inputs", TOKENS), TensorRequirement("targets", TARGETS.united_with(NUMBERS))

    def problems(self, view: StepView) -> Mapping[str, str] | None:
        """Return the targets that are not the next tokens, or that the model sees."""
        tokens = _whole_numbers(view, [*view.selected(TOKENS), *_further_inputs(view)])
        targets = _whole_numbers(view, view.selected(TARGETS))
        sequences = {name: value for name, value in tokens.items() if value.ndim == 2}
        numbers = _values(view, view.selected(NUMBERS))
        series = _series(view) if numbers else {}
        if not ((sequences and targets) or (series and numbers)):
            return None
        of_tokens = _problems(view, sequences, view.selected(TOKENS), targets)
        seen = _problems_of_further(view, tokens, targets)
        return {**dict(_problems_of_series(view, series, numbers)), **dict(of_tokens), **dict(seen)}


def _values(view: StepView, names: Iterable[str]) -> dict[str, Array]:
    values = ((name, view.value(name)) for name in names)
    return {name: value for name, value in values if value is not None}


def _whole_numbers(view: StepView, names: Iterable[str]) -> dict[str, Array]:
    return {name: value for name, value in _values(view, names).items() if value.dtype.kind in "iu"}


def _series(view: StepView) -> dict[str, Array]:
    """Return the only input, where it is a series of numbers, by name, of two axes."""
    inputs = _values(view, [*view.selected(TOKENS), *_further_inputs(view)])
    if len(inputs) != 1:
        return {}
    ((name, value),) = inputs.items()
    series = value[..., 0] if value.ndim > 2 and value.shape[2:] == (1,) else value
    return {name: series} if series.ndim == 2 and series.dtype.kind == "f" else {}


def _repeats_itself(series: Array) -> bool:
    """Return whether what comes next in series of shape (samples, places) has come before, in each of them."""
    periods = range(1, series.shape[1])
    return any(np.mean(series[:, period:] == series[:, :-period]) >= SAME for period in periods)


def _further_inputs(view: StepView) -> list[str]:
    """Return the names of the other inputs of models in PyTorch, whose names end with their numbers."""
    firsts = tuple(name.removesuffix("0") for name in view.selected(TOKENS) if name.endswith(FIRST_INPUT))
    return [
        name for name in view.tensor_names if name.startswith(firsts) and name.rpartition("_")[2].lstrip("0").isdigit()
    ]


def _problems(
    view: StepView, sequences: Mapping[str, Array], firsts: Container[str], targets: Mapping[str, Array]
) -> Iterator[tuple[str, str]]:
    """Yield the name of each tensor of targets at fault with what is wrong.

    Args:
        view: The step.
        sequences: The tokens that models read.
        firsts: Names of those that are first inputs of models.
        targets: The targets.
    """
    found = {
        source: {name: _find_distance(tokens, value) for name, value in targets.items()}
        for source, tokens in sequences.items()
    }
    predicts_next = any(distance == 1 for of_source in found.values() for distance, _ in of_source.values())
    for source, of_source in found.items():
        is_first = source in firsts  # a further one may be labels, which the model shifts itself
        for name, (distance, length) in of_source.items():
            if is_first and not predicts_next and distance is not None and distance > 1:
                yield name, f"The targets {name!r} are the tokens {distance} {LATER} in {source!r}, not the next."
            if is_first and distance == 0 and not predicts_next and (layer := _causal_attention(view, length)):
                why = f"sees the tokens {SEEN}, although the attention of {layer!r} hides all later ones"
                yield name, f"The targets {name!r} are the tokens in {source!r} at the same places: the model {why}."
            if distance == 1 and (layer := _layer_that_sees(view, source, sequences, length)):
                what = f"The targets {name!r} are the next tokens in {source!r}"
                yield name, f"{what}, and the model sees the tokens {SEEN}: {layer}."


def _problems_of_further(
    view: StepView, tokens: Mapping[str, Array], targets: Mapping[str, Array]
) -> Iterator[tuple[str, str]]:
    """Yield the name of the targets that a further input of a model holds at the same places, with what is wrong."""
    if view.program.model != _FUNCTIONAL:
        return
    for name, value in targets.items():
        same = [source for source, given in tokens.items() if _are_same_tokens(given, value)]
        others = [source for source in tokens if source not in same]
        if len(same) == 1 and others and same[0] != min(tokens):
            why = f"the model reads the tokens {SEEN}, without a start in front of them"
            yield name, f"The targets {name!r} are the tokens in {same[0]!r} at the same places: {why}."


def _are_same_tokens(tokens: Array, targets: Array) -> bool:
    """Return whether targets are the tokens of sequences at their places."""
    is_sequence = tokens.ndim == 2 and tokens.shape[1] > 1 and targets.size == tokens.size >= FEWEST_TARGETS
    is_same = is_sequence and np.array_equal(tokens.reshape(-1), targets.reshape(-1))
    return bool(is_same and len(np.unique(targets)) >= FEWEST_TOKENS)


def _problems_of_series(
    view: StepView, series: Mapping[str, Array], targets: Mapping[str, Array]
) -> Iterator[tuple[str, str]]:
    """Yield the name of each tensor of targets that a model sees with what is wrong."""
    for source, numbers in series.items():
        for name, value in targets.items():
            has_places = value.size >= FEWEST_TOKENS * len(numbers)
            distance = distance_of_targets(numbers, value) if has_places and value.dtype.kind == "f" else None
            layer = _layer_that_sees(view, source, {source: numbers}, numbers.shape[1]) if distance else ""
            if layer and not _repeats_itself(numbers):
                what = f"The targets {name!r} are numbers of {source!r} that come later"
                yield name, f"{what}, and the model sees the numbers {SEEN}: {layer}."


def _find_distance(tokens: Array, targets: Array) -> tuple[int | None, int]:
    """Return the distance of the targets, and the length of the sequences, of which either axis may be the samples."""
    distance = distance_of_targets(tokens, targets)
    if distance is None and targets.size == tokens.size:
        return distance_of_targets(tokens.T, targets.reshape(tokens.shape).T), len(tokens)
    return distance, tokens.shape[1]


def _layer_that_sees(view: StepView, source: str, sequences: Mapping[str, Array], length: int) -> str:
    """Return a layer that sees later tokens of a sequence, with the reason; empty if none is known.

    If the model reads other tokens, too, its attentions may be to these, which need no mask. The attention of a decoder
    to its own input is known to be to the sequence if that depends on nothing but each token and its place.
    """
    tokens, model = sequences[source], source.rpartition("_")[0]
    others = [other for name, other in sequences.items() if name.rpartition("_")[0] == model]
    attentions = [layer.name for layer in view.program.layers if layer.type == ATTENTION]
    if not all(np.array_equal(other, tokens) for other in others):
        decoders = [layer.name for layer in view.program.layers if layer.type == DECODER]
        of_sequence = [name for name in decoders if _depends_on_tokens(view.value(f"{name}{FIRST_INPUT}"), tokens)]
        attentions = [name for name in attentions if name.removesuffix(".self_attn") in of_sequence]
    elif layer := _layer_that_reads_backwards(view, source, tokens):
        return layer
    found = next((name for name in attentions if _has_no_mask(view, name, length)), None)
    return f"the attention of {found!r} has no mask" if found is not None else ""


def _layer_that_reads_backwards(view: StepView, source: str, tokens: Array) -> str:
    """Return a recurrent layer that reads backwards, with the reason; empty if none is known, or it may read others."""
    is_keras = naming_scheme_of(view.trial) is KERAS  # whose inputs do not tell their model
    model = "" if is_keras else re.sub(r"input_\d+$", "", source)
    names = [name for name in [*view.selected(TOKENS), *_further_inputs(view)] if name.startswith(model)]
    if any(not np.array_equal(value.reshape(-1), tokens.reshape(-1)) for value in _values(view, names).values()):
        return ""
    if is_keras:
        layer = next((layer.name for layer in view.program.layers if layer.type == BIDIRECTIONAL), None)
        return f"the layer {layer!r} also reads backwards" if layer is not None else ""
    weight = next((name for name in view.tensor_names if name.startswith(model) and name.endswith("_reverse")), None)
    return f"a layer with the weights {weight!r} reads backwards" if weight is not None else ""


def _depends_on_tokens(states: Array | None, tokens: Array) -> bool:
    """Return whether states are the same wherever the same token is at the same place, and others are not."""
    if states is None or states.ndim != 3:
        return False
    for given in (states, np.swapaxes(states, 0, 1)):
        if given.shape[:2] != tokens.shape:
            continue
        for axis in range(2):  # either may be that of the places
            keys = tokens.astype(np.int64) * tokens.shape[axis] + np.indices(tokens.shape)[axis]
            _, firsts, groups = np.unique(keys, return_index=True, return_inverse=True)
            rows = to_float64(given).reshape(-1, given.shape[2])
            apart = np.abs(rows - rows[firsts][groups.reshape(-1)]).max()
            size = np.abs(rows - rows.mean(axis=0)).max()
            are_distinct = len(np.unique(rows[firsts], axis=0)) >= SAME * len(firsts)
            if keys.size - len(firsts) >= FEWEST_EQUAL and apart <= ROUNDING * size and are_distinct:
                return True
    return False


def _causal_attention(view: StepView, length: int) -> str:
    """Return an attention that hides later tokens of a sequence; empty if none is known."""
    for layer in view.program.layers:
        if layer.type == ATTENTION:
            values = [view.value(name) for name in _inputs_of(view, layer.name)]
            if any(value is not None and _is_causal(value, length) for value in values):
                return layer.name
    return ""


def _is_causal(mask: Array, length: int) -> bool:
    """Return whether a tensor hides from each place all later ones, by True or infinity, and no earlier one."""
    if mask.shape[-2:] != (length, length) or mask.ndim > 3:
        return False
    hides = mask if mask.dtype.kind == "b" else to_float64(mask) == -np.inf
    return bool(np.all(hides == np.triu(np.ones((length, length), bool), 1)))


def _inputs_of(view: StepView, layer: str) -> list[str]:
    return [name for name in view.tensor_names if re.fullmatch(rf"{re.escape(layer)}_input_\d+", name)]


def _has_no_mask(view: StepView, layer: str, length: int) -> bool:
    """Return whether an attention attends to the tokens of a sequence among each other, without a mask."""
    shapes = [value.shape for name in _inputs_of(view, layer) if (value := view.value(name)) is not None]
    attends = len(shapes) >= 3 and all(length in shape[:2] for shape in shapes[:3])
    return attends and not any(shape[-2:] == (length, length) for shape in shapes)
