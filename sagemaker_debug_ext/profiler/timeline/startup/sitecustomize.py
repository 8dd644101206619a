"""Python runs this at its start in programs whose ``PYTHONPATH`` names this folder; see `timeline_environment`."""

import importlib
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _run_hidden() -> None:
    """Run the module of the same name that this one hides, as Python would have done."""
    search_path = list(sys.path)
    sys.path[:] = [path for path in search_path if os.path.abspath(path or ".") != _FOLDER]
    ours = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        if ours is not None:
            sys.modules["sitecustomize"] = ours


_run_hidden()
try:
    from sagemaker_debug_ext.profiler.timeline.start import start_timeline_from_environment
except ImportError:  # another Python, which does not have the package
    pass
else:
    start_timeline_from_environment()
