"""The hook of this process in Keras scripts, and the removed hooks of TensorFlow 1."""

from __future__ import annotations

from typing import Any, Final

from sagemaker_debug_ext.errors import SMDebugNotImplementedError, SMDebugValueError, did_you_mean
from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.keras.hook import KerasHook


class SessionHook:
    """Removed hook for TensorFlow 1 sessions, which TensorFlow no longer has.

    Raises:
        SMDebugNotImplementedError: Always.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        raise SMDebugNotImplementedError(
            f"{type(self).__name__} no longer exists, because TensorFlow has no sessions and estimators: "
            "use KerasHook, as a callback of model.fit or with wrap_tape"
        )

    @classmethod
    def create_from_json_file(cls, json_file_path: str | None = None) -> SessionHook:
        """Raise the same error."""
        return cls(json_file_path)


class EstimatorHook(SessionHook):
    """Removed hook for TensorFlow 1 estimators, which TensorFlow no longer has.

    Raises:
        SMDebugNotImplementedError: Always.
    """


_get_hook, set_hook = registry.accessors(KerasHook, create_if_not_exists=False)

_HOOK_TYPES: Final = {"keras": KerasHook, "session": SessionHook, "estimator": EstimatorHook}


def get_hook(
    hook_type: str | None = None, json_config_path: str | None = None, create_if_not_exists: bool = False
) -> KerasHook | None:
    """Return the hook of this process.

    Args:
        hook_type: ``keras``, which is the default.
        json_config_path: The hook configuration file to create it from; None means SageMaker's.
        create_if_not_exists: Create it from that file if there is none.

    Returns:
        None if there is no hook, if the file is missing, or if the environment variable ``USE_SMDEBUG`` disables it.

    Raises:
        SMDebugNotImplementedError: The type is ``session`` or ``estimator``.
        SMDebugValueError: There is no such type.
    """
    if hook_type is not None and hook_type not in _HOOK_TYPES:
        hint = did_you_mean(hook_type, _HOOK_TYPES)
        raise SMDebugValueError(f"hook_type must be one of {', '.join(_HOOK_TYPES)} (got {hook_type!r}){hint}")
    if hook_type in ("session", "estimator"):
        _HOOK_TYPES[hook_type]()
    return _get_hook(json_config_path, create_if_not_exists)
