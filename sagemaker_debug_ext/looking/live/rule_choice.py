"""`RuleChoice`: the rules to run over a trial, by name, before the trial is open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from sagemaker_debug_ext.rules.factory.creation import create_rule
from sagemaker_debug_ext.rules.recommended import recommended_parameters

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.base import Rule
    from sagemaker_debug_ext.trials import Trial


@attrs.frozen(kw_only=True)
class RuleChoice:
    """The rules to run over a trial.

    Args:
        names: Names of the rules; empty for the recommended ones.
        parameters: Name of a rule → its parameters, where they differ from the usual ones.
        start: First global step to evaluate.
        end: First global step not to evaluate.
    """

    names: tuple[str, ...] = ()
    parameters: Mapping[str, Mapping[str, str]] = attrs.field(factory=dict)
    start: int = 0
    end: int | None = None

    def make(self, trial: Trial) -> dict[str, Rule]:
        """Return the rules over a trial, by name.

        Raises:
            SMDebugValueError: There is no such rule, or a parameter is wrong.
        """
        usual: Mapping[str, Mapping[str, Any]] = (
            {name: {} for name in self.names} if self.names else recommended_parameters(trial)
        )
        return {
            name: create_rule(name, trial, {**parameters, **self.parameters.get(name, {})})
            for name, parameters in usual.items()
        }
