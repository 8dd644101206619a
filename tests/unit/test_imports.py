"""What importing the package loads, what it offers, and which layer may import which."""

import ast
import functools
import graphlib
import importlib
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import sagemaker_debug_ext

PACKAGE = Path(sagemaker_debug_ext.__file__).parent
FACES = {"matplotlib", "starlette", "uvicorn", "textual", "rich"}
HEAVY = {
    "numpy",
    "botocore",
    "boto3",
    "jsonschema",
    "sagemaker",
    "torch",
    "tensorflow",
    "mxnet",
    "xgboost",
    "pandas",
} | FACES


def modules_after(statement: str) -> list[str]:
    """Return the modules that are loaded after a statement ran in a new process."""
    program = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    return list(json.loads(output))


def loaded_by(statement: str) -> set[str]:
    """Return the top-level modules that are loaded after a statement ran in a new process."""
    return {name.partition(".")[0] for name in modules_after(statement)}


@pytest.mark.parametrize(
    "statement",
    [
        "import sagemaker_debug_ext",
        "import sagemaker_debug_ext.config",
        "from sagemaker_debug_ext import DebuggerHookConfig, CollectionConfig, Rule, SaveConfig, modes",
        "from sagemaker_debug_ext import rule_configs; rule_configs.vanishing_gradient()",
        "from sagemaker_debug_ext import explain, with_debugger",
        "from sagemaker_debug_ext.sdk import DebuggerMixin, TrainerDebuggerMixin, TrainingJob, attach_debugger",
        "import sagemaker_debug_ext.exceptions",
        "import sagemaker_debug_ext.cli.main",
    ],
)
def test_import_loads_nothing_heavy(statement):
    """Submitting code pays for nothing it does not use."""
    assert loaded_by(statement) & HEAVY == set()


def test_analysing_loads_numpy_and_nothing_else_heavy():
    """Opening a folder costs no AWS library, and no pandas."""
    assert loaded_by("import sagemaker_debug_ext.trials, sagemaker_debug_ext.store.writer") & HEAVY == {"numpy"}


def test_rules_load_neither_pages_nor_what_single_actions_need():
    """Pages, HTTP and the list of installed packages take longer to load than the rules of a small trial take."""
    loaded = set(modules_after("import sagemaker_debug_ext.cli.rules, sagemaker_debug_ext.rules.recommended"))
    assert {"sagemaker_debug_ext.looking", "urllib.request", "importlib.metadata", "jsonschema"} & loaded == set()


@pytest.mark.parametrize(
    "statement",
    [
        "from sagemaker_debug_ext import DebuggerHookConfig, CollectionConfig, Rule, rule_configs",
        "from sagemaker_debug_ext.sdk import with_debugger, attach_debugger, TrainingJob",
        "from sagemaker_debug_ext.config import text_forms",
    ],
)
def test_import_loads_no_module_for_settings_that_few_jobs_have(statement):
    """The profiler, self-managed jobs and the table of other packages' names cost milliseconds."""
    rare = {"config.profiler", "config.self_managed", "config.job_spec", "migration.table"}
    assert {f"sagemaker_debug_ext.{name}" for name in rare} & set(modules_after(statement)) == set()


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
    "_printable": set(),
    "_s3_urls": {"errors"},
    "errors": {"vocabulary"},
    "vocabulary": set(),
    "_imports": {"errors", "migration"},
    "_json": set(),
    "migration": {"errors"},
    "_row_sums": set(),
    "exceptions": {"errors"},
    "compat": {"errors"},
    "config": set(),
    "catalog": {"config"},
    "requests": {"config", "catalog"},
    "rule_configs": {"config", "catalog"},
    "sdk": {"config", "catalog", "requests", "store", "trials", "watch"},
    "store": set(),
    "hooks": {"config", "catalog", "profiler", "store"},
    "trials": {"config", "store"},
    "analysis": {"trials"},
    "core": {"config", "store", "trials"},
    "rules": {"config", "catalog", "store", "trials", "analysis", "compat"},
    "watch": {"config", "profiler", "store", "trials", "rules"},
    "looking": {"catalog", "profiler", "store", "trials", "rules"},
    "local": {
        "catalog",
        "config",
        "looking",
        "profiler",
        "requests",
        "rule_configs",
        "rules",
        "store",
        "trials",
        "watch",
    },
    "laptop": {"local", "requests", "store"},
    "profiler": {"catalog", "config", "store"},
    "auto": {"hooks", "profiler"},
    "lightning": {"hooks"},
    "transformers": {"hooks"},
    "pytorch": {"config", "hooks", "trials"},
    "testing": {"config", "store"},
    "cli": {
        "catalog",
        "config",
        "laptop",
        "local",
        "looking",
        "migration",
        "profiler",
        "requests",
        "rules",
        "sdk",
        "store",
        "template",
        "trials",
        "watch",
    },
    "template": set(),
}
"""Layer → the other layers it may import; every layer may import what is in `GROUND`."""

GROUND = {"errors", "vocabulary", "_imports", "_json", "_printable", "_row_sums", "_s3_urls"}

FRAMEWORKS = {"base", "capture", "fail_safe", "options", "output", "process", "program", "registry", "statistics"}
PROFILER_READERS = {
    "algorithm_metrics_reader",
    "open_readers",
    "system_metrics_reader",
    "trace_event_file_parser",
}
RULE = {"builtin_rule", "inference", "issue", "reading"}

ALLOWED_WITHIN = {
    "store": {
        "backends": set(),
        "format": {"backends"},
        "consolidated": {"backends", "format"},
        "claims": {"backends", "format"},
        "erasing": {"backends", "format"},
        "job_end": {"backends", "consolidated", "format"},
        "reader": {"backends", "format"},
        "writer": {"backends", "format", "job_end"},
    },
    "hooks": {
        "process": {"fail_safe"},
        "program": set(),
        "statistics": {"process"},
        "capture": {"statistics"},
        "output": {"capture", "fail_safe", "options", "registry", "statistics"},
        "options": {"capture"},
        "registry": {"process"},
        "fail_safe": set(),
        "profiling": {"fail_safe"},
        "overwriting": {"registry"},
        "framework": {"capture", "output", "statistics"},
        "step_recorder": {"capture", "framework", "output"},
        "script_calls": {"capture", "fail_safe", "process", "step_recorder"},
        "worker_role": {"capture", "framework", "output", "process"},
        "step_cycle": {"capture", "output", "registry", "step_recorder", "worker_role"},
        "inner_names": {"capture", "fail_safe", "process", "step_recorder"},
        "base": {
            "capture",
            "fail_safe",
            "framework",
            "inner_names",
            "options",
            "output",
            "overwriting",
            "process",
            "profiling",
            "registry",
            "script_calls",
            "step_cycle",
            "step_recorder",
            "worker_role",
        },
        "pytorch": FRAMEWORKS,
        "keras": FRAMEWORKS | {"pytorch"},
        "mxnet": FRAMEWORKS,
        "xgboost": FRAMEWORKS,
        "save_tensor": {"options", "output", "pytorch"},
        "auto": FRAMEWORKS | {"keras", "pytorch", "xgboost"},
    },
    "rules": {
        "_validation": set(),
        "issue": set(),
        "action": set(),
        "required_tensors": {"_validation"},
        "reading": set(),
        "base": {"_validation", "action", "issue", "required_tensors"},
        "builtin_rule": {"base", "issue", "reading"},
        "evaluation": {"_validation", "base", "builtin_rule", "inference", "issue", "reading"},
        "inference": {"builtin_rule", "issue", "reading"},
        "sagemaker": RULE | {"action"},
        "extra": RULE,
    },
    "profiler": {
        "profiler_constants": set(),
        "format": {"profiler_constants"},
        "profiler_files": set(),
        "python_profile_utils": {"profiler_constants"},
        "analysis": PROFILER_READERS | {"format", "profiler_constants", "profiler_files", "python_profile_utils"},
        "rules": {"format", "open_readers", "profiler_constants", "profiler_files", "trace_event_file_parser"},
        "sampler": {"format"},
        "start": {"sampler", "timeline"},
        "timeline": {"format", "profiler_constants"},
        "trace_export": {"format", "open_readers", "trace_event_file_parser"},
    },
}
"""Layer → its parts → the other parts of the layer that each may import; parts that are not listed may import any."""

NAMES = re.compile(r"sagemaker_debug_ext(\.\w+)+(:\w+)?")


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@functools.cache
def nodes_of(module: str) -> tuple[ast.AST, ...]:
    """Return all nodes of the syntax tree of a module."""
    return tuple(ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))))


@functools.cache
def imports_of(module: str) -> frozenset[str]:
    """Return the modules of this package that a module imports, also inside functions and for type checkers."""
    found = set()
    for node in nodes_of(module):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name if name in MODULES else node.module for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return frozenset(name for name in found if name in MODULES) - {module, PACKAGE.name}


def members(*prefix: str) -> list[str]:
    """Return the modules of a part of the package."""
    start = ".".join((PACKAGE.name, *prefix))
    return [name for name in MODULES if name == start or name.startswith(f"{start}.")]


@pytest.mark.parametrize("layer", sorted(ALLOWED))
def test_layer_imports_only_layers_below_it(layer):
    """Imports between layers point in one direction."""
    assert members(layer)
    for module in members(layer):
        imported = {name.split(".")[1] for name in imports_of(module)}
        assert imported - GROUND - {layer} <= ALLOWED[layer], module


@pytest.mark.parametrize(
    ("layer", "part"), [(layer, part) for layer, parts in ALLOWED_WITHIN.items() for part in parts]
)
def test_part_of_a_layer_imports_only_parts_below_it(layer, part):
    """Imports within the largest layers point in one direction, too."""
    assert members(layer, part)
    for module in members(layer, part):
        imported = {name.split(".")[2] for name in imports_of(module) if name.startswith(f"{PACKAGE.name}.{layer}.")}
        assert imported - {part} <= ALLOWED_WITHIN[layer][part], module


def test_the_store_format_knows_only_the_interface_of_back_ends():
    """The format names what a back end offers, and no back end in particular."""
    for module in members("store", "format"):
        assert imports_of(module) & set(members("store", "backends")) <= {f"{PACKAGE.name}.store.backends.base"}, module


def test_no_modules_import_each_other():
    """The imports have no circle, not even counting those for type checkers."""
    graphlib.TopologicalSorter({module: imports_of(module) for module in MODULES}).prepare()


def test_no_rule_imports_another_rule():
    """Shared code of rules lies in `inference`."""
    rules = {name for part in ("sagemaker", "extra") for name in members("rules", part)}
    for module in rules:
        assert {name for name in imports_of(module) & rules if not name.rpartition(".")[2].startswith("_")} == set()


def test_no_folder_holds_more_than_sixteen_modules():
    """A folder shows at one look what is in it; Python has given two modules their place."""
    folders = Counter(path.parent for path in MODULES.values() if path.name not in {"__init__.py", "__main__.py"})
    assert {str(folder): number for folder, number in folders.items() if number > 16} == {}


def test_every_dotted_name_in_a_string_exists():
    """What is imported by name moves with its module: in code, and in the catalog."""
    texts = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.json")]
    found = {match.group() for text in texts for match in NAMES.finditer(text)}
    for module in MODULES:
        for node in nodes_of(module):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAMES.fullmatch(node.value):
                found.add(node.value)
    assert len(found) > 50
    for name in found:
        module, _, member = name.partition(":")
        assert module in MODULES, name
        assert not member or re.search(rf"^class {member}\b", MODULES[module].read_text(encoding="utf-8"), re.MULTILINE)


def test_nobody_imports_the_test_kit():
    """`testing` needs pytest and hypothesis, which users do not have."""
    for module in MODULES:
        if module.split(".")[1:2] != ["testing"]:
            assert not imports_of(module) & set(members("testing")), module
