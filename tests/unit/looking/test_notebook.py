"""A trial in a notebook."""

from __future__ import annotations

import re

import numpy as np

from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

from .conftest import write_job

HOSTILE = ("net.</script><img src=x onerror=alert(1)>.weight", "net.$\\alpha$.weight", "net.a\u202eb.weight")


def test_trial_when_displayed_then_table_loss_and_layers_without_scripts(broken):
    """All of it shows where scripts are not allowed."""
    shown = broken._repr_html_()
    assert shown.startswith("<table>")
    assert "<polyline " in shown
    assert 'src="data:image/png;base64,' in shown
    assert "gradient norm" in shown
    assert "script" not in shown


def test_trial_when_wide_and_long_then_its_display_stays_small(tmp_path):
    """600 noisy tensors at 250 steps take at most 60 kB."""
    random = np.random.RandomState(0)
    trial = SmallTrial(tmp_path / "job")
    for step in range(250):
        tensors = {f"gradient/net.layer{n}.weight": random.lognormal(0, 2, 2).astype("f4") for n in range(600)}
        trial.write(ModeKeys.TRAIN, step, {"CrossEntropyLoss_output_0": np.float32(random.rand()), **tensors})
    trial.end()
    opened = create_trial(str(tmp_path / "job"))
    assert len(opened._repr_html_().encode()) <= 60_000


def test_trial_when_names_are_hostile_then_its_display_is_text(tmp_path):
    """A name makes no element."""
    shown = create_trial(write_job(tmp_path / "job", names=HOSTILE, steps=4))._repr_html_()
    assert re.findall("<(script|b|svg onload)", shown) == []
    assert shown.count("<img ") == 1
    assert "\u202e" not in shown


def test_trial_when_nothing_was_saved_then_the_table_alone(tmp_path):
    """There is nothing to draw."""
    SmallTrial(tmp_path / "job").end()
    assert create_trial(str(tmp_path / "job"), wait_seconds=0)._repr_html_().endswith("</table>")
