"""What a hook says of arguments that it does not take."""

from __future__ import annotations

import re

import pytest

from sagemaker_debug_ext.errors import SMDebugTypeError
from sagemaker_debug_ext.hooks.base import BaseHook


class Special(BaseHook):
    def __init__(self, *args, explicit_extra=1, **kwargs):
        self.extra = (explicit_extra, kwargs.pop("tag", None))
        super().__init__(*args, **kwargs)


class More(Special):
    """Passes everything on."""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"outdir": "x"}, "takes no argument 'outdir'; did you mean 'out_dir'?"),
        ({"out_dir": "x", "save_configs": None}, "takes no argument 'save_configs'; did you mean 'save_config'?"),
        ({"out_dir": "x", "explicit_extras": 2}, "takes no argument 'explicit_extras'; did you mean 'explicit_extra'?"),
        ({"out_dir": "x", "zzz": 2}, "takes no argument 'zzz'; it takes out_dir, export_tensorboard, "),
    ],
)
@pytest.mark.parametrize("hook_class", [Special, More])
def test_hook_when_an_argument_is_unknown_then_error_names_hook_and_nearest(hook_class, arguments, expected):
    """The class that the script has called, and one of all the arguments it passes on; it is a `TypeError`."""
    with pytest.raises(SMDebugTypeError, match=f"^{re.escape(f'{hook_class.__name__} {expected}')}"):
        hook_class(**arguments)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "missing a required argument: 'out_dir'; it takes out_dir, export_tensorboard, "),
        (range(20), "too many positional arguments; it takes out_dir, export_tensorboard, "),
    ],
)
def test_hook_when_there_are_too_few_or_too_many_arguments_then_error_names_hook_and_all(arguments, expected):
    """Not the class that they are passed on to."""
    with pytest.raises(SMDebugTypeError, match=f"^{re.escape(f'Special: {expected}')}.*, explicit_extra$"):
        Special(*arguments)


def test_base_hook_when_an_argument_is_unknown_then_error_names_the_nearest():
    """The class itself has no subclass to speak for it."""
    with pytest.raises(SMDebugTypeError, match=r"^BaseHook takes no argument 'dryrun'; did you mean 'dry_run'\?$"):
        BaseHook("x", dryrun=True)


def test_hook_when_a_class_takes_arguments_out_then_they_are_not_unknown(make_hook):
    """What its signature does not show is the class's own affair."""
    assert make_hook(hook_class=Special, tag="mine").extra == (1, "mine")
