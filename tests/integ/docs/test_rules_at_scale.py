"""Every example of the page on rules at scale runs."""

import re
from pathlib import Path

import numpy as np

from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

GUIDE = Path(__file__).parents[3] / "docs" / "rules-at-scale.md"
BLOCK = re.compile(r"```python\n(?P<code>.*?)```", re.DOTALL)


def test_examples_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    """A reader may paste them in order."""
    monkeypatch.chdir(tmp_path)
    steps = {(ModeKeys.TRAIN, step): {"x": np.full(2, np.nan if step > 30 else 1.0), "loss": 1.0} for step in range(40)}
    write_trial(tmp_path / "ts_output" / "run1", steps)
    names = {"__name__": "guide"}
    blocks = list(BLOCK.finditer(GUIDE.read_text(encoding="utf-8")))
    assert len(blocks) == 3
    for block in blocks:
        line = block.string[: block.start()].count("\n") + 2
        exec(compile("\n" * line + block["code"], str(GUIDE), "exec"), names)  # line numbers are the guide's
    assert capsys.readouterr().out == "['IssuesFound', 'IssuesFound']\n"
    assert names["request"]["ProcessingResources"]["ClusterConfig"]["InstanceCount"] == 4
    assert names["parameters"]["action_json"] == '{"name": "record", "path": "ts_output/gradients"}'
