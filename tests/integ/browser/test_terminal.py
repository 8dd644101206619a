"""The application in the terminal, by Textual's pilot."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import pytest

from sagemaker_debug_ext.looking.live.board import Board
from sagemaker_debug_ext.looking.live.rule_choice import RuleChoice
from sagemaker_debug_ext.testing.trials import SmallTrial, write_trial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

pytest.importorskip("textual")

HOSTILE = "net.[red]\x1b[2J.weight"


@pytest.fixture
def board(tmp_path):
    steps = {}
    for step in range(30):
        gradient = np.full(4, np.nan if step >= 20 else 1.0, "f4")
        names = ("net.a.weight", HOSTILE, *(f"net.layer{number}.weight" for number in range(40)))
        tensors = {f"gradient/{name}": gradient if name == HOSTILE else np.ones(4, "f4") for name in names}
        steps[ModeKeys.TRAIN, step] = {"CrossEntropyLoss_output_0": np.float32(1 / (1 + step)), **tensors}
    write_trial(tmp_path / "job", steps)
    choice = RuleChoice(names=("ExplodingTensor", "DeadRelu"))
    with contextlib.closing(Board([create_trial(str(tmp_path / "job"))], choice)) as opened:
        end = time.monotonic() + 60
        while not opened.has_ended():
            assert time.monotonic() < end
            time.sleep(0.05)
        yield opened


def text_of(app):
    return str(app.query_one("#text").render())


def test_terminal_when_keys_are_pressed_then_the_screens(board):
    """Each number is a screen; a filter chooses names; a name is text; q ends."""
    from sagemaker_debug_ext.looking.terminal.app import WatchApp

    async def walk():
        app = WatchApp(board)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            first = text_of(app)
            assert "✖ Not finite in" in first
            assert "● ExplodingTensor 20" in first
            assert "Try: " in first
            assert "\x1b" not in first
            assert len(first.splitlines()) == 24
            if "REPORT_PICTURES" in os.environ:
                Path(os.environ["REPORT_PICTURES"]).mkdir(parents=True, exist_ok=True)
                app.save_screenshot(str(Path(os.environ["REPORT_PICTURES"], "terminal.svg")))
            await pilot.press("2")
            assert "layer39" in text_of(app)
            await pilot.press("down", "down")
            assert "layer39" not in text_of(app)
            await pilot.press("slash", *"[red]", "enter")
            assert "1 of 42 tensors" in text_of(app)
            assert "\x1b" not in text_of(app)
            await pilot.press("escape", "slash", *"layer3", "enter")
            assert "layer39" in text_of(app)
            assert "layer21" not in text_of(app)
            await pilot.press("escape", "3")
            assert "CrossEntropyLoss_output_0" in text_of(app)
            await pilot.press("4")
            assert "DeadRelu" in text_of(app)
            await pilot.press("5")
            assert "none to compare" in text_of(app)
            await pilot.resize_terminal(40, 10)
            await pilot.press("1")
            assert len(text_of(app).splitlines()) == 10
            await pilot.press("q")
        assert app.return_code == 0

    asyncio.run(walk())


def test_terminal_when_a_step_comes_then_80_by_24_are_repainted_in_less_than_30_kb(tmp_path):
    """The real program in a terminal as ssh gives one; the second step has colours that were not there before."""
    trial = SmallTrial(tmp_path / "job")
    random = np.random.RandomState(0)

    def write(step):
        names = [f"gradient/layer{number}.weight" for number in range(40)]
        gradients = {name: np.full(3, np.nan) if step == 9 else random.lognormal(0, 2, 3) for name in names}
        trial.write(ModeKeys.TRAIN, step, {"CrossEntropyLoss_output_0": np.float32(1 / (1 + step)), **gradients})

    for step in range(8):
        write(step)
    terminal, end = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [sys.executable, "-m", "sagemaker_debug_ext.cli.main", "watch", "--terminal", "--no-rules"]
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": "80", "LINES": "24"}
    process = subprocess.Popen(
        [*command, str(tmp_path / "job")], stdin=end, stdout=end, stderr=end, env=environment, start_new_session=True
    )
    os.close(end)  # reading fails when the program has ended
    try:

        def read_until(text):
            painted = b""
            while text not in painted:
                painted += os.read(terminal, 65536)
            return painted

        read_until(b"step 7")
        write(8)
        assert len(read_until(b"step 8")) <= 30_000
        write(9)
        assert len(read_until(b"step 9")) <= 30_000
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def test_terminal_when_all_has_ended_then_it_may_end_by_itself(board):
    """With --until-end nobody has to press a key."""
    from sagemaker_debug_ext.looking.terminal.app import WatchApp

    async def wait():
        app = WatchApp(board, until_end=True)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause(0.2)
        return app.return_code

    assert asyncio.run(wait()) == 0
