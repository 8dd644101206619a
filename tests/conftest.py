"""Tests keep nothing outside of their own folders, and none is timed."""

import os

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # how long a case takes depends on what else the machine does
settings.register_profile("fewer", settings.get_profile("untimed"), max_examples=15)
settings.load_profile("untimed")

os.environ["SAGEMAKER_DEBUG_EXT_CACHE_DIR"] = "off"

pytest.register_assert_rewrite("contracts", "support")  # their assertions show values as those of tests do
