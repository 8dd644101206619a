"""Registered models and losses, and the names of their modules and parameters."""

from __future__ import annotations

import itertools
import logging
import operator
from collections.abc import Collection, Iterable, Iterator
from typing import Final, TypeAlias

import attrs
from torch import jit, nn

from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.hooks.pytorch.distributed import is_sharded
from sagemaker_debug_ext.hooks.pytorch.torch_compile import compiled_children, plain_path, unwrap_compiled

LOG = logging.getLogger(__name__)

_NO_PARAMETERS: Final[Named] = []


@attrs.define(eq=False)
class RegisteredModule:
    """A registered model or loss.

    Args:
        module: The module that the script calls.
        name: Its name.
        is_model: Whether its forward pass is a step.
        prefix: The prefix of the paths of its modules.
        parent: The model whose forward passes run it, if it is no part that PyTorch knows of.
    """

    module: nn.Module
    name: str
    is_model: bool
    prefix: str = ""
    parent: nn.Module | None = None
    _members: ModelSnapshot | None = None

    @classmethod
    def of_model(cls, module: nn.Module) -> RegisteredModule:
        """Return a model, named after the class that the user wrote."""
        return cls(module, _class_name(unwrap_compiled(module)), is_model=True)

    @classmethod
    def of_loss(cls, module: nn.Module) -> RegisteredModule:
        """Return a loss, named after its class."""
        return cls(module, type(unwrap_compiled(module)).__name__, is_model=False)

    @classmethod
    def of_hidden_part(cls, module: nn.Module, parent: RegisteredModule, path: str) -> RegisteredModule:
        """Return a part of a model that is an element of a Python list, tuple or dictionary, at a path in the model."""
        name = f"{parent.name}.{path}"
        return cls(module, name, is_model=True, prefix=f"{name}.", parent=parent.module)

    @property
    def plain(self) -> nn.Module:
        """The original module if `module` is a ``torch.compile`` wrapper, so that names stay the same."""
        return unwrap_compiled(self.module)

    def modules(self) -> Iterator[tuple[str, nn.Module]]:
        """Yield all modules with their names: the root with its class name, the others with their path.

        A ``torch.compile`` wrapper replaces its module, because it is called outside compiled code.
        """
        yield self.name, self.module
        wrapped = {id(self.plain)}
        for path, module in self.plain.named_modules():
            if id(module) not in wrapped:
                yield self.prefix + plain_path(path), module
            wrapped.add(id(unwrap_compiled(module)))

    def assign_unique_names(self, others: Collection[RegisteredModule]) -> None:
        """Choose names that differ from those of the models registered before.

        A further model of a class gets a numeric suffix. If modules of two models have the same path, those of the
        later model are prefixed with its name.
        """
        plain_name = self.name
        names = {other.name for other in others}
        numbered = (f"{plain_name}_{number}" for number in itertools.count(1))
        while self.name in names:
            self.name = next(numbered)
        known = {name: module for other in others for name, module in other.modules()}
        if self.name != plain_name or any(known.get(name, module) is not module for name, module in self.modules()):
            self.prefix = f"{self.name}."

    def compiled_submodules(self) -> set[int]:
        """Return the `id` of every module inside compiled code, which cannot be watched."""
        return compiled_children(self.module).union(*map(compiled_children, self.plain.modules()))

    def parameters(self) -> Named:
        """Return the parameters that exist by now, with the names of their tensors; the same list while they stay."""
        if not self.is_model:
            return _NO_PARAMETERS
        if self._members is None or not self._members.is_current():
            self._members = ModelSnapshot.of(self.plain, f"{self.name}_")
        return self._members.named


class ModuleRegistry:
    """The registered models and losses, in the order of their registration.

    What several of them share has the name that the first of these gives; all else has a name of its own.
    """

    def __init__(self) -> None:
        self._roots: list[RegisteredModule] = []
        self._parts: set[int] = set()
        self._shared: dict[
            int, tuple[RegisteredModule, str]
        ] = {}  # parameters of several models: the first one, and its name

    def __iter__(self) -> Iterator[RegisteredModule]:
        return iter(self._roots)

    def __len__(self) -> int:
        return len(self._roots)

    def add(self, root: RegisteredModule) -> bool:
        """Add a model or loss; False, with a warning, if it is there already.

        Raises:
            SMDebugTypeError: ``torch.jit`` has compiled it, and takes no hooks.
            SMDebugValueError: It is a part of another one, or the other way round.
        """
        if isinstance(root.plain, jit.ScriptModule):
            raise SMDebugTypeError(
                f"module must not be compiled by torch.jit, which takes no hooks (got a {root.name}): register "
                "a module that has it as a part, whose weights and gradients are captured, or leave it uncompiled"
            )
        if any(known.module is root.module for known in self._roots):
            LOG.warning("a %s is registered already", root.name)
            return False
        for inner, outer in [(root, known) for known in self._roots] + [(known, root) for known in self._roots]:
            for name, module in outer.modules():
                if unwrap_compiled(module) is inner.plain:
                    raise SMDebugValueError(
                        f"module must not be registered together with a part of it "
                        f"({name!r} of a {outer.name} is the {inner.name} itself)"
                    )
        if root.is_model:
            root.assign_unique_names([known for known in self._roots if known.is_model])
        first = {
            id(parameter): (known, name) for known in reversed(self._roots) for name, parameter in known.parameters()
        }
        self._shared.update(
            (id(parameter), first[id(parameter)]) for _, parameter in root.parameters() if id(parameter) in first
        )
        self._roots.append(root)
        return True

    def has_part(self, module: nn.Module) -> bool:
        """Return whether a module is, or belongs to, a registered model or loss."""
        if id(module) not in self._parts:
            self._parts.update(id(part) for root in self._roots for _, part in root.modules())
        return id(module) in self._parts

    def clear(self) -> None:
        """Remove all models and losses."""
        self._parts.clear()
        self._roots.clear()
        self._shared.clear()

    def parameters_of(self, root: RegisteredModule) -> Named:
        """Return the parameters of a model by the names of their tensors."""
        named = root.parameters()
        if not self._shared:
            return named
        return [(self._shared.get(id(parameter), (root, name))[1], parameter) for name, parameter in named]

    def parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Yield the parameters of all models with the names of their tensors; those that models share come twice."""
        return itertools.chain.from_iterable(map(self.parameters_of, self._roots))

    def is_named_by(self, root: RegisteredModule, parameter: nn.Parameter) -> bool:
        """Return whether this model names one of its parameters."""
        return id(parameter) not in self._shared or self._shared[id(parameter)][0] is root

    def modules(self) -> dict[int, tuple[str, nn.Module]]:
        """Return all modules with their names, by their `id`."""
        return {id(module): (name, module) for root in reversed(self._roots) for name, module in root.modules()}

    def names(self) -> dict[int, str]:
        """Return the names of all modules by their `id`, those of a compiled root by that of the original as well."""
        found = self.modules()
        originals = {id(unwrap_compiled(module)): name for name, module in found.values()}
        return originals | {number: name for number, (name, _) in found.items()}

    def compiled_submodules(self) -> set[int]:
        """Return the `id` of every module inside compiled code, which cannot be watched."""
        return set().union(*(root.compiled_submodules() for root in self._roots))


def path_in_containers(part: nn.Module, model: nn.Module) -> str | None:
    """Return the path of a module that an attribute of a model holds in a Python container; None if none does."""
    for path, owner in model.named_modules():
        for attribute, container in vars(owner).items():
            if attribute.startswith("_") or not isinstance(container, (list, tuple, dict)):
                continue
            items = container.items() if isinstance(container, dict) else enumerate(container)
            found = next((key for key, item in items if item is part), None)
            if found is not None:
                return ".".join(filter(None, (path, attribute, str(found))))
    return None


def _class_name(module: nn.Module) -> str:
    """Return the name of the user's class, even if sharding has put its own class before it."""
    kind = type(module)
    bases = [base for base in kind.__bases__ if base.__name__ != "FSDPModule"]
    return bases[0].__name__ if len(bases) < len(kind.__bases__) and bases else kind.__name__


Named: TypeAlias = list[tuple[str, nn.Parameter]]
"""Parameters with the names of their tensors."""


@attrs.frozen(eq=False)
class ModelSnapshot:
    """Snapshot of the modules and parameters of a model.

    Args:
        named: Its parameters.
        modules: Each of its modules, with the parameters and the modules right below it.
        is_complete: Whether all parameters had data; no change is visible when a lazy parameter gets its data.
    """

    named: Named
    modules: list[tuple[nn.Module, list[nn.Parameter | None], list[nn.Module | None]]]
    is_complete: bool

    @classmethod
    def of(cls, model: nn.Module, prefix: str) -> ModelSnapshot:
        """Return a snapshot of a model.

        Args:
            model: The model.
            prefix: The prefix of the path of each parameter.
        """
        found = list(model.named_parameters())
        lazy = {id(parameter) for _, parameter in found if _is_lazy(parameter)}
        return cls(
            [(prefix + plain_path(path), parameter) for path, parameter in found if id(parameter) not in lazy],
            [
                (module, list(module._parameters.values()), list(module._modules.values()))  # noqa: SLF001 - what both
                for module in model.modules()  # are made of; asking in public takes as long as looking the model up
            ],
            not lazy,
        )

    def is_current(self) -> bool:
        """Return whether the model still consists of the same modules and parameters."""
        return self.is_complete and all(
            _are_same(module._parameters.values(), parameters)  # noqa: SLF001
            and _are_same(module._modules.values(), modules)  # noqa: SLF001
            for module, parameters, modules in self.modules
        )


def _are_same(found: Iterable[object], known: list[nn.Parameter | None] | list[nn.Module | None]) -> bool:
    now = list(found)
    return len(now) == len(known) and (all(map(operator.is_, now, known)) or all(map(_is_same_or_whole, now, known)))


def _is_same_or_whole(found: object, known: object) -> bool:
    """Return whether a member is still there, or the whole parameter stands for the shard until a backward pass."""
    if found is known:
        return True
    return (
        is_sharded(known)
        and isinstance(known, nn.Parameter)
        and isinstance(found, nn.Parameter)
        and not is_sharded(found)
        and found.shape == known.shape
    )


def _is_lazy(parameter: nn.Parameter) -> bool:
    return bool(nn.parameter.is_lazy(parameter))
