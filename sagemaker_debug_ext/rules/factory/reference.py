"""`RuleReference`: a rule by name and parameters, from which any process can make it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from sagemaker_debug_ext.analysis.utils import parse_list_from_str
from sagemaker_debug_ext.catalog import other_trials

_ACTIONS: Final = "action_json"
_NOT_FOR_THE_RULE: Final = frozenset({"rule_to_invoke", "source_s3_uri", "base_trial", _ACTIONS})
"""Parameters of a request that choose the rule and its actions."""

_OTHER_TRIALS: Final = ("other_trials", "other_trial")
"""Parameters that hold paths of other trials, as a list or separated by commas."""


@attrs.frozen(kw_only=True)
class RuleReference:
    """A rule and its parameters, as `create_rule` and `create_custom_rule` take them.

    Args:
        rule: Name in the catalog, or the class in `source`.
        parameters: Its parameters; also ``action_json``, and the paths ``other_trial_0``, ….
        source: The Python file that has the rule, reachable from everywhere; None for a rule of the catalog.
    """

    rule: str
    parameters: Mapping[str, Any] = attrs.field(factory=dict)
    source: str | None = None

    @property
    def own_parameters(self) -> dict[str, Any]:
        """The parameters of the rule itself, without actions and other trials."""
        return {
            name: value
            for name, value in self.parameters.items()
            if name not in (*_NOT_FOR_THE_RULE, *_OTHER_TRIALS) and not other_trials({name: value})
        }

    @property
    def actions(self) -> Any:
        """The actions, as JSON; None if there are none."""
        return self.parameters.get(_ACTIONS)

    @property
    def other_trial_paths(self) -> list[Any]:
        """Paths of the other trials that the parameters name, in their order."""
        listed = next((self.parameters[name] for name in _OTHER_TRIALS if self.parameters.get(name)), None)
        return other_trials(self.parameters) or parse_list_from_str(listed)

    def without_actions(self) -> RuleReference:
        """Return the same rule, which does nothing when it fires."""
        parameters = {name: value for name, value in self.parameters.items() if name != _ACTIONS}
        return attrs.evolve(self, parameters=parameters)
