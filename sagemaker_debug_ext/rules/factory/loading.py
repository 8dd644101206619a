"""Find the code of a rule: by dotted path, or in a Python file of the user."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType

from sagemaker_debug_ext.errors import SMDebugCustomerError, SMDebugTypeError, SMDebugValueError, did_you_mean
from sagemaker_debug_ext.rules.base import Rule


def load_rule_class(dotted_path: str) -> type[Rule]:
    """Return the rule class at ``package.module:Class``.

    Raises:
        SMDebugValueError: The path is not of that form, or the module has no such class.
        SMDebugTypeError: What is there is no rule.
        ImportError: The module cannot be imported.
    """
    module_name, colon, class_name = dotted_path.partition(":")
    if not (module_name and colon and class_name):
        raise SMDebugValueError(f"a rule's class is given as 'package.module:Class' (got {dotted_path!r})")
    return _class_in(importlib.import_module(module_name), class_name, module_name)


def load_rule_file(source: str | Path, rule_to_invoke: str) -> type[Rule]:
    """Return a rule class from a Python file.

    Args:
        source: The file; it is run, under a module name of its own.
        rule_to_invoke: Name of the class.

    Raises:
        SMDebugValueError: There is no such file, or it has no such class.
        SMDebugTypeError: What the file calls so is no rule.
        SMDebugCustomerError: The file cannot be run; the text gives file, line and reason.
    """
    path = Path(source).expanduser().absolute()
    if not path.is_file():
        near = did_you_mean(path.name, [file.name for file in path.parent.glob("*.py")])
        raise SMDebugValueError(f"source must be a Python file (got {str(source)!r}, and there is no such file){near}")
    return _class_in(_run_file(path), rule_to_invoke, str(path))


def _run_file(path: Path) -> ModuleType:
    name = f"sagemaker_debug_ext_rule_file_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SMDebugValueError(f"source must be a Python file, with a name that ends in .py (got {str(path)!r})")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # data classes look their module up by name
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # the file is the user's and may raise anything
        del sys.modules[name]
        raise SMDebugCustomerError(f"cannot run rule file {_place(path, error)}: {_last_line(error)}") from error
    return module


def _place(path: Path, error: BaseException) -> str:
    """Return the file with the last of its lines that the error came through."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"{path}, line {error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path}, line {lines[-1]}" if lines else str(path)


def _last_line(error: BaseException) -> str:
    return traceback.format_exception_only(type(error), error)[-1].strip()


def _class_in(module: ModuleType, name: str, where: str) -> type[Rule]:
    found = getattr(module, name, None)
    if found is None:
        rules = sorted(key for key, value in vars(module).items() if _is_rule_class(value))
        known = f"; rules there: {', '.join(rules)}" if rules else "; there is no rule in it"
        raise SMDebugValueError(f"{where} must have the rule {name!r}{known}{did_you_mean(name, rules)}")
    if not isinstance(found, type) or not issubclass(found, Rule):
        raise SMDebugTypeError(f"{name!r} in {where} must be a subclass of Rule (got {found!r})")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise SMDebugTypeError(f"rule {name!r} in {where} must have the method {missing}")
    return found


def _is_rule_class(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Rule) and not inspect.isabstract(value)
