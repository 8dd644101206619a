"""Hooks that are closed when a test ends, and what is done at a step of a training."""

from __future__ import annotations

import contextlib


@contextlib.contextmanager
def closing_hooks(hook_class, folder, **defaults):
    """Yield a function that makes hooks below a folder; at the end all of them are closed.

    The function takes the name of a folder, a path or a back end, and the arguments of the hook. Every step is saved
    unless the arguments say otherwise.
    """
    made = []

    def make(name="out", *, hook_class=hook_class, **arguments):
        settings = {"save_config": {"save_interval": 1}, **defaults, **arguments}
        hook = hook_class(folder / name if isinstance(name, str) else name, **settings)
        made.append(hook)
        return hook

    yield make
    for hook in made:
        hook.strict = False
        hook.close()


def at_step(number, function):
    """Return what calls a function when it is called for the given time, counted from 1."""
    calls = iter(range(1, 1 << 20))

    def count():
        if next(calls) == number:
            function()

    return count
