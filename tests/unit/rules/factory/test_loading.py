from __future__ import annotations

import sys

import pytest

from sagemaker_debug_ext.errors import SMDebugCustomerError, SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.rules import Rule
from sagemaker_debug_ext.rules.factory.loading import load_rule_class, load_rule_file
from sagemaker_debug_ext.rules.sagemaker.losses.overfit import Overfit

SOURCE = """
import dataclasses
from sagemaker_debug_ext.rules.rule import Rule

LIMIT = 3

@dataclasses.dataclass
class Note:
    text: "str"

class CustomRule(Rule):
    def invoke_at_step(self, step):
        return step > LIMIT

class Unfinished(Rule):
    pass
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "my_rule.py"
    path.write_text(SOURCE)
    return path


def test_a_class_is_found_by_dotted_path():
    """As the catalog names it."""
    assert load_rule_class("sagemaker_debug_ext.rules.sagemaker.losses.overfit:Overfit") is Overfit


@pytest.mark.parametrize(
    ("path", "error", "match"),
    [
        ("sagemaker_debug_ext.rules", SMDebugValueError, "package.module:Class"),
        (":Overfit", SMDebugValueError, "package.module:Class"),
        ("sagemaker_debug_ext.rules.sagemaker.losses.overfit:Overfitt", SMDebugValueError, "did you mean 'Overfit'"),
        ("sagemaker_debug_ext.rules.sagemaker.losses.overfit:Losses", SMDebugTypeError, "subclass of Rule"),
        ("sagemaker_debug_ext.rules.sagemaker.losses.overfit:loss_gap", SMDebugTypeError, "subclass of Rule"),
        ("sagemaker_debug_ext.nowhere:Overfit", ImportError, "nowhere"),
    ],
)
def test_a_wrong_dotted_path_is_refused(path, error, match):
    """Saying what is wrong with it."""
    with pytest.raises(error, match=match):
        load_rule_class(path)


def test_a_class_is_found_in_a_file(source):
    """The file is run as a module of its own."""
    rule_class = load_rule_file(source, "CustomRule")
    assert issubclass(rule_class, Rule)
    assert load_rule_file(str(source), "CustomRule").__name__ == "CustomRule"


@pytest.mark.parametrize(
    ("name", "error", "match"),
    [
        ("CustomRul", SMDebugValueError, "rules there: CustomRule; did you mean 'CustomRule'"),
        ("Unfinished", SMDebugTypeError, "must have the method invoke_at_step"),
        ("Rule", SMDebugTypeError, "must have the method invoke_at_step"),
        ("LIMIT", SMDebugTypeError, "subclass of Rule"),
        ("Note", SMDebugTypeError, "subclass of Rule"),
    ],
)
def test_a_name_that_is_no_rule_of_the_file_is_refused(source, name, error, match):
    """With the rules that are there."""
    with pytest.raises(error, match=match):
        load_rule_file(source, name)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("x = 1\nx +\n", "my_rule.py, line 2: SyntaxError"),
        ("\nimport not_there_at_all\n", "my_rule.py, line 2: ModuleNotFoundError"),
        ("def f():\n    1 / 0\n\n\nf()\n", "my_rule.py, line 2: ZeroDivisionError"),
        ("raise SystemExit(2)\n", "my_rule.py, line 1: SystemExit: 2"),
    ],
)
def test_a_file_that_cannot_be_run_is_refused(source, text, match):
    """With file, line and reason; nothing of it stays loaded."""
    source.write_text(text)
    before = set(sys.modules)
    with pytest.raises(SMDebugCustomerError, match=match):
        load_rule_file(source, "CustomRule")
    assert set(sys.modules) == before


@pytest.mark.parametrize(
    ("name", "match"),
    [("nothing.py", "no such file"), (".", "no such file"), ("rule.txt", r"ends in \.py")],
    ids=["no file", "a folder", "another ending"],
)
def test_a_file_that_is_not_there_or_not_python_is_refused(tmp_path, name, match):
    """A path without a Python file is refused before anything is run."""
    (tmp_path / "rule.txt").write_text(SOURCE)
    with pytest.raises(SMDebugValueError, match=match):
        load_rule_file(tmp_path / name, "CustomRule")


def test_a_file_without_rules_says_so(tmp_path):
    """Rather than listing nothing."""
    path = tmp_path / "empty.py"
    path.write_text("")
    with pytest.raises(SMDebugValueError, match="there is no rule in it"):
        load_rule_file(path, "CustomRule")


def test_a_file_whose_name_is_nearly_right_is_suggested(source):
    """As names are everywhere."""
    with pytest.raises(SMDebugValueError, match=r"did you mean 'my_rule.py'\?"):
        load_rule_file(source.with_name("my_rules.py"), "CustomRule")
