"""The original library, as a fixture: importing it warns, which must not fail the tests of this package."""

import importlib
import types
import warnings

import pytest


@pytest.fixture(scope="session")
def original():
    """Return what the tests use of the original library."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return types.SimpleNamespace(
            modes=importlib.import_module("smdebug").modes,
            create_trial=importlib.import_module("smdebug.trials").create_trial,
            FileWriter=importlib.import_module("smdebug.core.writer").FileWriter,
        )
