"""``sagemaker-debug ls``: list the content of a trial."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from sagemaker_debug_ext._printable import printable_name
from sagemaker_debug_ext.cli import _arguments, _output
from sagemaker_debug_ext.errors import DebugExtError, SMDebugValueError, did_you_mean

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial
    from sagemaker_debug_ext.vocabulary import ModeKeys


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = _arguments.add_command(commands, "ls", "List steps, collections and tensors of a trial.", run)
    _arguments.add_trial(parser)
    parser.add_argument("--regex", action="append", help="only tensors whose name contains this pattern; repeatable")
    parser.add_argument("--collection", help="only tensors of this collection")
    _arguments.add_mode(parser)
    _arguments.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """List a trial."""
    from sagemaker_debug_ext.trials import create_trial

    trial = create_trial(arguments.trial, wait_seconds=0)
    _check_collection(arguments.collection, trial)
    names = trial.tensor_names(mode=arguments.mode, regex=arguments.regex, collection=arguments.collection)
    everything = trial.tensor_names()
    members = {key: sum(map(group.matches, everything)) for key, group in sorted(trial.collections().items())}
    summary = {
        "path": trial.path,
        "ended": trial.loaded_all_steps,
        "workers": trial.workers(),
        "steps": {mode.name: trial.steps(mode=mode) for mode in _modes(trial)},
        "collections": {name: count for name, count in members.items() if count},
        "tensors": [_describe(trial, name, arguments.mode) for name in names],
        "problems": [str(problem) for problem in trial.problems()],
    }
    if arguments.json:
        _output.write_json(summary)
    else:
        _print(summary)
    return 0


def _check_collection(name: str | None, trial: Trial) -> None:
    known = sorted(trial.collections())
    if name is not None and name not in known:
        raise SMDebugValueError(
            f"collection must be one of {printable_name(', '.join(known))} (got {name!r}){did_you_mean(name, known)}"
        )


def _modes(trial: Trial) -> list[ModeKeys]:
    from sagemaker_debug_ext.vocabulary import ModeKeys

    return [ModeKeys.GLOBAL, *sorted(trial.modes(), key=lambda mode: mode.value)]


def _describe(trial: Trial, name: str, mode: ModeKeys) -> dict[str, Any]:
    steps = trial.tensor(name).steps(mode=mode, show_incomplete_steps=True)
    collections = [key for key, collection in trial.collections().items() if collection.matches(name)]
    return {"name": name, "steps": len(steps), "first": steps[0], "last": steps[-1],
            "shape": _shape(trial, name, steps[0], mode), "collections": sorted(collections)}  # fmt: skip


def _shape(trial: Trial, name: str, step: int, mode: ModeKeys) -> tuple[int, ...] | None:
    try:
        return trial.tensor(name).shape(step, mode=mode)
    except DebugExtError:  # there is no shape if only reductions were saved or the record is damaged
        return None


def _print(summary: dict[str, Any]) -> None:
    state = "ended" if summary["ended"] else "not ended"
    _output.write(f"{summary['path']} ({state}), workers: {printable_name(', '.join(summary['workers']))}")
    counts = [f"{mode} {len(steps)}" for mode, steps in summary["steps"].items()]
    _output.write(f"steps: {', '.join(counts)}")
    collections = [f"{name} ({count})" for name, count in summary["collections"].items()]
    _output.write(f"collections: {printable_name(', '.join(collections))}")
    for problem in summary["problems"]:
        _output.say(f"problem: {problem}")
    _output.write()
    if not summary["tensors"]:
        _output.say("no tensor was saved, or none matches the options")
        return
    headers = ("TENSOR", "STEPS", "FIRST", "LAST", "SHAPE", "COLLECTIONS")
    rows = [
        (item["name"], item["steps"], item["first"], item["last"], item["shape"], ", ".join(item["collections"]))
        for item in summary["tensors"]
    ]
    _output.write(_output.format_table(headers, rows))
