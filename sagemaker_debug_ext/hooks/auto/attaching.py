"""`attach`: have each framework that the script imports captured by the module made for it.

Such a module has a function ``install(json_config_path)``, which makes the framework tell of models as they train.
The first framework that trains something gets the hook of the process; a framework beneath it adds none of its own.
"""

from __future__ import annotations

import functools
import importlib
import logging
import os
from types import ModuleType
from typing import Final

from sagemaker_debug_ext._imports import when_imported
from sagemaker_debug_ext.hooks.configuration import CONFIG_PATH_VARIABLE, read_configuration

LOG = logging.getLogger(__name__)

_INSTALLERS: Final = {
    "keras": "sagemaker_debug_ext.hooks.auto.keras",
    "torch": "sagemaker_debug_ext.hooks.auto.pytorch",
    "xgboost": "sagemaker_debug_ext.hooks.auto.xgboost",
}
"""Module of a framework → ours, which is imported only after it."""


def attach(json_config_path: str | None = None) -> bool:
    """Have what this process trains captured, in whichever framework.

    Args:
        json_config_path: The hook configuration file; None means the one SageMaker puts into the container.

    Returns:
        Whether there is such a file. Without one nothing is captured; a warning says so if one was named.

    Raises:
        SMDebugValueError: The file holds a value without meaning.
    """
    try:
        read_configuration(json_config_path, os.environ)
    except FileNotFoundError as error:
        is_wanted = json_config_path is not None or CONFIG_PATH_VARIABLE in os.environ
        level = logging.WARNING if is_wanted else logging.INFO
        LOG.log(level, "nothing is captured: there is no configuration file %s", error.filename)
        return False
    for framework, installer in _INSTALLERS.items():
        when_imported(framework, functools.partial(_install, installer, json_config_path))
    return True


def _install(installer: str, json_config_path: str | None, framework: ModuleType) -> None:
    try:
        _install_once(installer, json_config_path)
    except Exception:  # the script's import of the framework must not fail because of this
        LOG.exception("nothing of %s is captured", framework.__name__)


@functools.cache
def _install_once(installer: str, json_config_path: str | None) -> None:
    importlib.import_module(installer).install(json_config_path)
