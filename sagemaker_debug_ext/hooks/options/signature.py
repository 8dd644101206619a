"""Which arguments a hook takes, also where its class passes them on, and what is said of one that it does not take."""

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
    for some in reversed(hook_class.__mro__):
        if issubclass(some, base) and "__init__" in vars(some):
            parameters = list(inspect.signature(vars(some)["__init__"]).parameters.values())[1:]
            if not any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
                found.clear()
            found |= {
                each.name: each for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
            }
    return inspect.Signature(sorted(found.values(), key=lambda parameter: parameter.kind))


def reject_unknown_arguments(init: _InitT) -> _InitT:
    """Have the last ``__init__`` that arguments are passed on to say what is wrong with them, and what the hook takes.

    It is there that an argument is known to be unknown: any class before it may have taken some out. Python's own error
    names the class of this ``__init__``, which scripts never see.
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
