"""Subclasses of SageMaker SDK classes with Debugger settings: `with_debugger`."""

from __future__ import annotations

from typing import Any, Final, TypeVar, cast

from sagemaker_debug_ext.errors import SMDebugTypeError
from sagemaker_debug_ext.sdk.estimators import DebuggerMixin
from sagemaker_debug_ext.sdk.trainers import TrainerDebuggerMixin

_T = TypeVar("_T")

_ADAPTED: Final[dict[type[Any], Any]] = {}
"""Class of the SDK → its subclass with Debugger settings."""


def with_debugger(sdk_class: type[_T]) -> type[_T]:
    """Return a subclass of an SDK class with Debugger settings. Repeated calls return the same subclass.

    Example:
        >>> PyTorch = with_debugger(sagemaker.pytorch.PyTorch)  # doctest: +SKIP
        >>> ModelTrainer = with_debugger(sagemaker.train.ModelTrainer)  # doctest: +SKIP

    Args:
        sdk_class: Any estimator class of SDK v2, or ``ModelTrainer`` of SDK v3 or a subclass.

    Returns:
        A subclass whose first base is `DebuggerMixin` or `TrainerDebuggerMixin`. Its instances can be copied and
        pickled like those of the class itself.

    Raises:
        SMDebugTypeError: The class does not support Debugger settings.
    """
    if not isinstance(sdk_class, type):
        raise SMDebugTypeError(f"with_debugger takes a class of the SageMaker SDK (got {sdk_class!r})")
    if issubclass(sdk_class, (DebuggerMixin, TrainerDebuggerMixin)):
        return sdk_class
    return cast("type[_T]", _adapted(sdk_class))


def _adapted(sdk_class: Any) -> Any:
    kind = _ADAPTED.get(sdk_class)
    if kind is None:
        body = {
            "__module__": sdk_class.__module__,
            "__qualname__": sdk_class.__qualname__,
            "__doc__": sdk_class.__doc__,
            "__reduce_ex__": _reduce,
            # Trainers turn it into a private attribute, which their copies keep.
            "_debugger_requests": None,
        }
        kind = type(sdk_class)(sdk_class.__name__, (_mixin_for(sdk_class), sdk_class), body)
        _ADAPTED[sdk_class] = kind
    return kind


def _mixin_for(sdk_class: type[Any]) -> type[Any]:
    # Methods distinguish v2 from v3, because checking for classes of the SDK would import it.
    if hasattr(sdk_class, "_create_training_job_args"):
        return TrainerDebuggerMixin
    if hasattr(sdk_class, "_prepare_debugger_for_training") and hasattr(sdk_class, "_prepare_rules"):
        return DebuggerMixin
    hint = ""
    if "Tuner" in sdk_class.__name__:
        hint = "; hyperparameter tuning jobs cannot carry them, make a hook in the training script instead"
    elif sdk_class.__name__.endswith("Trainer"):
        hint = "; this trainer builds its own requests, use attach_debugger on its boto3 session"
    raise SMDebugTypeError(
        f"with_debugger takes estimators of SDK v2 and ModelTrainer of SDK v3 (got {sdk_class!r}){hint}"
    )


def _reduce(self: Any, protocol: Any) -> Any:
    """Pickle like the SDK's class; unpickling creates the subclass again."""
    sdk_class = type(self).__bases__[-1]
    if _ADAPTED.get(sdk_class) is not type(self):
        return object.__reduce_ex__(self, protocol)  # a subclass by the user, importable by its name
    # object has __getstate__ since Python 3.11 only; the SDK's trainers define their own.
    state = self.__getstate__() if hasattr(self, "__getstate__") else self.__dict__
    return _new, (sdk_class,), state


def _new(sdk_class: Any) -> Any:
    kind = _adapted(sdk_class)
    return kind.__new__(kind)
