"""Tests keep nothing outside of their own folders."""

import os

os.environ["SAGEMAKER_DEBUG_EXT_CACHE_DIR"] = "off"
