"""The process of an isolated rule: reads requests as lines of JSON, answers each with one; see `rules.isolation`."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping
from typing import IO, Any

from sagemaker_debug_ext.errors import NoMoreData, RuleEvaluationConditionMet, StepNotYetAvailable
from sagemaker_debug_ext.rules.base import NO_VERDICT, Rule
from sagemaker_debug_ext.rules.factory.creation import make_rule
from sagemaker_debug_ext.rules.factory.reference import RuleReference


def main() -> None:
    """Serve until there are no more requests."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of the rule goes to stderr, so that it is not read as an answer
    rule: Rule | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if rule is None:
                rule = _make(request)
                answer = _introduce(rule)
            else:
                answer = _serve(rule, request)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code, and the engine waits for an answer
            answer = {"error": {"class": type(error).__name__, "text": str(error)}}
        _send(answers, answer)


def _send(stream: IO[str], answer: Mapping[str, Any]) -> None:
    stream.write(json.dumps(answer) + "\n")
    stream.flush()


def _make(request: Mapping[str, Any]) -> Rule:
    from sagemaker_debug_ext.compat import install_smdebug_alias  # noqa: PLC0415 - only if asked for
    from sagemaker_debug_ext.trials import create_trial  # noqa: PLC0415 - belongs here, as errors are reported

    if request["memory_bytes"]:
        _limit_memory(request["memory_bytes"])
    if request["smdebug_alias"]:
        install_smdebug_alias()
    return make_rule(RuleReference(**request["rule"]), create_trial(request["trial_path"], wait_seconds=0))


def _limit_memory(number: int) -> None:
    import resource  # noqa: PLC0415 - Windows has none

    # not the address space: libraries reserve far more of it than they use
    with contextlib.suppress(ValueError, OSError):  # macOS does not limit it, and an administrator may already have
        resource.setrlimit(resource.RLIMIT_DATA, (number, number))


def _introduce(rule: Rule) -> dict[str, Any]:
    return {
        "rule_name": rule.rule_name,
        "watches_waiting": type(rule).issues_while_waiting is not Rule.issues_while_waiting,
        "finishes": type(rule).evaluation_ended is not Rule.evaluation_ended,
        "unless_learnt": rule.unless_learnt,
    }


def _serve(rule: Rule, request: Mapping[str, Any]) -> dict[str, Any]:
    if "waiting" in request:
        rule.base_trial.maybe_refresh()  # because no step announces the end of the job
        return {"issues": [issue.to_json_dict() for issue in rule.issues_while_waiting()]}
    if "end" in request:
        rule.output_path = request["end"]
        rule.evaluation_ended()
        return {"issues": []}
    try:
        rule.base_trial.wait_for_steps([request["step"]])
        return {"issues": [issue.to_json_dict() for issue in rule.issues_at(request["step"])]}
    except RuleEvaluationConditionMet as met:
        return {"met": met.end_of_rule}
    except (*NO_VERDICT, StepNotYetAvailable, NoMoreData) as reason:
        return {"no_verdict": str(reason)}


if __name__ == "__main__":
    main()
