"""Has ``torch.jit.script`` compile a model as it is without a hook.

It compiles what is registered with a module along with it, and refuses what is not written in its language.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from torch import jit, nn

from sagemaker_debug_ext.hooks.pytorch.taps import Tap, is_stand_in

_PREPARE: Final = "__prepare_scriptable__"
"""The method by which a module says what is to be compiled in its place."""

_REGISTERED: Final = ("_forward_pre_hooks", "_forward_hooks")

_attached: Final[set[Scripting]] = set()


class Scripting:
    """Gives modules that method, between `attach` and `detach`; what has one already keeps it."""

    def attach(self) -> None:
        """Begin."""
        if not _attached and not hasattr(nn.Module, _PREPARE):
            setattr(nn.Module, _PREPARE, _without_taps)
        _attached.add(self)

    def detach(self) -> None:
        """Take the method away, unless it is needed still."""
        _attached.discard(self)
        if not _attached and vars(nn.Module).get(_PREPARE) is _without_taps:
            delattr(nn.Module, _PREPARE)


def _without_taps(module: nn.Module) -> nn.Module:
    """Return a module that shares everything with `module` but what we have registered with it.

    ``torch.jit`` puts what it gets for each module in the place of that module, in what contains it. So the module must
    not be its own stand-in if there is a tap on any of its parts.
    """
    if isinstance(module, jit.ScriptModule) or not any(map(_is_tapped, module.modules())):
        return module
    bare: nn.Module = object.__new__(type(module))
    bare.__dict__.update(module.__dict__)
    bare.__dict__["_modules"] = module._modules.copy()  # noqa: SLF001 - it is changed in place
    for name in _REGISTERED:
        functions: OrderedDict[int, Any] = module.__dict__[name]
        bare.__dict__[name] = OrderedDict((key, each) for key, each in functions.items() if not _is_ours(each))
    return bare


def _is_tapped(module: nn.Module) -> bool:
    return any(_is_ours(each) for name in _REGISTERED for each in getattr(module, name).values())


def _is_ours(function: Any) -> bool:
    return isinstance(function, Tap) or is_stand_in(function)
