"""`attach`: install capture for each framework that the script imports.

The module of each framework has a function ``install(configure)``, which makes the framework report models as they
train. The first framework that trains gets the hook of the process; a framework beneath it adds no second hook. What
scikit-learn computes of predictions goes to the record of the program.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import logging
import os
from collections.abc import Callable
from types import ModuleType
from typing import Final

from sagemaker_debug_ext._imports.callbacks import when_imported
from sagemaker_debug_ext.config.saving import DEFAULT_SAVE_INTERVAL
from sagemaker_debug_ext.errors import JobSpecError
from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.auto import reports
from sagemaker_debug_ext.hooks.fail_safe import never_into_script
from sagemaker_debug_ext.hooks.options.config_file import CONFIG_PATH_VARIABLE, HookConfiguration, load_configuration
from sagemaker_debug_ext.hooks.process.sigterm import wraps_training

LOG = logging.getLogger(__name__)

wraps_training(__name__)

_INSTALLERS: Final = {
    "keras": "sagemaker_debug_ext.hooks.auto.keras",
    "torch": "sagemaker_debug_ext.hooks.auto.pytorch",
    "xgboost": "sagemaker_debug_ext.hooks.auto.xgboost",
}
"""Module of a framework → our module for it, which is imported only after it."""

_INSTALLED: Final[set[tuple[str, str | None]]] = set()
"""Our installed modules, each with the given path of the configuration file."""


def attach(json_config_path: str | None = None) -> bool:
    """Capture the training of this process, in any supported framework.

    The configuration file is read now, so later changes of the environment or the working directory have no effect.

    Args:
        json_config_path: The hook configuration file; None means the one that SageMaker provides in the container.

    Returns:
        Whether the file exists. If it does not, nothing is captured, with a warning if a path was given.

    Raises:
        SMDebugValueError: The file holds an invalid value.
    """
    try:
        load = load_configuration(json_config_path, os.environ)
        load(DEFAULT_SAVE_INTERVAL)  # so that an invalid value raises before the script starts
    except JobSpecError as error:
        LOG.error("nothing is captured, training goes on: %s", error)  # noqa: TRY400 - the text names the cause
        return False
    except FileNotFoundError as error:
        is_wanted = json_config_path is not None or CONFIG_PATH_VARIABLE in os.environ
        level = logging.WARNING if is_wanted else logging.INFO
        LOG.log(level, "nothing is captured: there is no configuration file %s", error.filename)
        return False
    folder = _working_folder()

    def configure(default_save_interval: int) -> HookConfiguration:
        return load(default_save_interval).relative_to(folder)

    atexit.register(_tell_if_nothing_trained, os.getpid())
    for framework, installer in _INSTALLERS.items():
        when_imported(framework, functools.partial(_install, installer, json_config_path, configure))
    when_imported("sklearn.metrics", reports.observe)
    return True


def _tell_if_nothing_trained(pid: int) -> None:
    """Log at exit that no training step was seen."""
    if os.getpid() != pid or registry.current_has_trained():
        return
    if registry.has_hook():
        reason = "only evaluations were seen"
    elif _INSTALLED:
        reason = "a line above says why, or the script trained in no way that capture sees"
    else:
        reason = f"the script imported none of {', '.join(_INSTALLERS)}"
    LOG.warning(
        "no training step was captured: %s. Capture sees the fit and train_on_batch of Keras, gradient tapes of "
        "TensorFlow, modules and tensors of PyTorch that a backward pass reaches, and xgboost.train; in other loops, "
        "create a hook and register the model with it",
        reason,
    )


def _working_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # the working directory has been removed, so relative paths have no target
        return ""


def _install(
    installer: str,
    json_config_path: str | None,
    configure: Callable[[int], HookConfiguration],
    framework: ModuleType,
) -> None:
    if (installer, json_config_path) in _INSTALLED:
        return
    with never_into_script(  # whose import of the framework is under way
        lambda error: LOG.error("nothing of %s is captured", framework.__name__, exc_info=error)
    ):
        importlib.import_module(installer).install(configure)
        _INSTALLED.add((installer, json_config_path))
