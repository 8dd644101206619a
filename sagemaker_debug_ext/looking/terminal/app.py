"""`WatchApp`: the screens of the terminal with keys, repainted when there are news."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

import attrs
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input, Static

from sagemaker_debug_ext.looking.terminal.drawing import Line, fitted, line_of
from sagemaker_debug_ext.looking.terminal.screens import SCREENS, View, draw, pulse_text

if TYPE_CHECKING:
    from textual import events

    from sagemaker_debug_ext.looking.live.board import Board

_STYLES: Final = {
    "": "",
    "bold": "bold",
    "bad": "bold bright_magenta",
    "good": "bold bright_green",
    "quiet": "bright_black",
    "above": "dark_orange",
    "below": "dodger_blue1",
    "flag": "bold bright_magenta",
    "zero": "green",
}
_REPAINT_SECONDS: Final = 0.5
_HELP: Final = "1 verdict  2 layers  3 curves  4 rules  5 workers  t next trial  / filter  q end"


class WatchApp(App[None]):
    """Shows the trials of a board.

    Args:
        board: The trials.
        until_end: Whether to end with the jobs.
    """

    CSS = "Static { height: 1fr; } Input { dock: bottom; display: none; } Input.open { display: block; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(number), f"screen_named('{name}')", name) for number, name in enumerate(SCREENS, 1)),
        Binding("t", "next_trial", "next trial"),
        Binding("slash", "filter", "filter"),
        Binding("escape", "no_filter", "all"),
        Binding("down", "scroll_lines(1)", "down"),
        Binding("up", "scroll_lines(-1)", "up"),
        Binding("pagedown", "scroll_lines(20)", "down"),
        Binding("pageup", "scroll_lines(-20)", "up"),
        Binding("q", "quit", "end"),
    ]
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None  # keys are those of the screens until the filter is asked for

    def __init__(self, board: Board, *, until_end: bool = False) -> None:
        super().__init__()
        self._board = board
        self._until_end = until_end
        self._screen_name = "verdict"
        self._view = View()
        self._painted: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        """Return the only text, and the line for the filter."""
        yield Static(id="text", markup=False)
        yield Input(placeholder="part of a name", id="filter")

    def on_mount(self) -> None:
        """Begin to look for news."""
        self.set_interval(_REPAINT_SECONDS, self._repaint)
        self._repaint()

    def on_resize(self, _event: events.Resize) -> None:
        """Draw for the new size."""
        self._repaint()

    def action_screen_named(self, name: str) -> None:
        """Show another screen."""
        self._screen_name = name
        self._change(offset=0)

    def action_next_trial(self) -> None:
        """Show the next trial."""
        if self._board.version:
            number = (self._view.trial + 1) % len(self._board.snapshot().materials)
            self._change(trial=number, offset=0)

    def action_scroll_lines(self, number: int) -> None:
        """Move a list by some lines."""
        self._change(offset=max(self._view.offset + number, 0))

    def action_filter(self) -> None:
        """Ask for a part of a name."""
        field = self.query_one("#filter", Input)
        field.add_class("open")
        field.focus()

    def action_no_filter(self) -> None:
        """Show all names again."""
        self.query_one("#filter", Input).value = ""
        self._close_filter("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Show only names that hold the text."""
        self._close_filter(event.value)

    def _close_filter(self, text: str) -> None:
        self.query_one("#filter", Input).remove_class("open")
        self.set_focus(None)
        self._change(filter=text, offset=0)

    def _change(self, **changes: object) -> None:
        self._view = attrs.evolve(self._view, **changes)  # type: ignore[arg-type]
        self._repaint()

    def _repaint(self) -> None:
        pulses = tuple(map(pulse_text, self._board.pulses()))
        state = (self._board.version, pulses, self._screen_name, self._view, self.size)
        if state != self._painted:
            self._painted = state
            self.query_one("#text", Static).update(_text(self._lines(pulses)))
        if self._until_end and self._board.has_ended():
            self.exit()

    def _lines(self, pulses: tuple[str, ...]) -> list[Line]:
        width, height = max(self.size.width, 40), max(self.size.height, 10)
        foot = line_of(_HELP)
        if not self._board.version:
            return [line_of(pulses[0]), line_of("reading …"), foot]
        snapshot = self._board.snapshot()
        trial = min(self._view.trial, len(snapshot.materials) - 1)
        view = attrs.evolve(self._view, width=width, height=height - 2, trial=trial)
        lines = draw(self._screen_name, snapshot, view)
        filling: list[Line] = [()] * (height - 2 - len(lines))
        return [fitted(line, width) for line in (line_of(pulses[trial]), *lines, *filling, foot)]


def _text(lines: list[Line]) -> Text:
    text = Text(no_wrap=True, end="")
    for number, line in enumerate(lines):
        if number:
            text.append("\n")
        for span in line:
            text.append(span.text, _STYLES[span.style])
    return text
