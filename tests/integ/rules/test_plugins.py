"""A rule of another package, found by its entry point, is a rule like any other."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

MODULE = """
from sagemaker_debug_ext.catalog import ParameterSpec, RuleSpec
from sagemaker_debug_ext.rules import Rule

class Above(Rule):
    def __init__(self, base_trial, limit):
        super().__init__(base_trial)
        self.limit = limit

    def invoke_at_step(self, step):
        return self.base_trial.tensor("x").value(step).max() > self.limit

def spec():
    limit = ParameterSpec(name="limit", type="float", doc="Largest value.", default=1.5)
    return RuleSpec(name="Above", kind="debugger", doc="A value is too large.", parameters=(limit,),
                    rule_class="my_rules:Above")
"""


@pytest.fixture
def environment(tmp_path):
    """Return variables under which a package with a rule is installed."""
    package = tmp_path / "site"
    metadata = package / "my_rules-1.0.dist-info"
    metadata.mkdir(parents=True)
    (package / "my_rules.py").write_text(MODULE)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-rules\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[sagemaker_debug_ext.rules]\nAbove = my_rules:spec\n")
    paths = [str(package), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def test_a_rule_of_another_package_is_listed_and_runs(tmp_path, environment):
    """With its parameters as text."""
    write_trial(tmp_path / "trial", {(ModeKeys.TRAIN, step): {"x": np.full(2, float(step))} for step in range(4)})
    command = [sys.executable, "-m", "sagemaker_debug_ext.cli.main", "rules", "run", str(tmp_path / "trial"), "Above"]
    done = subprocess.run([*command, "--json"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert [issue["step"] for issue in json.loads(done.stdout)["rules"][0]["issues"]] == [2, 3]
    done = subprocess.run([*command, "-p", "limit=9"], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    done = subprocess.run([*command, "-p", "limt=9"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "did you mean 'limit'" in done.stderr
