"""Every public name of smdebug and of the SDK's debugger package is here, or says what to use instead."""

import ast
import functools
import importlib
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from sagemaker_debug_ext.errors import MissingDependencyError
from sagemaker_debug_ext.migration import table

pytestmark = pytest.mark.filterwarnings("ignore")  # frameworks warn when they are imported

FRAMEWORKS = ("torch", "keras", "tensorflow", "mxnet", "xgboost")
SAYS_WHAT_TO_USE = "does not exist: "


def find_folder(package: str) -> Path | None:
    """Return the folder of an installed package, which is not imported; None if it is not installed."""
    folders = (Path(entry, *package.split(".")) for entry in sys.path)
    return next((folder for folder in folders if (folder / "__init__.py").is_file()), None)


def defined_names(statements: list[ast.stmt]) -> set[str]:
    """Return the names that statements define; imported names belong to another module."""
    names: set[str] = set()
    for statement in statements:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            names.add(statement.name)
        elif isinstance(statement, ast.Assign):
            targets = (node for target in statement.targets for node in ast.walk(target))
            names |= {node.id for node in targets if isinstance(node, ast.Name)}
        elif isinstance(statement, (ast.If, ast.Try)):
            names |= defined_names(statement.body)
    return names - {"logger"}


def imported_names(statements: list[ast.stmt], package: str, module: str) -> set[str]:
    """Return the names that statements import from the package itself, and the submodules that are loaded by them."""
    prefix = f"{package}.{module}.".replace("..", ".")
    names = set()
    for node in statements:
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith(package)):
            names |= {alias.asname or alias.name for alias in node.names}
            home = f"{prefix if node.level == 1 else ''}{node.module or ''}"
            if home.startswith(prefix):
                names.add(home.removeprefix(prefix).partition(".")[0])
    return names


def public_names(package: str) -> dict[str, set[str]]:
    """Return module path below the package → its public names.

    A package also offers the names that it imports and its submodules; in the SDK, every module does.
    """
    folder = find_folder(package)
    found = {}
    for file in sorted(folder.rglob("*.py")) if folder else ():
        if file.stem.endswith("_pb2") or file.stem == "_version":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its own strings
            tree = ast.parse(file.read_text(encoding="utf-8"))
        parts = file.relative_to(folder).with_suffix("").parts
        is_package = file.stem == "__init__"
        module = ".".join(parts[:-1] if is_package else parts)
        names = defined_names(tree.body)
        if is_package or package == "sagemaker.debugger":
            names |= imported_names(tree.body, package, module)
        found[module] = {name for name in names if name and not name.startswith(("_", "*"))}
    return found


ORIGINALS = {package: public_names(package) for package in ("smdebug", "sagemaker.debugger")}


def failure(action: Callable[[], object]) -> str:
    """Return the message of the error that an import or a look-up ends with; empty if it succeeds."""
    try:
        action()
    except (ImportError, AttributeError) as error:
        return str(error)
    return ""


def needs_a_missing_framework(action: Callable[[], object]) -> bool:
    """Return whether an import or a look-up fails because a framework is not installed."""
    try:
        action()
    except MissingDependencyError:
        return True
    except ModuleNotFoundError as error:
        return error.name in FRAMEWORKS
    except (ImportError, AttributeError):
        return False
    return False


def test_original_when_installed_then_it_has_names_to_compare():
    """An environment with one of the originals must not pass by finding nothing."""
    for package, names in ORIGINALS.items():
        assert bool(names) == (find_folder(package) is not None)
        assert not names or sum(map(len, names.values())) > 50


@pytest.mark.parametrize(
    ("package", "module"), [(package, module) for package, modules in ORIGINALS.items() for module in modules]
)
def test_public_module_when_renamed_then_every_name_is_there_or_says_what_to_use(package, module):
    """The import of a name succeeds, or the error holds a sentence of the table."""
    ours = f"sagemaker_debug_ext.{module}".rstrip(".")
    if needs_a_missing_framework(lambda: importlib.import_module(ours)):
        pytest.skip("needs a framework that is not installed")
    reason = failure(lambda: importlib.import_module(ours))
    if reason:
        assert SAYS_WHAT_TO_USE in reason
        return
    face = importlib.import_module(ours)
    failures = [failure(functools.partial(getattr, face, name)) for name in sorted(ORIGINALS[package][module])]
    assert [message for message in failures if message and SAYS_WHAT_TO_USE not in message] == []


def test_name_in_the_table_when_its_framework_is_installed_then_it_exists():
    """No row points to a home that has moved."""
    for module, names in table.read_table().modules.items():
        full = f"sagemaker_debug_ext.{module}".rstrip(".")
        for name in names.available:
            look_up = functools.partial(table.load, full, name)
            assert needs_a_missing_framework(look_up) or failure(look_up) == "", f"{full}.{name}"
