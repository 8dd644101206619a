"""`invoke_rule`: one rule over one trial, as scripts for Debugger call it. For many rules see `evaluate`."""

from __future__ import annotations

import logging

from sagemaker_debug_ext.errors import NoMoreData, NoMoreProfilerData, RuleEvaluationConditionMet
from sagemaker_debug_ext.rules.base import NO_VERDICT, Rule, check_rule
from sagemaker_debug_ext.rules.evaluation.steps import iter_steps

LOG = logging.getLogger(__name__)


def invoke_rule(
    rule_obj: Rule,
    start_step: int = 0,
    end_step: int | None = None,
    raise_eval_cond: bool = False,
    *,
    follow: bool = True,
) -> None:
    """Invoke a rule at each saved step of its base trial, in order, until the job has ended.

    Steps that the rule cannot evaluate, because something it needs was not saved, are skipped.

    Args:
        rule_obj: The rule.
        start_step: First global step, inclusive.
        end_step: First global step that is not evaluated; None goes on to the end of the job.
        raise_eval_cond: Raise when the rule fires, instead of going on.
        follow: Wait for more steps while the job runs; otherwise only saved steps are evaluated.

    Raises:
        RuleEvaluationConditionMet: The rule fired, and `raise_eval_cond` is set.
        SMDebugTypeError: `rule_obj` is no rule, or a step is no number.
    """
    check_rule(rule_obj, "rule_obj")
    for step in iter_steps(rule_obj.base_trial, start_step, end_step, follow=follow):
        if not (_wait(rule_obj, raise_eval_cond) if step is None else _invoke(rule_obj, step, raise_eval_cond)):
            break
    rule_obj.evaluation_ended()


def _wait(rule: Rule, raise_eval_cond: bool) -> bool:
    """Evaluate a rule while no step arrives, and return whether to go on."""
    for issue in rule.issues_while_waiting():
        rule.actions.invoke(issue.message)
        met = RuleEvaluationConditionMet(rule.rule_name, issue.step)
        if raise_eval_cond:
            raise met
        LOG.info("%s", met)
    return True


def _invoke(rule: Rule, step: int, raise_eval_cond: bool) -> bool:
    """Invoke a rule at one step, and return whether to go on."""
    try:
        if type(rule).invoke is Rule.invoke:
            rule.invoke_at_present(step)  # iter_steps yields saved steps only
        else:
            rule.invoke(step)
    except (*NO_VERDICT, NoMoreData) as reason:
        LOG.debug("rule %s gives no verdict at step %d: %s", rule.rule_name, step, reason)
    except RuleEvaluationConditionMet as met:
        if raise_eval_cond:
            raise
        LOG.info("%s", met)
        return not met.end_of_rule
    except NoMoreProfilerData:
        return False
    return True
