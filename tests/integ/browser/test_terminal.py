"""The application in the terminal, by Textual's pilot."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from pathlib import Path

import numpy as np
import pytest

from sagemaker_debug_ext.looking.live.board import Board
from sagemaker_debug_ext.looking.live.rule_choice import RuleChoice
from sagemaker_debug_ext.testing.trials import write_trial
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


def test_terminal_when_all_has_ended_then_it_may_end_by_itself(board):
    """With --until-end nobody has to press a key."""
    from sagemaker_debug_ext.looking.terminal.app import WatchApp

    async def wait():
        app = WatchApp(board, until_end=True)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause(0.2)
        return app.return_code

    assert asyncio.run(wait()) == 0
