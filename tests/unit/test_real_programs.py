"""The real programs of the benchmark: the table names each of them, and their causes exist."""

import ast
import sys
from pathlib import Path

import pytest

from sagemaker_debug_ext.rules.causes import CAUSES

DETECTION = Path(__file__).parents[2] / "benchmarks" / "detection"


@pytest.fixture(scope="module")
def plan():
    sys.path.insert(0, str(DETECTION))
    try:
        from suites.real_programs import plan

        yield plan
    finally:
        sys.path.remove(str(DETECTION))


def test_table_when_compared_with_the_folder_then_it_names_each_program_once(plan):
    scripts = sorted(path.stem for path in plan.PROGRAMS.glob("*.py") if path.stem != "data")
    assert sorted(pair.name for pair in plan.PAIRS) == scripts


def test_causes_when_listed_then_all_are_causes_that_rules_can_name(plan):
    assert {cause for pair in plan.PAIRS for cause in pair.causes} <= set(CAUSES)
    assert {pair.framework for pair in plan.PAIRS} <= set(plan.FRAMEWORKS)


def test_programs_when_parsed_then_each_tells_its_fix_and_prints_a_result(plan):
    for pair in plan.PAIRS:
        source = (plan.PROGRAMS / f"{pair.name}.py").read_text(encoding="utf-8")
        assert "(fixed: " in ast.get_docstring(ast.parse(source)), pair.name
        assert '"--fixed" in sys.argv' in source, pair.name
        assert 'print("RESULT ' in source, pair.name
