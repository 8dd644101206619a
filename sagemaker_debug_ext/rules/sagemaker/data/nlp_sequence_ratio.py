"""NLPSequenceRatio: too many padding or unknown tokens in a batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.reading.numeric import Array
from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.step_view import StepView


def token_percent(tokens: Array, value: float) -> float:
    """Return the percentage of elements that equal `value`."""
    return 100.0 * int(np.count_nonzero(tokens == value)) / tokens.size


class NLPSequenceRatio(TensorRule):
    """Some tokens, such as padding or unknown words, make up too much of a batch.

    Checks sequences of token ids, at every saved step of every mode. The rule fires if the percentage of one of the
    tokens is above its threshold.

    Parameters:
        tensor_regex: Regular expressions searched in tensor names, as a list or separated by commas;
            ``.*embedding0_input_0`` when not given.
        token_values: Token ids to count, as a list or separated by commas; 0 when not given.
        token_thresholds_percent: Largest percentage of each token, one number per token id; 50 when not given.

    Example:
        >>> parameters = {"tensor_regex": "embedding_input", "token_values": "0,1", "token_thresholds_percent": "40,5"}
        >>> rule = create_rule("NLPSequenceRatio", trial, parameters)
        >>> invoke_rule(rule)
    """

    spec_name = "NLPSequenceRatio"
    is_stateless = True
    advice = (
        "Batch sequences of similar length to pad less, and cut very long ones. If unknown words are "
        "frequent, enlarge the vocabulary."
    )

    def configure(self) -> None:
        values, limits = self.parameters["token_values"], self.parameters["token_thresholds_percent"]
        if len(values) != len(limits):
            raise SMDebugValueError(
                f"parameters 'token_values' and 'token_thresholds_percent' of rule {self.rule_name} must have the same "
                f"length (got {list(values)} and {list(limits)})"
            )
        self._limits = dict(zip(values, limits, strict=True))
        self.selection = Selection(patterns=self.parameters["tensor_regex"])

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the percentage of the token that exceeds its threshold by most."""
        tokens = view.value(name)
        if tokens is None:
            return None
        shares = {token: token_percent(tokens, token) for token in self._limits}
        worst = max(shares, key=lambda token: shares[token] - self._limits[token])
        excess = shares[worst] - self._limits[worst]
        return Measurement(
            shares[worst], fires=excess > 0, threshold=self._limits[worst], severity=excess, text=f"{worst:g}"
        )

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return (
            f"Token {first.text} is too frequent in {describe_tensors(names)}: it makes up {first.value:.1f} % of "
            f"the first, more than the {first.threshold:g} % allowed."
        )
