"""`prepare_script`: what ``python train.py`` does, in a process that has done something else before."""

from __future__ import annotations

import builtins
import functools
import os
import pkgutil
import runpy
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from io import open_code
from types import CodeType, ModuleType


def prepare_script(path: str) -> Callable[[], object]:
    """Return what runs a script as the program of this process.

    The module ``__main__`` is the script's from then on. `runpy.run_path` restores the one before as soon as the body
    of the script has ended; then classes of the script could not be pickled by its threads, nor by what it has left to
    be done at exit.

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
    return functools.partial(_run, _read_code(file), file)


def _run(code: CodeType, file: str) -> None:
    main = ModuleType("__main__")
    names = vars(main)
    names.update(__builtins__=builtins, __cached__=None, __file__=file, __loader__=SourceFileLoader("__main__", file))
    sys.modules["__main__"] = main
    exec(code, names)  # noqa: S102 - this is what was asked for


def _read_code(file: str) -> CodeType:
    with open_code(file) as content:
        compiled: CodeType | None = pkgutil.read_code(content)
    if compiled is not None:
        return compiled
    with open_code(file) as content:
        return compile(content.read(), file, "exec", dont_inherit=True)
