"""The ``DebugHookConfig`` member: the hook's settings, merged with the collections that rules request."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import attrs

from sagemaker_debug_ext.config._fields import Text, warned_before
from sagemaker_debug_ext.config.collection_config import CollectionConfig
from sagemaker_debug_ext.config.hook import DebuggerHookConfig
from sagemaker_debug_ext.config.rules import Rule
from sagemaker_debug_ext.config.saving import SAVE_KEYS
from sagemaker_debug_ext.errors import SMDebugTypeError
from sagemaker_debug_ext.requests._problems import Problems
from sagemaker_debug_ext.requests.outputs import required_output_path

HookSetting: TypeAlias = "DebuggerHookConfig | Mapping[str, Any] | bool | None"
"""Type of the argument ``debugger_hook_config``."""

_FROM_HOOK: Final = 0
_FROM_USER: Final = 1
_FROM_RULE: Final = 2


class _Source(NamedTuple):
    """The origin of a collection's setting. A lower rank takes precedence."""

    rank: int
    who: str
    collection: CollectionConfig


class _Setting(NamedTuple):
    """A parameter of a collection, and its origin."""

    rank: int
    who: str
    value: Text


def resolve_hook(setting: HookSetting) -> DebuggerHookConfig | None:
    """Return the hook for a setting: the default one for None, True and ``{}``, and None for False.

    Raises:
        SMDebugTypeError: The setting has the wrong type.
    """
    if isinstance(setting, DebuggerHookConfig):
        return setting
    if setting is False:
        return None
    if setting is None or setting is True or setting == {}:
        return DebuggerHookConfig()
    raise SMDebugTypeError(f"debugger_hook_config must be a DebuggerHookConfig, True, False or None (got {setting!r})")


def build_debug_hook_config(
    hook: DebuggerHookConfig, rules: Sequence[Rule] = (), output_path: Text | None = None
) -> dict[str, Any]:
    """Build the member.

    Args:
        hook: Configuration of the hook.
        rules: Rules whose collections are saved as well.
        output_path: S3 location for the tensors if the hook specifies none.

    Raises:
        RequestValidationError: No S3 location is given, or two sources of the same rank conflict.
    """
    problems = Problems()
    member: dict[str, Any] = {}
    with problems.below(""):
        member["S3OutputPath"] = required_output_path(hook.s3_output_path, output_path)
    with problems.below("CollectionConfigurations"), warned_before():
        merged = attrs.evolve(hook, collection_configs=merge_collections(hook, rules))
        member.update(merged.to_request_dict())
    problems.raise_if_any()
    return member


@warned_before()
def merge_collections(hook: DebuggerHookConfig, rules: Sequence[Rule] = ()) -> tuple[CollectionConfig, ...]:
    """Return one collection per name, in the order of first occurrence: hook first, then rules.

    Parameters are merged one by one. Those of the hook take precedence over those that the user gives with a rule, and
    these over the defaults of a rule. Of two defaults, the smaller ``save_interval`` wins, so that both rules see
    enough steps. A default is dropped if the hook's parameters set the value, for all modes or for one, because a
    collection's parameter would override the hook's in the container (store format, section 9.2).

    Raises:
        RequestValidationError: The user gives two values of one parameter, and neither takes precedence.
    """
    by_name: dict[Hashable, list[_Source]] = {}
    for source in _sources(hook, rules):
        name = source.collection.name
        # A pipeline variable as a name equals only itself, and may be unhashable.
        by_name.setdefault(name if isinstance(name, str) else id(name), []).append(source)
    problems = Problems()
    merged = []
    settled = {key.rpartition(".")[2] for key in hook.hook_parameters}
    for sources in by_name.values():
        name = sources[0].collection.name
        settings = _merge(sources, settled, problems)
        merged.append(CollectionConfig(name, {key: setting.value for key, setting in settings.items()}))
    problems.raise_if_any()
    return tuple(merged)


def _sources(hook: DebuggerHookConfig, rules: Sequence[Rule]) -> Iterator[_Source]:
    yield from (_Source(_FROM_HOOK, "the hook", collection) for collection in hook.collection_configs)
    for rule in rules:
        rank = _FROM_USER if rule.collections_to_save else _FROM_RULE
        yield from (_Source(rank, f"rule {rule.name!r}", collection) for collection in rule.collection_configs)


def _merge(sources: Sequence[_Source], settled: Container[str], problems: Problems) -> dict[str, _Setting]:
    settings: dict[str, _Setting] = {}
    for rank, who, collection in sources:
        for key, value in collection.parameters.items():
            if rank == _FROM_RULE and key in SAVE_KEYS and key in settled:
                continue
            known = settings.setdefault(key, _Setting(rank, who, value))
            if rank < known.rank or (rank == known.rank == _FROM_RULE and _is_denser(key, value, known.value)):
                settings[key] = _Setting(rank, who, value)
            elif rank == known.rank != _FROM_RULE and value != known.value:
                problems.add(
                    f"[{collection.name!r}].CollectionParameters.{key}",
                    f"{known.who} asks for {known.value!r} and {who} for {value!r}; "
                    "decide in the collection_configs of the hook",
                )
    return settings


def _is_denser(key: str, value: Text, known: Text) -> bool:
    return key == "save_interval" and isinstance(value, str) and isinstance(known, str) and int(value) < int(known)
