"""Every trial that the original library wrote gives a report, the damaged and the unfinished ones as well."""

from __future__ import annotations

import json

import jsonschema
import pytest

from sagemaker_debug_ext.looking import story_schema, write_report
from sagemaker_debug_ext.trials import create_trial
from support.golden import GOLDEN_TRIALS


@pytest.mark.parametrize("name", GOLDEN_TRIALS)
def test_report_when_the_original_wrote_the_trial_then_a_page(unpack, tmp_path, name):
    """The page keeps its size, and its story its schema."""
    trial = create_trial(unpack(name).trial_path)
    path = tmp_path / "report.html"
    story = write_report([trial], path)
    assert path.stat().st_size < 3_000_000
    jsonschema.validate(json.loads(json.dumps(story.to_json_dict(), allow_nan=False)), story_schema())
    assert story.trials[0].num_tensors == len(trial.tensor_names())
    assert str(story.headline)
