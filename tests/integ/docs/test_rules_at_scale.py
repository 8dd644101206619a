"""Every example of the page on rules at scale runs."""

import numpy as np

from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.vocabulary import ModeKeys
from support.guides import run_guide


def test_examples_when_run_one_after_the_other_then_do_what_they_say(tmp_path, monkeypatch, capsys):
    """A reader may paste the examples in order."""
    monkeypatch.chdir(tmp_path)
    steps = {(ModeKeys.TRAIN, step): {"x": np.full(2, np.nan if step > 30 else 1.0), "loss": 1.0} for step in range(40)}
    write_trial(tmp_path / "ts_output" / "run1", steps)
    names = run_guide("docs/rules-at-scale.md", 3)
    assert capsys.readouterr().out == "['IssuesFound', 'IssuesFound']\n"
    assert names["request"]["ProcessingResources"]["ClusterConfig"]["InstanceCount"] == 4
    assert names["parameters"]["action_json"] == '{"name": "record", "path": "ts_output/gradients"}'
