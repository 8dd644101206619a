"""Views of the steps of small trials, as the hooks of other frameworks write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sagemaker_debug_ext.rules.reading.step_view import StepReader
from support.rule_trials import GLUON_COLLECTIONS, KERAS_COLLECTIONS

MakeViews = Callable[[Mapping[Any, Any]], StepReader]


@pytest.fixture
def keras_views(make_trial) -> MakeViews:
    """Return a function that returns the views of a trial of Keras."""
    return lambda steps: StepReader(make_trial(steps, collections=KERAS_COLLECTIONS))


@pytest.fixture
def gluon_views(make_trial) -> MakeViews:
    """Return a function that returns the views of a trial of MXNet."""
    return lambda steps: StepReader(make_trial(steps, collections=GLUON_COLLECTIONS))
