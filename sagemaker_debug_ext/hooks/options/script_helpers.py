"""Helpers that scripts for Debugger import from ``core.json_config`` to read a hook configuration file step by step."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Protocol

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.hooks.options.config_file import (
    HookConfiguration,
    hook_config_file,
    parse_configuration,
    read_object,
)


class _HoldsCollections(Protocol):
    def get(self, name: str) -> Collection: ...


def get_json_config_as_dict(json_config_path: str | None) -> dict[str, Any]:
    """Return the content of a hook configuration file.

    Args:
        json_config_path: The file; None means where the environment says, or where SageMaker puts it.

    Raises:
        FileNotFoundError: There is no such file.
        SMDebugValueError: The file cannot be read, or holds no JSON object.
    """
    return read_object(hook_config_file(json_config_path, os.environ))


def collect_hook_config_params(params_dict: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a hook that the content of a configuration file stands for.

    Raises:
        SMDebugValueError: A value has no meaning.
    """
    return _parse(params_dict).arguments()


def get_include_collections(params_dict: Mapping[str, Any]) -> list[str] | None:
    """Return the names of the collections in the content of a configuration file; None if it lists none.

    Raises:
        SMDebugValueError: A value has no meaning.
    """
    return [settings.name for settings in _parse(params_dict).collections] or None


def add_collections_to_manager(
    collection_manager: _HoldsCollections,
    params_dict: Mapping[str, Any],
    hook_params: Mapping[str, Any],
) -> None:
    """Apply the settings in the content of a configuration file to the collections of a manager.

    Args:
        collection_manager: Has the collections, or makes them.
        params_dict: The content.
        hook_params: The arguments of the hook, whose schedule holds for collections without one of their own.

    Raises:
        SMDebugValueError: A value has no meaning.
    """
    for settings in _parse(params_dict).collections:
        collection = collection_manager.get(settings.name)
        settings.apply_to(collection)
        collection.save_config = collection.save_config or hook_params["save_config"]


def _parse(params_dict: Mapping[str, Any]) -> HookConfiguration:
    return parse_configuration(params_dict, "the hook configuration")
