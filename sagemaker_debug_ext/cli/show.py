"""``sagemaker-debug show``: show one tensor at one step or over all steps."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from sagemaker_debug_ext._printable import printable_name
from sagemaker_debug_ext.cli import _arguments, _output
from sagemaker_debug_ext.errors import SMDebugValueError, TensorUnavailable, TensorUnavailableForStep

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Tensor, Trial

_STATISTICS: Final = ("min", "max", "mean", "std")

_MOST_ROWS: Final = 30
"""Maximum number of rows; of more steps, the first and last ones are shown unless all are requested."""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = _arguments.add_command(commands, "show", "Show a tensor: its values at a step, or over the steps.", run)
    _arguments.add_trial(parser)
    parser.add_argument("tensor", metavar="TENSOR", help="name of the tensor, as listed by ls")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--step", type=int, metavar="N", help="show the values at this step")
    which.add_argument("--last", type=_arguments.parse_count, metavar="N", help="show the last N steps only")
    which.add_argument(
        "--all",
        action="store_true",
        help=f"show all steps; by default, only the first and the last of more than {_MOST_ROWS}, but all as JSON",
    )
    _arguments.add_mode(parser)
    parser.add_argument("--worker", help="the worker whose values to show (default: the first)")
    _arguments.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show a tensor."""
    from sagemaker_debug_ext.trials import create_trial

    tensor = _find(create_trial(arguments.trial, wait_seconds=0), arguments.tensor)
    if arguments.step is None:
        _show_course(tensor, arguments)
    else:
        _show_value(tensor, arguments)
    return 0


def _find(trial: Trial, name: str) -> Tensor:
    """Return a tensor; if it does not exist, the error lists tensors whose names contain the given one."""
    try:
        return trial.tensor(name)
    except TensorUnavailable as error:
        near = [known for known in error.known if name.casefold() in known.casefold()]
        if len(near) < 2:  # the original error suggests a near one
            raise
        examples = ", ".join(near[:3]) + (", …" if len(near) > 3 else "")
        raise SMDebugValueError(
            f"there is no tensor {name!r}, but {len(near)} whose names contain it: {examples}"
        ) from error


def _place(tensor: Tensor, step: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the mode of a step and the step within it, from a global or a mode step."""
    from sagemaker_debug_ext.vocabulary import ModeKeys

    trial = tensor.trial
    global_step = step if arguments.mode is ModeKeys.GLOBAL else trial.global_step(arguments.mode, step)
    mode, mode_step = (None, None) if global_step is None else trial.mode_modestep(global_step)
    return {
        "step": global_step,
        "mode": mode.name if mode else None,
        "mode_step": mode_step,
        "worker": arguments.worker or tensor.workers(step, mode=arguments.mode)[0],
    }


def _measure(tensor: Tensor, step: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return a one-line summary of a value: a scalar itself, else a few reductions.

    A reduction is None if neither it nor the value was saved.
    """
    try:
        value = tensor.value(step, mode=arguments.mode, worker=arguments.worker)
    except TensorUnavailableForStep:
        value = None
    if value is not None and value.size == 1:
        return {"value": value.item()}
    return {name: _statistic(tensor, step, name, arguments) for name in _STATISTICS}


def _statistic(tensor: Tensor, step: int, name: str, arguments: argparse.Namespace) -> Any:
    try:
        return tensor.reduction_value(step, name, mode=arguments.mode, worker=arguments.worker).item()
    except (TensorUnavailableForStep, SMDebugValueError, TypeError):  # empty tensors lack a minimum, strings a mean
        return None


def _show_value(tensor: Tensor, arguments: argparse.Namespace) -> None:
    import numpy as np

    value = tensor.value(arguments.step, mode=arguments.mode, worker=arguments.worker)
    entry = {
        "tensor": tensor.name,
        **_place(tensor, arguments.step, arguments),
        "dtype": str(value.dtype),
        "shape": list(value.shape),
        **_measure(tensor, arguments.step, arguments),
    }
    if arguments.json:
        _output.write_json({**entry, "value": value})
        return
    for key, item in entry.items():
        _output.write(f"{key + ':':<11}{_output.format_cell(item)}")
    _output.write(np.array2string(value, threshold=1000))


def _show_course(tensor: Tensor, arguments: argparse.Namespace) -> None:
    steps = tensor.steps(mode=arguments.mode, show_incomplete_steps=True)[-(arguments.last or 0) :]
    is_whole = arguments.json or arguments.all or arguments.last
    num_left_out = 0 if is_whole else max(len(steps) - _MOST_ROWS, 0)
    if num_left_out:
        steps = [*steps[: _MOST_ROWS // 2], *steps[-_MOST_ROWS // 2 :]]
    rows = [{**_place(tensor, step, arguments), **_measure(tensor, step, arguments)} for step in steps]
    if arguments.json:
        _output.write_json({"tensor": tensor.name, "steps": rows})
        return
    if not rows:
        _output.write(f"{printable_name(tensor.name)} was not saved at any step of mode {arguments.mode.name}")
        return
    headers = list(dict.fromkeys(key for row in rows for key in row))
    _output.write(printable_name(tensor.name))
    cells = [[row.get(key) for key in headers] for row in rows]
    table = _output.format_table([key.upper() for key in headers], cells).splitlines()
    if num_left_out:
        table.insert(1 + _MOST_ROWS // 2, f"… {num_left_out} steps left out: --all shows them")
    _output.write("\n".join(table))
