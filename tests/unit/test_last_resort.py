"""Warnings of the package where nobody has set up logging, and where somebody has."""

from __future__ import annotations

import pytest

from support.scripts import run_python

SCRIPT = """
import logging
import sagemaker_debug_ext
{set_up}
log = logging.getLogger("sagemaker_debug_ext.hooks.some")
log.info("unheard")
try:
    1 / 0
except ZeroDivisionError as error:
    log.warning("heard", exc_info=error)
"""


def test_warning_when_nobody_has_set_up_logging_then_says_whose_it_is():
    """Python's own last resort prints the text alone."""
    first, *traceback = run_python("-c", SCRIPT.format(set_up="")).stderr.splitlines()
    assert first == "sagemaker_debug_ext: heard"
    assert traceback[-1] == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize("name", ["", "sagemaker_debug_ext", "sagemaker_debug_ext.hooks"])
def test_warning_when_a_handler_hears_of_it_then_it_is_left_to_that(name):
    """Of the root logger, or one on the way to it."""
    set_up = f"""
handler = logging.StreamHandler()
handler.setFormatter(logging.Formatter("%(name)s %(levelname)s"))
logging.getLogger({name!r}).addHandler(handler)
"""
    first, *rest = run_python("-c", SCRIPT.format(set_up=set_up)).stderr.splitlines()
    assert first == "sagemaker_debug_ext.hooks.some WARNING"
    assert not any("heard" in line for line in rest)


def test_warning_when_the_package_is_imported_again_then_is_written_once():
    """As test suites do, and notebooks."""
    again = "import importlib, sys\nimportlib.reload(sagemaker_debug_ext)\ndel sys.modules['sagemaker_debug_ext']\n"
    again += "del sys.modules['sagemaker_debug_ext._last_resort']\nimport sagemaker_debug_ext"
    assert run_python("-c", SCRIPT.format(set_up=again)).stderr.count("sagemaker_debug_ext: heard") == 1


def test_warning_when_handlers_of_the_root_are_cut_off_then_is_not_lost():
    """A logger that does not propagate does not reach them."""
    set_up = """
logging.basicConfig(format="root: %(message)s")
logging.getLogger("sagemaker_debug_ext").propagate = False
"""
    assert run_python("-c", SCRIPT.format(set_up=set_up)).stderr.startswith("sagemaker_debug_ext: heard\n")
