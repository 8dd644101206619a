from __future__ import annotations

from pathlib import Path

import pytest

from sagemaker_debug_ext.catalog import list_rule_specs
from sagemaker_debug_ext.rules.documentation import render_rules

PAGE = Path(__file__).parents[3] / "docs" / "rules.md"


def test_every_rule_has_its_section_with_an_example():
    """From its docstring."""
    page = render_rules()
    for spec in list_rule_specs("debugger"):
        assert f"### {spec.name}" in page
    assert page.count("```python\n") == len(list_rule_specs("debugger"))
    assert ">>>" not in page


@pytest.mark.skipif(not PAGE.exists(), reason="installed without the documentation")
def test_the_page_is_current():
    """Write it anew with: python -m sagemaker_debug_ext.rules.documentation docs/rules.md."""
    assert PAGE.read_text(encoding="utf-8") == render_rules()
