"""Trials that are looked at while their jobs run: what is known of them, and their screens as text."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time

import attrs
import numpy as np
import pytest

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.looking import tell_story
from sagemaker_debug_ext.looking.live.board import Board
from sagemaker_debug_ext.looking.live.rule_choice import RuleChoice
from sagemaker_debug_ext.looking.material import MaterialReader, gather
from sagemaker_debug_ext.looking.terminal.drawing import curve_lines, plain
from sagemaker_debug_ext.looking.terminal.lines import first_screen, follow
from sagemaker_debug_ext.looking.terminal.screens import SCREENS, View, draw, pulse_text
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import Trial, create_trial
from sagemaker_debug_ext.trials.index.reader import TrialReader
from sagemaker_debug_ext.vocabulary import ModeKeys

from .conftest import BROKEN_AT, becomes_nan, write_job

RULES = RuleChoice(names=("ExplodingTensor", "DeadRelu"))


@pytest.fixture
def boards():
    """Return a function that opens a board over folders."""
    with contextlib.ExitStack() as stack:
        yield lambda *paths, choice=RULES: stack.enter_context(
            contextlib.closing(Board([create_trial(str(path), wait_seconds=0) for path in paths], choice))
        )


def write_steps(trial, first, last, names=("net.a.weight", "net.b.weight")):
    for step in range(first, last):
        tensors = {name: np.full((3, 2), 1.0 + step, "f4") for name in names}
        tensors |= {f"gradient/{name}": np.full((3, 2), 0.5 + number, "f4") for number, name in enumerate(names)}
        trial.write(ModeKeys.TRAIN, step, {"CrossEntropyLoss_output_0": np.float32(1 / (1 + step)), **tensors})


def raising(error):
    """Return a function that raises an error whatever it gets."""

    def fail(*_arguments, **_options):
        raise error

    return fail


def until(happened, seconds=60.0):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.02)


def same_material(one, other):
    assert list(one.measures.grids) == list(other.measures.grids)
    for name, grid in one.measures.grids.items():
        assert (grid.tensors, grid.steps) == (other.measures.grids[name].tensors, other.measures.grids[name].steps)
        np.testing.assert_array_equal(grid.values, other.measures.grids[name].values)
        np.testing.assert_array_equal(grid.saved, other.measures.grids[name].saved)
    assert [(c.name, c.mode, c.steps) for c in one.curves] == [(c.name, c.mode, c.steps) for c in other.curves]
    for curve, as_one in zip(one.curves, other.curves, strict=True):
        np.testing.assert_array_equal(curve.values, as_one.values)


def test_material_when_read_in_parts_then_the_same_as_at_once(tmp_path):
    """New steps are added to what is known, whatever comes: more steps than there was room for, and new tensors."""
    writer = SmallTrial(tmp_path / "job")
    write_steps(writer, 0, 3)
    trial = create_trial(str(tmp_path / "job"), wait_seconds=0)
    reader = MaterialReader(trial)
    for first, last, names in ((3, 4, 2), (4, 90, 2), (90, 95, 3), (95, 99, 2)):
        reader.read(None, 60)
        write_steps(writer, first, last, [f"net.{letter}.weight" for letter in "abc"[:names]])
        trial.index_reader.follow()
    writer.end()
    trial.index_reader.follow()
    read = reader.read(None, 60)
    same_material(read, gather(create_trial(str(tmp_path / "job")), None))
    assert (read.measures.num_read, read.measures.num_steps) == (99, 99)


def test_material_when_a_step_between_others_comes_late_then_it_is_there(tmp_path):
    """A worker that lags completes steps after later ones were read."""
    writer = SmallTrial(tmp_path / "job")
    trial = create_trial(str(tmp_path / "job"), wait_seconds=0)
    reader = MaterialReader(trial)
    for step in (0, 1, 4, 2, 3):
        tensors = {"gradient/net.a.weight": np.full(3, step + 1, "f4"), "loss": np.float32(step)}
        writer.write(ModeKeys.TRAIN, step, tensors, global_step=step)
        trial.index_reader.refresh(everything=True)
        read = reader.read(None, 60)
    assert read.measures.grids["gradient_norm"].steps == (0, 1, 2, 3, 4)
    assert read.curves[0].values.tolist() == [0, 1, 2, 3, 4]


def test_board_when_the_job_runs_then_new_steps_and_issues_come(tmp_path, boards):
    """What is known grows with the trial, and rules of another process tell what they find."""
    writer = SmallTrial(tmp_path / "job")
    write_steps(writer, 0, 3)
    board = boards(tmp_path / "job")
    until(lambda: board.version)
    assert board.snapshot().story.trials[0].last_step == 2
    assert board.pulses()[0].state == "running"
    nan = np.full((3, 2), np.nan, "f4")
    writer.write(ModeKeys.TRAIN, 3, {"gradient/net.a.weight": nan, "gradient/net.b.weight": nan})
    until(lambda: board.snapshot().story.has_issues)
    story = board.snapshot().story
    assert (story.findings[0].cause, story.findings[0].found_at) == ("not finite", 3)
    assert {rule.name: rule.state for rule in story.rules}["DeadRelu"] == "lacks tensors"
    writer.end()
    until(board.has_ended)
    assert board.pulses()[0].state == "ended"


def test_board_when_the_job_has_ended_then_the_story_of_a_report(tmp_path, boards):
    """Watching to the end tells what a report tells."""
    path = write_job(tmp_path / "job", fault=becomes_nan)
    board = boards(path, choice=RuleChoice())
    until(board.has_ended)
    story, expected = board.snapshot().story, tell_story([create_trial(path)])
    assert story.headline == expected.headline
    assert story.findings == expected.findings
    assert story.rules == expected.rules


def test_board_when_the_trial_vanishes_then_it_is_said_and_the_last_values_stay(tmp_path, boards):
    """A folder that was deleted is a trouble, not an end."""
    writer = SmallTrial(tmp_path / "job")
    write_steps(writer, 0, 3)
    board = boards(tmp_path / "job", choice=None)
    until(lambda: board.version)
    shutil.rmtree(tmp_path / "job")
    until(lambda: board.pulses()[0].trouble)
    pulse = board.pulses()[0]
    assert pulse.trouble == f"{tmp_path / 'job'} cannot be read any more: its folder is gone"
    assert pulse.state is None
    assert board.snapshot().story.trials[0].last_step == 2


def test_board_when_the_storage_fails_for_a_while_then_it_goes_on_afterwards(tmp_path, boards, monkeypatch):
    """Wherever it fails while the trial is looked at."""
    writer = SmallTrial(tmp_path / "job")
    write_steps(writer, 0, 3)
    board = boards(tmp_path / "job", choice=None)
    until(lambda: board.version)
    for place in (TrialReader, Trial):
        with monkeypatch.context() as failing:
            method = "follow" if place is TrialReader else "job_state"
            failing.setattr(place, method, raising(OSError("no route to host")))
            until(lambda: board.pulses()[0].trouble)
        assert board.pulses()[0].trouble.endswith("no route to host")
        until(lambda: not board.pulses()[0].trouble)
    write_steps(writer, 3, 5)
    until(lambda: board.pulses()[0].last_step == 4)


def test_board_when_a_rule_is_wrong_then_why_it_does_not_run(tmp_path, boards):
    """The trial is shown all the same."""
    board = boards(
        write_job(tmp_path / "job", steps=4), choice=RuleChoice(parameters={"DeadRelu": {"threshold_layer": "x"}})
    )
    until(lambda: board.version and board.pulses()[0].trouble)
    assert board.pulses()[0].trouble.startswith("its rules do not run: ")
    assert "threshold_layer" in board.pulses()[0].trouble
    assert board.snapshot().story.trials[0].last_step == 3


def test_rule_choice_when_a_name_is_wrong_then_refused(sound):
    """There is no such rule."""
    with pytest.raises(SMDebugValueError, match="NoSuchRule"):
        RuleChoice(names=("NoSuchRule",)).make(sound)


def test_first_screen_when_a_layer_broke_then_cause_place_time_and_pictures_fit(tmp_path, boards):
    """80 × 24 characters say what a person needs first, without colours."""
    board = boards(write_job(tmp_path / "job", fault=becomes_nan), choice=RuleChoice())
    text = first_screen(board, 80, 24)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 24
    assert "✖ Not finite in" in text
    assert "the gradient of layer2.weight" in text.replace("\n", "")
    assert f"step\u00a0{BROKEN_AT}" in text or f"step {BROKEN_AT}" in text.replace("\n", " ")
    assert "Try: " in text
    assert "● ExplodingTensor" in text
    assert any(line.startswith("►layer2.weight") and line.endswith("✖" * 10) for line in lines)


@pytest.mark.parametrize("name", SCREENS)
@pytest.mark.parametrize(("width", "height"), [(80, 22), (40, 8), (200, 60)])
def test_screen_when_of_any_size_then_it_fits(tmp_path, boards, name, width, height):
    """No screen is wider or higher than asked for, whatever names the tensors have."""
    names = ("net.\x1b[2J.weight", "net.[bold]x.weight", f"net.{'x' * 300}.weight", "net.a\nb.weight")
    board = boards(write_job(tmp_path / "job", names=names, steps=12), choice=None)
    until(lambda: board.version)
    lines = [plain(line) for line in draw(name, board.snapshot(), View(width, height))]
    assert 0 < len(lines) <= height
    assert max(map(len, lines)) <= width
    assert all(character.isprintable() or character == "\u00a0" for line in lines for character in line)


def test_follow_when_piped_then_a_line_for_each_event_until_the_end(tmp_path, boards):
    """Steps, findings and the end are told once each."""
    writer = SmallTrial(tmp_path / "job")
    write_steps(writer, 0, 3)
    board = boards(tmp_path / "job")
    lines = []
    reading = threading.Thread(target=lambda: lines.extend(follow(board)))
    reading.start()
    until(lambda: board.version)
    writer.write(ModeKeys.TRAIN, 3, {"gradient/net.a.weight": np.full((3, 2), np.nan, "f4")})
    until(lambda: board.snapshot().story.has_issues)
    writer.end()
    reading.join(60)
    assert not reading.is_alive()
    assert lines[0] == "job: running"
    assert [line for line in lines if "ExplodingTensor" in line] == ["job: ExplodingTensor found at step 3"]
    assert lines[-1].startswith("job: Not finite in the gradient of a.weight: from step 3 on")


def test_curve_lines_when_a_value_stands_out_then_its_dot_is_drawn():
    """The highest value is in the picture, as a peak, and all that is NaN has none."""
    values = np.ones(400)
    values[200] = 9.0
    rows, low, high = curve_lines([(range(400), values)], 20, 4)
    assert (low, high) == (1, 9)
    assert rows[0].strip()
    assert len(rows[0].strip()) <= 2
    empty, *_ = curve_lines([(range(3), np.full(3, np.nan))], 20, 4)
    assert empty == [""] * 4


def test_pulse_when_reading_lags_then_how_far_is_shown_until_all_is_read(tmp_path, boards):
    """A job may write faster than this machine reads; the latest step is read before those between."""
    writer = SmallTrial(tmp_path / "job")
    write_steps(writer, 0, 300)
    writer.end()
    reader = MaterialReader(create_trial(str(tmp_path / "job")))
    lagging = reader.read(None, 0).measures
    assert 0 < lagging.num_read < lagging.num_steps == 300
    assert lagging.grids["gradient_norm"].steps[-1] == 299
    board = boards(tmp_path / "job", choice=None)
    until(board.has_ended)
    (pulse,) = board.snapshot().pulses
    assert "behind" not in pulse_text(pulse)
    assert " · 234 steps behind" in pulse_text(attrs.evolve(pulse, num_unread=234))
    while (now := reader.read(None, 0).measures).num_read < now.num_steps:
        pass
    assert now.grids["gradient_norm"].steps == tuple(range(300))
