"""The table of public names: where each public name of smdebug and ``sagemaker.debugger`` is in this package.

The rows are in ``public_names.json``. ``reasons`` holds the sentences for names that are gone; ``modules`` maps a
module path, relative to the package, to

* ``at``: home, relative to the package → the names it defines; ``name=other`` stands for a name that is called
  ``other`` there,
* ``values``: constant → value,
* ``gone``: key of a reason → names. A key alone stands for the whole module with its submodules,
* ``also``: modules whose names the original imports into this one, so that scripts find them here, too.
"""

from __future__ import annotations

import functools
import importlib
import importlib.resources
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

import attrs

from sagemaker_debug_ext.errors import did_you_mean

_PACKAGE: Final = __name__.partition(".")[0]


@attrs.frozen
class ModuleNames:
    """The public names of one module.

    Args:
        homes: Name → home and the name there.
        values: Name → constant.
        gone: Name → sentence that says what to use instead.
        others: Paths of the modules whose names this one has, too.
    """

    homes: Mapping[str, tuple[str, str]]
    values: Mapping[str, Any]
    gone: Mapping[str, str]
    others: Sequence[str] = ()

    @property
    def available(self) -> list[str]:
        """The names of the module's own that can be imported, sorted."""
        return sorted({*self.homes, *self.values})

    def has(self, name: str) -> bool:
        """Return whether the module itself has a row for a name, which may be gone."""
        return name in self.homes or name in self.values or name in self.gone


@attrs.frozen
class Table:
    """All modules of the table, by their path relative to the package.

    Args:
        modules: Path → names.
        gone: Path of a module that is gone → sentence that says what to use instead.
    """

    modules: Mapping[str, ModuleNames]
    gone: Mapping[str, str]

    def why_gone(self, path: str) -> str | None:
        """Return the sentence for a module or for a name in a module; None if neither is gone on purpose."""
        for parent in _with_parents(path):
            if parent in self.gone:
                return self.gone[parent]
        module, _, name = path.rpartition(".")
        names = self.modules.get(module)
        if names is None or names.has(name):
            return names.gone.get(name) if names else None
        others = (self.modules[other].gone.get(name) for other in names.others if other in self.modules)
        return next((reason for reason in others if reason), None)


@functools.cache
def read_table() -> Table:
    """Return the table, read on the first call."""
    text = importlib.resources.files(__package__).joinpath("public_names.json").read_text(encoding="utf-8")
    content = json.loads(text)
    reasons: dict[str, str] = content["reasons"]
    modules = content["modules"]
    whole = {path: reasons[row["gone"]] for path, row in modules.items() if isinstance(row.get("gone"), str)}
    return Table(
        {path: _names_of(row, reasons) for path, row in modules.items() if path not in whole},
        whole,
    )


def _names_of(row: Mapping[str, Any], reasons: Mapping[str, str]) -> ModuleNames:
    homes = {}
    for home, names in row.get("at", {}).items():
        for entry in names:
            name, _, there = entry.partition("=")
            homes[name] = (home, there or name)
    gone = {name: reasons[key] for key, names in row.get("gone", {}).items() for name in names}
    return ModuleNames(homes, row.get("values", {}), gone, tuple(row.get("also", ())))


def _with_parents(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition(".")[0]


def _relative(module: str) -> str:
    return module.removeprefix(_PACKAGE).removeprefix(".")


def load(module: str, name: str) -> object:
    """Return a public name of a module, or a submodule that is in the table.

    Args:
        module: Full name of the module.
        name: The name.

    Raises:
        AttributeError: The module has no such name. The message says what to use instead of a name that is gone.
    """
    table = read_table()
    path = _relative(module)
    reason = table.why_gone(f"{path}.{name}".lstrip("."))
    if reason is not None:
        raise AttributeError(_gone_message(f"{module}.{name}", reason), name=name)
    names = table.modules.get(path)
    if names is not None and name in names.values:
        return names.values[name]
    if names is not None and name in names.homes:
        home, there = names.homes[name]
        return getattr(importlib.import_module(f"{_PACKAGE}.{home}".rstrip(".")), there)
    for other in names.others if names else ():
        imported = importlib.import_module(f"{_PACKAGE}.{other}".rstrip("."))
        row = table.modules.get(other)
        if name in getattr(imported, "__all__", vars(imported)) or (row is not None and row.has(name)):
            return getattr(imported, name)
    if find_spec(f"{module}.{name}") is not None:
        return importlib.import_module(f"{module}.{name}")
    hint = did_you_mean(name, names.available if names else ())
    raise AttributeError(f"module {module!r} has no attribute {name!r}{hint}", name=name)


def _gone_message(name: str, reason: str) -> str:
    return f"{name} does not exist: {reason}"


def find_spec(fullname: str) -> ModuleSpec | None:
    """Return the spec of a module in the table; None if the table has no such module.

    Raises:
        ImportError: The module, or the name in its parent module, is gone. The message says what to use instead.
    """
    table = read_table()
    path = _relative(fullname)
    reason = table.why_gone(path)
    if reason is not None:
        raise ImportError(_gone_message(fullname, reason), name=fullname)
    is_known = any(known == path or known.startswith(f"{path}.") for known in (*table.modules, *table.gone))
    return ModuleSpec(fullname, _FaceLoader(), is_package=True) if path and is_known else None


class _FaceLoader(Loader):
    """Makes a module whose names are imported on first use."""

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:  # noqa: ARG002 - the interface of loaders
        return None

    def exec_module(self, module: ModuleType) -> None:
        names = read_table().modules.get(_relative(module.__name__))
        available = names.available if names else []

        def find(name: str) -> object:
            value = load(module.__name__, name)
            setattr(module, name, value)
            return value

        module.__doc__ = "Names of this package under the module path of smdebug or of the SageMaker SDK."
        vars(module).update(
            __all__=available,
            __getattr__=find,
            __dir__=lambda: sorted({*vars(module), *available}),
        )
