"""StalledTrainingRule: no new step arrives."""

from __future__ import annotations

import json
from typing import Any

from sagemaker_debug_ext.errors import InsufficientInformationForRuleInvocation
from sagemaker_debug_ext.rules.action import Actions
from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.selection import ALL_TENSORS
from sagemaker_debug_ext.rules.reading.step_view import StepView


class StalledTrainingRule(BuiltinRule):
    """Training has stalled: no new step arrives.

    While a job runs, the rule fires if no step has become visible for `threshold` seconds since the last one, or since
    the rule began. For a trial that has ended, or whose past steps are being read, it fires at each step after which
    the next one became visible at least `threshold` seconds later. This holds in a folder and on S3. The time after the
    last step counts until the job has marked its end. The rule fires once for each gap, at the step before the gap.

    Parameters:
        threshold: Seconds of silence after which training has stalled; 1800 when not given.
        stop_training_on_fire: Whether to stop the job when the rule fires; False when not given.
        training_job_name_prefix: Prefix of the name of the job to stop; if several running jobs match, none is stopped.

    Example:
        >>> rule = create_rule("StalledTrainingRule", trial, {"threshold": 600})
        >>> invoke_rule(rule)
    """

    spec_name = "StalledTrainingRule"
    advice = (
        "Find the step that hangs in the log of the job: data do not arrive, workers wait for each other, or "
        "a disk is full. If steps are saved less often than the threshold, raise the threshold."
    )
    selection = ALL_TENSORS

    def configure(self) -> None:
        prefix = self.parameters["training_job_name_prefix"]
        self._stopping: dict[str, Any] | None = None
        if self.parameters["stop_training_on_fire"]:
            if not prefix:
                raise InsufficientInformationForRuleInvocation(
                    self.rule_name, "training_job_name_prefix must be given with stop_training_on_fire (got none)"
                )
            self._stopping = {"name": "stoptraining", "training_job_prefix": prefix}
        self._last_step = 0
        self._last_news = self.clock()
        self._has_fired_since = False

    def give_actions(self, actions: Actions) -> None:
        """Set the actions, including the one that stops the job if the parameters ask for it."""
        if self._stopping is not None:
            actions = actions.extended(json.dumps(self._stopping))
        super().give_actions(actions)

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if the next step came late, or is overdue."""
        self._last_step = view.step
        self._last_news = self.clock()
        self._has_fired_since = False
        silence = self._silence_after(view)
        if silence is None:
            return [] if not view.trial.loaded_all_steps else None
        return self._issues(silence)

    def issues_while_waiting(self) -> list[Issue]:
        """Return an issue if no step has arrived for too long."""
        if self._has_fired_since or self.base_trial.loaded_all_steps:
            return []
        return self._issues(self.clock() - self._last_news)

    def _silence_after(self, view: StepView) -> float | None:
        """Return the number of seconds without a step after a step, or None if it is unknown."""
        reader = view.trial.index_reader
        since = reader.visible_since(view.step)
        following = reader.step_after(view.step)
        if following is not None:
            until = reader.visible_since(following)
        elif view.trial.loaded_all_steps or reader.events.backend.is_remote:  # its clock may differ
            until = None
        else:
            until = self.clock()
        return None if since is None or until is None else until - since

    def _issues(self, silence: float) -> list[Issue]:
        limit: int = self.parameters["threshold"]
        if silence < limit:
            return []
        self._has_fired_since = True
        text = (
            f"Training has stalled: nothing followed step {self._last_step} for {silence:.0f} s (at most {limit} s "
            "allowed)."
        )
        return [self.issue(self._last_step, text, value=silence, threshold=limit, advice=self.advice)]
