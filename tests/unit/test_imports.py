"""What importing the package loads, what it offers, and which layer may import which."""

import ast
import functools
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import sagemaker_debug_ext

PACKAGE = Path(sagemaker_debug_ext.__file__).parent
HEAVY = {"numpy", "botocore", "boto3", "jsonschema", "sagemaker", "torch", "tensorflow", "mxnet", "xgboost", "pandas"}


def loaded_after(*statements: str) -> dict[str, set[str]]:
    """Return the top-level modules that are loaded after each of the statements, which one new process runs in turn."""
    look = "import json, sys\nprint(json.dumps(sorted(sys.modules)))"
    program = "\n".join(f"{statement}\n{look}" for statement in statements)
    output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    loaded = [{name.partition(".")[0] for name in json.loads(line)} for line in output.splitlines()]
    return dict(zip(statements, loaded, strict=True))


def test_import_loads_nothing_heavy():
    """Submitting code pays for nothing it does not use."""
    loaded = loaded_after(
        "import sagemaker_debug_ext",
        "import sagemaker_debug_ext.config",
        "from sagemaker_debug_ext import DebuggerHookConfig, CollectionConfig, Rule, SaveConfig, modes",
        "from sagemaker_debug_ext import rule_configs; rule_configs.vanishing_gradient()",
        "from sagemaker_debug_ext import explain, with_debugger",
        "from sagemaker_debug_ext.sdk import DebuggerMixin, TrainerDebuggerMixin, TrainingJob, attach_debugger",
        "import sagemaker_debug_ext.exceptions",
        "import sagemaker_debug_ext.cli.main",
    )
    assert {statement: modules & HEAVY for statement, modules in loaded.items() if modules & HEAVY} == {}


def test_analysing_loads_numpy_and_nothing_else_heavy():
    """Opening a folder costs no AWS library, and no pandas."""
    statement = "import sagemaker_debug_ext.trials, sagemaker_debug_ext.store.writer"
    assert loaded_after(statement)[statement] & HEAVY == {"numpy"}


def test_public_names_are_all_there():
    """Every listed name can be imported, and is listed by dir()."""
    for name in sagemaker_debug_ext.__all__:
        assert getattr(sagemaker_debug_ext, name) is not None
        assert name in dir(sagemaker_debug_ext)


def test_unknown_name_is_an_attribute_error():
    """A misspelt name fails as in any module."""
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(sagemaker_debug_ext, "no_such_name")  # noqa: B009 - the lookup is what is tested


def test_modes_is_the_enumeration_even_after_its_module_is_loaded():
    """`from sagemaker_debug_ext import modes` always gives the members."""
    importlib.import_module("sagemaker_debug_ext.vocabulary")
    assert sagemaker_debug_ext.modes.TRAIN.value == 1
    assert sagemaker_debug_ext.modes["EVAL"].value == 2


ALLOWED = {
    "errors": {"vocabulary"},
    "vocabulary": set(),
    "_types": set(),
    "_imports": set(),
    "_lazy": set(),
    "_optional": {"errors"},
    "exceptions": {"errors"},
    "compat": {"errors"},
    "config": set(),
    "catalog": {"config"},
    "requests": {"config", "catalog"},
    "rule_configs": {"config", "catalog"},
    "sdk": {"config", "catalog", "requests", "trials"},
    "store": set(),
    "hooks": {"config", "catalog", "store"},
    "trials": {"config", "store"},
    "analysis": {"trials"},
    "core": {"config", "store", "trials"},
    "rules": {"config", "catalog", "store", "trials", "analysis", "compat"},
    "local": {"config", "catalog", "requests", "store", "trials", "rules", "rule_configs"},
    "auto": {"hooks"},
    "lightning": {"hooks"},
    "transformers": {"hooks"},
    "pytorch": {"config", "hooks", "trials"},
    "testing": {"config", "catalog", "requests", "rule_configs", "store"},
    "cli": {"catalog", "local", "rules", "trials"},
}
"""Layer → the other layers it may import; every layer may import what is in `GROUND`."""

GROUND = {"errors", "vocabulary", "_types", "_imports", "_json", "_lazy", "_optional"}


@functools.cache
def is_layer(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


@functools.cache
def imports_of(path: Path) -> frozenset[str]:
    """Return the layers of this package that a module imports, inside functions as well."""
    layers = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            # A name of the package itself is a layer too, unless the package has it from elsewhere.
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names if is_layer(alias.name))]
        layers |= {name.split(".")[1] for name in names if name and name.startswith("sagemaker_debug_ext.")}
    return frozenset(layers)


@pytest.mark.parametrize("layer", sorted(ALLOWED))
def test_layer_imports_only_layers_below_it(layer):
    """Imports point in one direction."""
    folder = PACKAGE / layer
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    assert files
    for path in files:
        assert imports_of(path) - GROUND - {layer} <= ALLOWED[layer], path


def test_nobody_imports_the_test_kit():
    """`testing` needs pytest and hypothesis, which users do not have."""
    for path in PACKAGE.rglob("*.py"):
        if "testing" not in path.relative_to(PACKAGE).parts:
            assert "testing" not in imports_of(path), path
