"""What ``python train.py`` and ``python -m train`` do, in a process that has done something else before.

The module ``__main__`` is the script's from then on. `runpy` restores the one before as soon as the body of the script
has ended; then classes of the script could not be pickled by its threads, nor by what it has left to be done at exit.
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
    """There is nothing of a name that could be run."""


def prepare_script(path: str) -> Callable[[], object]:
    """Return what runs a script as the program of this process.

    Args:
        path: A Python file, or a folder or zip file that holds ``__main__.py``, as it stands in `sys.argv`.

    Raises:
        OSError: The file cannot be read.
        SyntaxError: It holds no Python.
    """
    if pkgutil.get_importer(path) is not None:  # a folder or zip file
        return functools.partial(runpy.run_path, path, run_name="__main__")
    # As Python makes it absolute: nothing else is changed.
    file = path if os.path.isabs(path) else os.path.join(os.getcwd(), path)
    return functools.partial(
        _run, _read_code(file), __cached__=None, __file__=file, __loader__=SourceFileLoader("__main__", file)
    )


def prepare_module(name: str) -> Callable[[], object]:
    """Return what runs a module as the program of this process, and put its file into `sys.argv` for its name.

    Args:
        name: A module, or a package that has a module ``__main__``. The packages that it lies in are imported.

    Raises:
        NoProgramError: There is no such module, or nothing in it to run. Whatever the packages raise is their own.
    """
    if name.endswith(".py") and os.path.isfile(name):  # of which Python would first import the module
        raise NoProgramError(f"{name} is a file; the module is {name.removesuffix('.py')}")
    spec = _find_spec(name)
    if spec.submodule_search_locations is not None:
        spec = _find_spec(f"{name}.__main__")
    get_code = getattr(spec.loader, "get_code", None)  # not all that have it say so by their class
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
