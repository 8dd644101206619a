"""`Issue`: what a rule found at one step, as a value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from sagemaker_debug_ext._json import JSONObject, json_number
from sagemaker_debug_ext.vocabulary import ModeKeys


def _as_tuple(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(names)


@attrs.frozen(kw_only=True)
class Issue:
    """What a rule found at one step.

    Args:
        rule: Name of the rule, or of the configuration that chose it.
        step: The global step.
        mode: Mode of that step; None when the trial does not know it.
        mode_step: Number of that step within its mode.
        tensors: The tensors concerned, the one that speaks loudest first; empty when the rule does not say.
        worker: The worker whose values were read; None when the rule does not say.
        value: What was measured, of the first tensor.
        threshold: The limit that `value` was compared with.
        message: What was found, as a sentence for a person.
        advice: What to try; empty when the rule does not say.
    """

    rule: str
    step: int = attrs.field(converter=int)
    mode: ModeKeys | None = None
    mode_step: int | None = None
    tensors: tuple[str, ...] = attrs.field(default=(), converter=_as_tuple)
    worker: str | None = None
    value: float | None = attrs.field(default=None, converter=attrs.converters.optional(float))
    threshold: float | None = attrs.field(default=None, converter=attrs.converters.optional(float))
    message: str = ""
    advice: str = ""

    def to_json_dict(self) -> JSONObject:
        """Return the issue as a JSON object; numbers that JSON lacks are texts, see `json_number`."""
        return {
            "rule": self.rule,
            "step": self.step,
            "mode": self.mode.name if self.mode else None,
            "mode_step": self.mode_step,
            "tensors": list(self.tensors),
            "worker": self.worker,
            "value": None if self.value is None else json_number(self.value),
            "threshold": None if self.threshold is None else json_number(self.threshold),
            "message": self.message,
            "advice": self.advice,
        }

    @classmethod
    def from_json_dict(cls, described: Mapping[str, Any]) -> Issue:
        """Return the issue that `to_json_dict` described."""
        fields = dict(described)
        fields["mode"] = ModeKeys[fields["mode"]] if fields["mode"] else None
        return cls(**fields)

    def to_json(self) -> str:
        """Return `to_json_dict` as JSON text."""
        return json.dumps(self.to_json_dict())
