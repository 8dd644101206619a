"""The program of a `RuleProcess`: a thread for each trial runs its rules, and reports news in lines of JSON."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from sagemaker_debug_ext._json import JSONObject
from sagemaker_debug_ext.looking.live.rule_choice import RuleChoice
from sagemaker_debug_ext.rules.evaluation.engine import Evaluation, evaluate
from sagemaker_debug_ext.rules.evaluation.results import MAX_KEPT_ISSUES
from sagemaker_debug_ext.rules.explain import explain
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.trials import Trial, create_trial

_TELL_SECONDS: Final = 0.5
"""Interval between two looks at the statuses."""


def main() -> None:
    """Run rules until the program that asks has ended."""
    lock = threading.Lock()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of rules is no answer

    def send(message: Mapping[str, Any]) -> None:
        with lock:
            answers.write(json.dumps(message) + "\n")
            answers.flush()

    request = json.loads(sys.stdin.readline())
    for number, path in enumerate(request["paths"]):
        choice = RuleChoice(**request["choice"])
        threading.Thread(target=_run_rules, args=(number, path, choice, send), daemon=True).start()
    sys.stdin.read()  # which ends with the other process
    os._exit(0)  # threads may wait for steps


def _run_rules(number: int, path: str, choice: RuleChoice, send: Callable[[Mapping[str, Any]], None]) -> None:
    def tell(**message: Any) -> None:
        send({"trial": number, **message})

    try:
        _run(create_trial(path, wait_seconds=0), choice, tell)
    except BrokenPipeError:
        return
    except Exception as error:  # noqa: BLE001 - whoever waits for the rules is told why there are none
        tell(error=f"{type(error).__name__}: {error}")
    else:
        tell(ended=True)


def _run(trial: Trial, choice: RuleChoice, tell: Callable[..., None]) -> None:
    next(iter(trial.follow()), None)  # the names of tensors, which parameters depend on, come with the first step
    rules = choice.make(trial)

    def tell_explanations() -> int:
        tell(explanations={name: explain(rule).to_json_dict() for name, rule in rules.items()})
        return len(trial.tensor_names())

    num_tensors = tell_explanations()
    evaluation = evaluate(rules, trial, start_step=choice.start, end_step=choice.end)
    ended = threading.Event()
    teller = threading.Thread(target=_tell_statuses, args=(evaluation, tell, ended), daemon=True)
    teller.start()
    for issue, is_first in _bounded(evaluation):
        news = {"statuses": _described(evaluation)} if is_first else {}
        tell(issue=issue.to_json_dict(), **news)
    ended.set()
    teller.join()
    if len(trial.tensor_names()) != num_tensors:
        tell_explanations()


def _bounded(evaluation: Evaluation) -> Iterator[tuple[Issue, bool]]:
    """Yield the first issues of each rule, and whether each is the very first; the status of the rule counts all."""
    counts: Counter[str] = Counter()
    for issue in evaluation:
        counts[issue.rule] += 1
        if counts[issue.rule] <= MAX_KEPT_ISSUES:
            yield issue, counts[issue.rule] == 1


def _described(evaluation: Evaluation) -> list[JSONObject]:
    return [status.to_json_dict() for status in evaluation.statuses]


def _tell_statuses(evaluation: Evaluation, tell: Callable[..., None], ended: threading.Event) -> None:
    """Report the statuses at every change, and once more at the end."""
    told: list[JSONObject] = []
    is_last = False
    while not is_last:
        is_last = ended.wait(_TELL_SECONDS)
        statuses = _described(evaluation)
        if statuses != told:
            tell(statuses=statuses)
            told = statuses


if __name__ == "__main__":
    main()
