"""Runs each test with this package and, where the real smdebug is installed, with the original as well."""

import importlib
import importlib.util
import warnings
from types import ModuleType

import pytest

LIBRARIES = ["sagemaker_debug_ext", "smdebug"]


class Library:
    """One of the two libraries; modules are named by their path below the package."""

    def __init__(self, name: str) -> None:
        self.name = name

    def module(self, path: str) -> ModuleType:
        """Import a module of the library. The original warns at import, which must not fail a test."""
        with warnings.catch_warnings():
            if self.name == "smdebug":
                warnings.simplefilter("ignore")
            return importlib.import_module(f"{self.name}.{path}")


@pytest.fixture(params=LIBRARIES)
def library(request):
    """The library under test; a test that passes with both shows that both behave alike."""
    if importlib.util.find_spec(request.param) is None:
        pytest.skip("the original is not installed")
    made = Library(request.param)
    try:
        made.module("trials")
    except (ImportError, TypeError) as error:  # it does not load with every protobuf
        pytest.skip(f"the original cannot be imported here: {error}")
    return made
