"""The arguments that a hook takes, including those its class passes on, and the error for one that it does not."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from sagemaker_debug_ext.errors import SMDebugTypeError, did_you_mean

_InitT = TypeVar("_InitT", bound=Callable[..., None])


def signature_of(hook_class: type, base: type) -> inspect.Signature:
    """Return the parameters of a hook and of those it passes arguments on to.

    Args:
        hook_class: The hook.
        base: The last of those that are hooks.
    """
    found: dict[str, inspect.Parameter] = {}
    for owner in reversed(hook_class.__mro__):
        if issubclass(owner, base) and "__init__" in vars(owner):
            parameters = list(inspect.signature(vars(owner)["__init__"]).parameters.values())[1:]
            if not any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
                found.clear()
            found |= {
                parameter.name: parameter
                for parameter in parameters
                if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            }
    return inspect.Signature(sorted(found.values(), key=lambda parameter: parameter.kind))


def reject_unknown_arguments(init: _InitT) -> _InitT:
    """Make the last ``__init__`` of a hook name a wrong argument, and those that the hook takes.

    Only there an argument is known to be unknown, because each class before it may have taken some out. Python's own
    error names the class of this ``__init__``, which scripts never see.
    """
    signature = inspect.signature(init)

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in kwargs:
            if name not in signature.parameters:
                taken = inspect.signature(type(self)).parameters
                hint = did_you_mean(name, taken) or f"; it takes {', '.join(taken)}"
                raise SMDebugTypeError(f"{type(self).__name__} takes no argument {name!r}{hint}")
        try:
            signature.bind(self, *args, **kwargs)
        except TypeError as error:
            taken = inspect.signature(type(self)).parameters
            raise SMDebugTypeError(f"{type(self).__name__}: {error}; it takes {', '.join(taken)}") from None
        init(self, *args, **kwargs)

    return cast(_InitT, checked)
