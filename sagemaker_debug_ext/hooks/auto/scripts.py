"""Run a script or module as ``python train.py`` and ``python -m train`` do, in a process that is already running.

The module ``__main__`` stays that of the script. `runpy` would restore the previous one when the body of the script
ends, and then the script's threads and exit callbacks could not pickle its classes.
"""

from __future__ import annotations

import builtins
import functools
import importlib.util
import os
import pkgutil
import runpy
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, SourceFileLoader
from io import open_code
from types import CodeType, ModuleType
from typing import Any

from sagemaker_debug_ext.hooks.process.sigterm import wraps_training

wraps_training(__name__)


class NoProgramError(Exception):
    """There is no program with the given name."""


def prepare_script(path: str) -> Callable[[], object]:
    """Return a function that runs a script as the program of this process.

    Args:
        path: A Python file, or a folder or zip file with ``__main__.py``, as given in `sys.argv`.

    Raises:
        OSError: The file cannot be read.
        SyntaxError: The file is not valid Python.
    """
    if pkgutil.get_importer(path) is not None:  # a folder or zip file
        return functools.partial(runpy.run_path, path, run_name="__main__")
    # Make the path absolute as Python does, without any other normalization.
    file = path if os.path.isabs(path) else os.path.join(os.getcwd(), path)
    return functools.partial(
        _run, _read_code(file), __cached__=None, __file__=file, __loader__=SourceFileLoader("__main__", file)
    )


def prepare_module(name: str) -> Callable[[], object]:
    """Return a function that runs a module as the program of this process; `sys.argv` gets its file name.

    Args:
        name: A module, or a package with a module ``__main__``. Its parent packages are imported.

    Raises:
        NoProgramError: There is no such module, or it has no code to run. Errors of the packages are not caught.
    """
    if name.endswith(".py") and os.path.isfile(name):  # Python would first import the module before the dot
        raise NoProgramError(f"{name} is a file; the module is {name.removesuffix('.py')}")
    spec = _find_spec(name)
    if spec.submodule_search_locations is not None:
        spec = _find_spec(f"{name}.__main__")
    get_code = getattr(spec.loader, "get_code", None)  # some loaders have it without an abstract base class
    code = get_code and get_code(spec.name)
    if code is None:
        raise NoProgramError(f"there is no Python code in {name}")
    sys.argv[0] = str(spec.origin)
    return functools.partial(
        _run,
        code,
        __cached__=spec.cached,
        __file__=spec.origin,
        __loader__=spec.loader,
        __package__=spec.parent,
        __spec__=spec,
    )


def _find_spec(name: str) -> ModuleSpec:
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise NoProgramError(str(error)) from error
    if spec is None:
        raise NoProgramError(f"No module named {name}")
    return spec


def _run(code: CodeType, **names: Any) -> None:
    main = ModuleType("__main__")
    vars(main).update(names, __builtins__=builtins)
    sys.modules["__main__"] = main
    exec(code, vars(main))  # noqa: S102 - this is what was asked for


def _read_code(file: str) -> CodeType:
    with open_code(file) as content:
        compiled: CodeType | None = pkgutil.read_code(content)
    if compiled is not None:
        return compiled
    with open_code(file) as content:
        return compile(content.read(), file, "exec", dont_inherit=True)
