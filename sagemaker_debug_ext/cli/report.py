"""``sagemaker-debug report``: one page, in one file, that says what is wrong in a trial and shows the evidence."""

from __future__ import annotations

import argparse
import sys
import webbrowser
from pathlib import Path
from typing import Any, Final

from sagemaker_debug_ext.cli import _arguments, _output, _trials, rules

_SUMMARY: Final = "Write a page that says what is wrong, in which layer, since which step."

_ABOUT: Final = """Run rules over a trial, and write one HTML file that opens without any network. Its first screen
names the likely cause, the layer, the step and what to try. Evidence, layers over steps, curves, rules and what was
saved follow. Two to eight trials are compared. Exits with 1 if a rule finds an issue, with 2 if the report cannot be
written."""

STANDARD_OUTPUT: Final = "-"


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = _arguments.add_command(commands, "report", _SUMMARY, run, words="trials", description=_ABOUT)
    parser.add_argument(
        "trials", nargs="+", metavar="TRIAL", help="folders with index/ and events/, or s3://bucket/prefix"
    )
    parser.add_argument(
        "-o",
        "--output",
        default="report.html",
        metavar="FILE",
        help="the page (default: %(default)s), or s3://bucket/key; - to print it",
    )
    rules.add_choice(parser)
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="time to read the layers of a trial (default: %(default)g)"
    )
    parser.add_argument("--max-mb", type=float, default=3.0, help="maximum size of the page (default: %(default)g)")
    parser.add_argument(
        "--samples",
        type=int,
        default=0,
        metavar="N",
        help="show up to N samples of the input data, which no page holds otherwise",
    )
    parser.add_argument("--title", help="title of the page")
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    _arguments.add_json(parser)
    parser.set_defaults(source=None, smdebug=False, timeout=None, all=False)


def run(arguments: argparse.Namespace) -> int:
    """Write the report."""
    from sagemaker_debug_ext.errors import SMDebugValueError
    from sagemaker_debug_ext.looking import report
    from sagemaker_debug_ext.looking.page.markup import visible

    options = report.ReportOptions(
        title=arguments.title,
        max_mb=arguments.max_mb,
        seconds=arguments.seconds,
        samples=arguments.samples,
        start=arguments.start,
        end=arguments.end,
    )
    if arguments.no_rules and (arguments.rules or arguments.parameter):
        raise SMDebugValueError("--no-rules excludes --rule and --parameter")
    arguments.recommended = not arguments.rules
    trials = [_trials.open_for_report(path) for path in arguments.trials]
    chosen = [None if arguments.no_rules else rules.make_rules(arguments, trial)[0] for trial in trials]
    materials = report.read_material(trials, chosen, options)
    if arguments.json:
        from sagemaker_debug_ext.looking.telling import tell

        story = tell(materials)
        _output.write_json(story.to_json_dict())
        return int(story.has_issues)
    page, story = report.render(materials, options)
    if arguments.output == STANDARD_OUTPUT:
        sys.stdout.write(page)
        return int(story.has_issues)
    report.write_page(arguments.output, page)
    _output.write(visible(str(story.headline)))  # whoever can write to a trial chooses the names in it
    _output.say(f"report: {arguments.output} ({_output.format_bytes(len(page.encode()))})")
    if arguments.open and not arguments.output.startswith("s3://"):
        webbrowser.open(Path(arguments.output).resolve().as_uri())
    return int(story.has_issues)
