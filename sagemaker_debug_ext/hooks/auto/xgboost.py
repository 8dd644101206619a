"""Capture of unmodified XGBoost scripts: the hook is added to the callbacks of every training.

`install` wraps `xgboost.train` and `xgboost.cv`, which the scikit-learn estimators call, too, with functions that add
the hook. The hook gets hyperparameters and data from their arguments.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import xgboost as xgb
import xgboost.sklearn
import xgboost.training

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.base import BaseHook
from sagemaker_debug_ext.hooks.fail_safe import never_into_script
from sagemaker_debug_ext.hooks.options.config_file import HookConfiguration
from sagemaker_debug_ext.hooks.process.sigterm import wraps_training
from sagemaker_debug_ext.hooks.xgboost.hook import Hook
from sagemaker_debug_ext.hooks.xgboost.models import ModelKind

LOG = logging.getLogger(__name__)

wraps_training(__name__)

_FUNCTIONS: Final = ("train", "cv")
_MODULES: Final = (xgb, xgboost.training, xgboost.sklearn)
_NO_VALIDATION: Final = (
    "collection %r stays empty: evals of the training has %s; add data that is not, as (data, 'validation')"
)
_NUM_POSITIONAL: Final = 3
"""Number of positional arguments of both functions: parameters, data and rounds."""


class AutoHook(Hook):
    """A hook that skips collections that cannot be saved, with a warning instead of an error."""

    _evaluated: Sequence[str] = ()

    def before_training(self, model: Any) -> Any:
        """Look at the model."""
        with never_into_script(lambda error: LOG.error("a training is not captured", exc_info=error)):
            super().before_training(model)
        return model

    def join(self, parameters: object, train_data: Any, evals: Sequence[tuple[Any, str]]) -> None:
        """Set the data of a training that is about to start; the last non-training data in evals are for validation."""
        others = [matrix for matrix, _ in evals if matrix is not train_data]
        self._evaluated = [str(name) for _, name in evals]
        # XGBoost accepts parameters as a sequence of pairs, too.
        self.hyperparameters = parameters if isinstance(parameters, Mapping) else dict(parameters or ())  # type: ignore[call-overload]
        self.train_data = train_data
        self.validation_data = others[-1] if others else None

    def leave(self) -> None:
        """Release the data."""
        self.train_data = self.validation_data = None

    def _refuse(self, problem: str) -> None:
        LOG.warning("left out: %s", problem)

    def _check_matrix(self, matrix: Any, needed: str, collection: str, kind: ModelKind) -> None:
        if matrix is None and needed == "validation_data":  # the script can provide these only through evals
            trained_on = ", ".join(map(repr, self._evaluated))
            found = f"only {trained_on}, which is trained on" if trained_on else "nothing"
            LOG.warning(_NO_VALIDATION, collection, found)
        else:
            super()._check_matrix(matrix, needed, collection, kind)


class _Joiner:
    """Adds the hook to trainings, unless they have one already."""

    def __init__(self, configuration: HookConfiguration) -> None:
        self._configuration = configuration
        self._hook: AutoHook | None = None
        self._pid = os.getpid()

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of the function that adds the hook to the callbacks."""

        @functools.wraps(function)
        def captured(*args: Any, **kwargs: Any) -> Any:
            hook = self._join(args, kwargs)
            if hook is None:
                return function(*args, **kwargs)
            try:
                return function(*args, **{**kwargs, "callbacks": [hook, *(kwargs.get("callbacks") or ())]})
            finally:
                hook.leave()

        return captured

    def _join(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> AutoHook | None:
        names = dict(zip(("params", "dtrain"), args, strict=False))
        given = {**kwargs, **names}
        has_hook = any(isinstance(callback, BaseHook) for callback in kwargs.get("callbacks") or ())
        if has_hook or len(args) > _NUM_POSITIONAL or os.getpid() != self._pid:
            return None
        try:
            if self._hook is None:
                if registry.has_hook():
                    return None
                self._hook = AutoHook.create_from_configuration(self._configuration)
            self._hook.join(given.get("params"), given.get("dtrain"), given.get("evals") or ())
        except (DebugExtError, OSError, TypeError, ValueError) as error:
            LOG.warning("a training is not captured: %s", error)
            return None
        return self._hook


def install(configure: Callable[[int], HookConfiguration]) -> None:
    """Capture the trainings of this process.

    Args:
        configure: Default save interval → hook configuration.
    """
    joiner = _Joiner(configure(AutoHook.default_save_interval))
    for name in _FUNCTIONS:
        replaced = joiner.wrap(getattr(xgb, name))
        for module in _MODULES:
            if hasattr(module, name):
                setattr(module, name, replaced)
