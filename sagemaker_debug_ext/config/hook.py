"""Configuration of the hook of a job: `DebuggerHookConfig`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from sagemaker_debug_ext.config._fields import Parameters, Text, is_local_path, is_s3_path, present, render_parameters
from sagemaker_debug_ext.config.collection_config import CollectionConfig
from sagemaker_debug_ext.config.hook_options import HOOK_PARAMETERS, check_parameters
from sagemaker_debug_ext.errors import SMDebugTypeError


def to_collections(collections: object) -> tuple[CollectionConfig, ...]:
    """Convert a list of collections to a tuple; None results in an empty one.

    Collections of the SDK are converted to `CollectionConfig`.

    Raises:
        SMDebugTypeError: An item is not a collection.
    """
    if collections is None:
        return ()
    if isinstance(collections, str) or not isinstance(collections, Iterable):
        raise SMDebugTypeError(f"collections must be a list of CollectionConfig (got {collections!r})")
    return tuple(map(_to_collection, collections))


def _to_collection(item: Any) -> CollectionConfig:
    if isinstance(item, CollectionConfig):
        return item
    if hasattr(item, "name") and hasattr(item, "parameters"):
        return CollectionConfig(item.name, item.parameters)
    raise SMDebugTypeError(f"collections must be a list of CollectionConfig (got {item!r} among them)")


def _to_parameters(values: Mapping[str, Any] | None) -> Parameters:
    return render_parameters(values, "DebuggerHookConfig.hook_parameters")


@attrs.frozen
class DebuggerHookConfig:
    """Tensors to save while a job trains, and where to save them.

    Example:
        >>> hook_config = DebuggerHookConfig("s3://my-bucket/debug", hook_parameters={"save_interval": 100})

    Args:
        s3_output_path: S3 location for the tensors; the service appends ``<job name>/debug-output``. The output path of
            the job by default.
        container_local_output_path: Folder inside the container; ``/opt/ml/output/tensors`` by default.
        hook_parameters: Settings for all collections: the parameters of `CollectionConfig` and ``save_all``,
            ``include_workers`` (``one`` or ``all``), ``export_tensorboard``, ``tensorboard_dir``.
        collection_configs: Collections to save in addition to the default ones of the framework.
        strict: Raise if a parameter is unknown. By default it is passed on with a warning.

    Raises:
        SMDebugTypeError: An argument has the wrong type.
        SMDebugValueError: A path is invalid, the value of a parameter is not allowed, or, if `strict`, a parameter is
            unknown.
    """

    s3_output_path: Text | None = attrs.field(default=None, validator=is_s3_path)
    container_local_output_path: Text | None = attrs.field(default=None, validator=is_local_path)
    hook_parameters: Parameters = attrs.field(default=Parameters(), converter=_to_parameters)
    collection_configs: tuple[CollectionConfig, ...] = attrs.field(default=(), converter=to_collections)

    strict: bool = attrs.field(default=False, kw_only=True, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        check_parameters(self.hook_parameters, HOOK_PARAMETERS, "the hook", self.strict)

    def to_request_dict(self) -> dict[str, Any]:
        """Return the member ``DebugHookConfig`` of a job with these settings only; unset ones are left out."""
        return present(
            {
                "S3OutputPath": self.s3_output_path,
                "LocalPath": self.container_local_output_path,
                "HookParameters": dict(self.hook_parameters),
                "CollectionConfigurations": [collection.to_request_dict() for collection in self.collection_configs],
            }
        )

    _to_request_dict = to_request_dict  # the SDK's name, which published code calls
