"""Registry of rules and collections: built in, from other packages, or registered by a script.

Other packages declare their rules in the entry-point group `ENTRY_POINT_GROUP`: the name of the entry is that of the
rule, and its value is a `RuleSpec` or a function without arguments that returns one. Names are read without importing
the package; the package is imported when one of its rules is requested.
"""

from __future__ import annotations

import enum
import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from sagemaker_debug_ext.catalog.specs import RuleConfig, RuleKind, RuleSpec
from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP: Final = "sagemaker_debug_ext.rules"

FRAMEWORKS: Final = ("tensorflow", "pytorch", "mxnet", "xgboost")

_FOLDER: Final = Path(__file__).parent

_registered: dict[str, RuleSpec] = {}


@functools.cache
def _document() -> Mapping[str, Any]:
    document: Mapping[str, Any] = json.loads((_FOLDER / "builtin.json").read_text(encoding="utf-8"))
    return document


@functools.cache
def _builtin_rules() -> Mapping[str, RuleSpec]:
    shared = {parameter["name"]: parameter for parameter in _document()["shared_parameters"]}
    entries = {entry["name"]: dict(entry) for entry in _document()["rules"]}
    for entry in entries.values():
        entry["parameters"] = [*entry["parameters"], *(shared[name] for name in entry.pop("shares", ()))]
    sub_rules = {name: entry.pop("sub_rules") for name, entry in entries.items() if "sub_rules" in entry}
    specs = {name: RuleSpec.from_dict(entry) for name, entry in entries.items()}
    return {**specs, **{name: _with_sub_rules(specs[name], specs, members) for name, members in sub_rules.items()}}


def _with_sub_rules(spec: RuleSpec, specs: Mapping[str, RuleSpec], members: list[str]) -> RuleSpec:
    """Return `spec` with the parameters of the rules it runs added, as ``<rule>_<parameter>``."""
    borrowed = (
        attrs.evolve(parameter, name=f"{member}_{parameter.name}", default=None)
        for member in members
        for parameter in specs[member].parameters
    )
    return attrs.evolve(spec, parameters=(*spec.parameters, *borrowed))


@functools.cache
def _plugins() -> Mapping[str, EntryPoint]:
    from importlib.metadata import entry_points  # noqa: PLC0415  # slow, and needed for rules of other packages only

    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda item: (item.name, item.value)):
        if entry.name in _builtin_rules() or entry.name in found:
            other = found[entry.name].value if entry.name in found else "a built-in rule"
            raise SMDebugValueError(f"rule {entry.name!r} of {entry.value!r} has the same name as {other}")
        found[entry.name] = entry
    return found


@functools.cache
def _load_plugin(name: str) -> RuleSpec:
    entry = _plugins()[name]
    try:
        loaded = entry.load()
        spec = loaded if isinstance(loaded, RuleSpec) else loaded()
    except Exception as error:  # the code of another package may raise anything
        raise SMDebugRuntimeError(f"rule {name!r} could not be loaded from {entry.value!r}: {error}") from error
    if not isinstance(spec, RuleSpec) or spec.name != name:
        raise SMDebugTypeError(f"{entry.value!r} must be a RuleSpec called {name!r}, or return one (got {spec!r})")
    return spec


def get_rule_spec(name: str) -> RuleSpec:
    """Return the rule called `name`: its class name, as in ``rule_to_invoke``.

    Raises:
        SMDebugValueError: There is no such rule.
        SMDebugRuntimeError: The package that provides the rule cannot be loaded.
    """
    if name in _builtin_rules():
        return _builtin_rules()[name]
    if name in _registered:
        return _registered[name]
    if name in _plugins():
        return _load_plugin(name)
    names = rule_names()
    hint = did_you_mean(name, names)  # before the list of names, which is long
    raise SMDebugValueError(f"there is no rule {name!r}{hint or ';'} rule must be one of {', '.join(names)}")


def has_rule(name: str) -> bool:
    """Return whether there is a rule called `name`; other packages are looked at only for names of theirs."""
    return name in _builtin_rules() or name in _registered or name in _plugins()


def rule_names() -> tuple[str, ...]:
    """Return the sorted names of all rules without loading other packages."""
    return tuple(sorted({*_builtin_rules(), *_registered, *_plugins()}))


def list_rule_specs(kind: RuleKind | None = None) -> tuple[RuleSpec, ...]:
    """Return all rules, or those of one kind, sorted by name."""
    specs = (get_rule_spec(name) for name in rule_names())
    return tuple(spec for spec in specs if kind is None or spec.kind == kind)


def register_rule_spec(spec: RuleSpec) -> None:
    """Register a rule for the rest of the process. Registering the same rule again has no effect.

    Raises:
        SMDebugTypeError: `spec` is not a `RuleSpec`.
        SMDebugValueError: Another rule has that name.
    """
    if not isinstance(spec, RuleSpec):
        raise SMDebugTypeError(f"spec must be a RuleSpec (got {spec!r})")
    if spec.name in rule_names() and get_rule_spec(spec.name) != spec:
        raise SMDebugValueError(f"there is another rule called {spec.name!r}")
    _registered.setdefault(spec.name, spec)


def rules_for_framework(name: str) -> list[str]:
    """Return the sorted names of the debugger rules that can watch jobs of a framework.

    Args:
        name: ``tensorflow``, ``pytorch``, ``mxnet`` or ``xgboost``, in any case.

    Raises:
        SMDebugValueError: The framework is none of these.
    """
    framework = _framework(name)
    return [spec.name for spec in list_rule_specs("debugger") if framework in spec.frameworks]


def _framework(name: str) -> str:
    folded = str(name).lower()
    if folded not in FRAMEWORKS:
        raise SMDebugValueError(
            f"framework must be one of {', '.join(FRAMEWORKS)} (got {name!r}){did_you_mean(name, FRAMEWORKS)}"
        )
    return folded


class TENSORFLOW(enum.Enum):
    """Groups of rules for TensorFlow."""

    SIMPLE = "simple"
    ALL = "all"


class PYTORCH(enum.Enum):
    """Groups of rules for PyTorch."""

    SIMPLE = "simple"
    ALL = "all"


class MXNET(enum.Enum):
    """Groups of rules for MXNet."""

    SIMPLE = "simple"
    ALL = "all"


class XGBOOST(enum.Enum):
    """Groups of rules for XGBoost."""

    SIMPLE = "simple"
    ALL = "all"


def get_rule_groups(group: TENSORFLOW | PYTORCH | MXNET | XGBOOST) -> list[RuleConfig]:
    """Return the base configurations of a group: SIMPLE for a recommended few, ALL for all that fit the framework.

    Raises:
        SMDebugTypeError: `group` is not a member of the four enumerations.
    """
    if not isinstance(group, (TENSORFLOW, PYTORCH, MXNET, XGBOOST)):
        raise SMDebugTypeError(f"group must be a member such as PYTORCH.SIMPLE (got {group!r})")
    framework = type(group).__name__.lower()
    simple: list[str] = _document()["simple_rules"][framework]
    names = simple if group.value == "simple" else rules_for_framework(framework)
    return [RuleConfig(get_rule_spec(name)) for name in names]


def get_collection(name: str) -> dict[str, Any] | None:
    """Return a default collection of rules in the SDK's form; None for an unknown name.

    As in the SDK, the entries ``relu_input`` and ``relu_output`` lack the level with name and parameters.
    """
    parameters = _document()["rule_collections"].get(name)
    if parameters is None:
        return None
    if name in _document()["flat_rule_collections"]:
        return dict(parameters)
    return {"CollectionName": name, "CollectionParameters": dict(parameters)}


def builtin_collection_patterns(framework: str) -> dict[str, list[str]]:
    """Return the built-in collections of a framework's hooks with their patterns of tensor names.

    The hook itself fills collections that have no patterns.

    Raises:
        SMDebugValueError: The framework is unknown.
    """
    known = _framework(framework)
    return {
        entry["name"]: list(entry.get("include_regex", {}).get(known, ()))
        for entry in _document()["hook_collections"]
        if known in entry["frameworks"]
    }


def default_collections(framework: str) -> tuple[str, ...]:
    """Return the names of the collections that hooks of a framework save by default.

    Raises:
        SMDebugValueError: The framework is unknown.
    """
    known = _framework(framework)
    return tuple(
        entry["name"] for entry in _document()["hook_collections"] if known in entry.get("saved_by_default", ())
    )


def catalog_schema() -> dict[str, Any]:
    """Return the JSON Schema of the catalog."""
    schema: dict[str, Any] = json.loads((_FOLDER / "schema.json").read_text(encoding="utf-8"))
    return schema


def check_catalog(document: Mapping[str, Any] | None = None) -> None:
    """Validate a catalog against its schema.

    Args:
        document: The catalog; the one of the built-in rules by default.

    Raises:
        SMDebugValueError: The catalog is invalid; the message lists the path of every problem.
    """
    import jsonschema  # noqa: PLC0415  # heavy, and needed by nobody who only uses the catalog

    validator = jsonschema.Draft202012Validator(catalog_schema())
    errors = sorted(validator.iter_errors(document or _document()), key=lambda error: error.json_path)
    if errors:
        raise SMDebugValueError("\n".join(f"{error.json_path}: {error.message}" for error in errors))
