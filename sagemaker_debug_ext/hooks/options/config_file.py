"""The hook configuration file (store format, section 9): what a job's submitter wants the hook to do.

`read_configuration` reads it where SageMaker puts it, `parse_configuration` makes values of its content. Numbers and
booleans may stand as such or as text, because SageMaker hands text through. Unknown keys never stop a job: they are
logged once, with the nearest known key. A value without meaning is an error that names file, collection, parameter and
value.
"""

from __future__ import annotations

import functools
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs

from sagemaker_debug_ext.config.collection import Collection, compile_pattern
from sagemaker_debug_ext.config.hook_options import COLLECTION_PARAMETERS, FULL_POLICIES, HOOK_PARAMETERS
from sagemaker_debug_ext.config.reductions import ReductionConfig, check_statistics, parse_reductions
from sagemaker_debug_ext.config.saving import DEFAULT_SAVE_INTERVAL, SaveConfig, SaveConfigMode
from sagemaker_debug_ext.errors import DebugExtError, SMDebugTypeError, SMDebugValueError, brief, did_you_mean
from sagemaker_debug_ext.hooks.output.background import DEFAULT_MEMORY_LIMIT_BYTES
from sagemaker_debug_ext.hooks.output.spill_file import DEFAULT_SPILL_LIMIT_BYTES
from sagemaker_debug_ext.vocabulary import ModeKeys

LOG = logging.getLogger(__name__)

CONFIG_PATH_VARIABLE: Final = "SMDEBUG_CONFIG_FILE_PATH"
DEFAULT_CONFIG_PATH: Final = "/opt/ml/input/config/debughookconfig.json"
TENSORBOARD_PATH_VARIABLE: Final = "TENSORBOARD_CONFIG_FILE_PATH"
DEFAULT_TENSORBOARD_PATH: Final = "/opt/ml/input/config/tensorboardoutputconfig.json"
JOB_NAME_VARIABLE: Final = "TRAINING_JOB_NAME"
"""Set inside a SageMaker job, whatever its value."""

DEFAULT_OUT_DIR: Final = "/opt/ml/output/tensors"

_DOCUMENT_KEYS: Final = ("S3OutputPath", "S3Path", "LocalPath", "HookParameters", "CollectionConfigurations")
_ENTRY_KEYS: Final = ("CollectionName", "CollectionParameters")
_MODE_NAMES: Final = {mode: mode.name.lower() for mode in ModeKeys}

_Value = TypeVar("_Value")


@attrs.frozen(kw_only=True)
class CollectionSettings:
    """What the file says of one collection.

    Args:
        name: Name of the collection.
        save_config: When to save it; None takes the hook's setting.
        reduction_config: What to save of its members; None takes the hook's setting.
        include_regex: Patterns to add to the collection's own.
        save_histogram: Whether TensorBoard output shows histograms; None leaves the default.
    """

    name: str
    save_config: SaveConfig | None = None
    reduction_config: ReductionConfig | None = None
    include_regex: tuple[str, ...] = ()
    save_histogram: bool | None = None

    def apply_to(self, collection: Collection) -> None:
        """Have a collection be as the file says."""
        collection.include(self.include_regex)
        collection.save_config = self.save_config
        collection.reduction_config = self.reduction_config
        if self.save_histogram is not None:
            collection.save_histogram = self.save_histogram


@attrs.frozen(kw_only=True)
class HookConfiguration:
    """What the file says as a whole; every field means what the hook argument of that name means.

    Args:
        out_dir: Where to write.
        save_config: When to save, complete for all modes.
        reduction_config: What to save of tensors; None means their values.
        include_regex: Patterns for the collection ``default``.
        collections: The collections listed, in order, each name once.
        save_all: Whether to save everything.
        include_workers: ``all``, or anything else for the first worker only.
        export_tensorboard: Whether TensorBoard files are wanted.
        tensorboard_dir: Where to; None means a folder inside `out_dir`.
        dry_run: Whether to write no tensors.
        statistics: What to save of tensors beside their reductions.
        handle_sigterm: Whether to finish when SIGTERM comes.
        memory_limit_bytes: How much may wait to be written.
        when_full: What happens when that is reached.
        spill_limit_bytes: How much may wait in a file then.
        flight_recorder: How many steps to keep in memory instead of writing them.
        remarks: What of the file has no effect, and why; no argument of a hook.
    """

    out_dir: str = DEFAULT_OUT_DIR
    save_config: SaveConfig = attrs.field(factory=SaveConfig)
    reduction_config: ReductionConfig | None = None
    include_regex: tuple[str, ...] = ()
    collections: tuple[CollectionSettings, ...] = ()
    save_all: bool = False
    include_workers: str = "one"
    export_tensorboard: bool = False
    tensorboard_dir: str | None = None
    dry_run: bool = False
    statistics: tuple[str, ...] = ()
    handle_sigterm: bool = True
    memory_limit_bytes: int = DEFAULT_MEMORY_LIMIT_BYTES
    when_full: str = "block"
    spill_limit_bytes: int = DEFAULT_SPILL_LIMIT_BYTES
    flight_recorder: int = 0
    remarks: tuple[str, ...] = attrs.field(default=(), eq=False)

    def log_warnings(self) -> None:
        """Log what of the file has no effect; whoever makes a hook of it does so, once."""
        if self.remarks:
            LOG.warning("parts of the hook configuration have no effect: %s", "; ".join(self.remarks))

    def relative_to(self, folder: str) -> HookConfiguration:
        """Return what means the same wherever the process goes, if this is meant as seen from `folder`."""
        tensorboard_dir = self.tensorboard_dir and _seen_from(folder, self.tensorboard_dir)
        return attrs.evolve(self, out_dir=_seen_from(folder, self.out_dir), tensorboard_dir=tensorboard_dir)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a hook; what the file says of each collection is no argument."""
        given = attrs.asdict(self, recurse=False)
        del given["remarks"]
        given["include_collections"] = [settings.name for settings in given.pop("collections")]
        return given


def read_configuration(
    path: str | None,
    environ: Mapping[str, str],
    default_save_interval: int = DEFAULT_SAVE_INTERVAL,
) -> HookConfiguration:
    """Read the hook configuration file.

    Inside a SageMaker job TensorBoard output is wanted if its own configuration file is there, and the parameters for
    it in the hook configuration are passed over (store format, section 9.3).

    Args:
        path: The file; None means where the environment says, or where SageMaker puts it.
        environ: The environment.
        default_save_interval: Steps between saves where the file says nothing.

    Raises:
        FileNotFoundError: There is no such file.
        SMDebugValueError: The file cannot be read, is no JSON object, or holds a value without meaning.
    """
    return load_configuration(path, environ)(default_save_interval)


def load_configuration(path: str | None, environ: Mapping[str, str]) -> Callable[[int], HookConfiguration]:
    """Read the files now; what they mean is known once the framework is.

    Args:
        path: As for `read_configuration`.
        environ: The environment.

    Returns:
        A function from the steps between saves where the file says nothing to what the file says; it raises
        SMDebugValueError where the file holds a value without meaning.

    Raises:
        FileNotFoundError: There is no such file.
        SMDebugTypeError: The path is no path.
        SMDebugValueError: The file cannot be read, or is no JSON object.
    """
    if not (path is None or isinstance(path, (str, os.PathLike))):
        raise SMDebugTypeError(f"json_file_path must be a path or None (got {brief(path)})")
    file = Path(path or environ.get(CONFIG_PATH_VARIABLE) or DEFAULT_CONFIG_PATH)
    parse = functools.partial(parse_configuration, _read_object(file), str(file))
    if JOB_NAME_VARIABLE not in environ:
        return parse
    tensorboard = Path(environ.get(TENSORBOARD_PATH_VARIABLE) or DEFAULT_TENSORBOARD_PATH)
    document = _read_object(tensorboard) if tensorboard.is_file() else None

    def parse_both(default_save_interval: int) -> HookConfiguration:
        configuration = parse(default_save_interval)
        if document is None:
            return attrs.evolve(configuration, export_tensorboard=False, tensorboard_dir=None)
        folder = _Parameters(str(tensorboard), document).read("LocalPath", _to_text)
        return attrs.evolve(configuration, export_tensorboard=True, tensorboard_dir=folder)

    return parse_both


def parse_configuration(
    document: Mapping[str, Any], where: str, default_save_interval: int = DEFAULT_SAVE_INTERVAL
) -> HookConfiguration:
    """Make values of the content of a hook configuration file.

    Args:
        document: The JSON object.
        where: What to call it in messages.
        default_save_interval: Steps between saves where the file says nothing.

    Raises:
        SMDebugValueError: A value has no meaning.
    """
    top = _Parameters(where, document)
    hook = _Parameters(f"{where}: HookParameters", top.read("HookParameters", _to_object) or {})
    defaults = dict.fromkeys(ModeKeys, SaveConfigMode(save_interval=default_save_interval))
    schedules = _schedules(hook, defaults)
    entries = top.read("CollectionConfigurations", _to_list) or []
    named = [_named_parameters(entry, f"{where}: CollectionConfigurations[{at}]") for at, entry in enumerate(entries)]
    tensorboard_dir = hook.read("tensorboard_dir", _to_text)
    handle_sigterm = hook.read("handle_sigterm", _to_bool)
    return HookConfiguration(
        out_dir=top.read("LocalPath", _to_text) or DEFAULT_OUT_DIR,
        save_config=SaveConfig(schedules),
        reduction_config=_reductions(hook),
        include_regex=hook.read("include_regex", _to_patterns) or (),
        collections=_collections(named, schedules),
        save_all=hook.read("save_all", _to_bool) or False,
        include_workers=hook.read("include_workers", _to_text) or "one",
        export_tensorboard=tensorboard_dir is not None or hook.read("export_tensorboard", _to_bool) or False,
        tensorboard_dir=tensorboard_dir,
        dry_run=hook.read("dry_run", _to_bool) or False,
        statistics=hook.read("statistics", _to_statistics) or (),
        handle_sigterm=handle_sigterm is not False,
        memory_limit_bytes=hook.read("memory_limit_bytes", _to_positive) or DEFAULT_MEMORY_LIMIT_BYTES,
        when_full=hook.read("when_full", _to_policy) or "block",
        spill_limit_bytes=hook.read("spill_limit_bytes", _to_positive) or DEFAULT_SPILL_LIMIT_BYTES,
        flight_recorder=hook.read("flight_recorder", _to_natural) or 0,
        remarks=(
            *top.remarks(_DOCUMENT_KEYS),
            *hook.remarks(HOOK_PARAMETERS),
            *_repeated(where, [name for name, _ in named]),
            *_remarks_on_collections(where, entries, named),
        ),
    )


def _seen_from(folder: str, path: str) -> str:
    is_elsewhere = path.startswith("~") or "://" in path or path[:3].casefold() == "s3:"  # the last is refused later
    return path if is_elsewhere else os.path.join(folder, path)


def _read_object(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_bytes())
    except FileNotFoundError as error:
        hint = f"name one as argument or in {CONFIG_PATH_VARIABLE}"
        raise FileNotFoundError(error.errno, f"there is no such hook configuration file; {hint}", str(file)) from None
    except OSError as error:
        raise SMDebugValueError(f"{file}: must be a file that can be read ({error.strerror})") from error
    except ValueError as error:
        raise SMDebugValueError(f"{file}: must hold JSON ({error})") from error
    if not isinstance(content, dict):
        raise SMDebugValueError(f"{file}: must hold a JSON object (got {content!r})")
    return content


def _named_parameters(entry: object, where: str) -> tuple[str, _Parameters]:
    fields = _Parameters(where, entry if isinstance(entry, dict) else {})
    name = fields.read("CollectionName", _to_text)
    if not name:
        raise SMDebugValueError(f"{where}: must be an object with a CollectionName (got {entry!r})")
    return name, _Parameters(f"{where} {name!r}", fields.read("CollectionParameters", _to_object) or {})


def _collection(name: str, parameters: _Parameters, hook: Mapping[ModeKeys, SaveConfigMode]) -> CollectionSettings:
    own = _schedules(parameters, hook)
    return CollectionSettings(
        name=name,
        save_config=None if own == hook else SaveConfig(own),
        reduction_config=_reductions(parameters),
        include_regex=parameters.read("include_regex", _to_patterns) or (),
        save_histogram=parameters.read("save_histogram", _to_bool),
    )


def _collections(
    named: Iterable[tuple[str, _Parameters]], hook: Mapping[ModeKeys, SaveConfigMode]
) -> tuple[CollectionSettings, ...]:
    """Return the collections, each name once: an estimator of the SDK sends it twice where a rule wants it too."""
    collections: dict[str, CollectionSettings] = {}
    for name, parameters in named:
        settings, earlier = _collection(name, parameters, hook), collections.get(name)
        if earlier is not None:
            settings = attrs.evolve(settings, include_regex=(*earlier.include_regex, *settings.include_regex))
        collections[name] = settings
    return tuple(collections.values())


def _remarks_on_collections(
    where: str, entries: Iterable[Mapping[str, Any]], named: Iterable[tuple[str, _Parameters]]
) -> Iterator[str]:
    for at, ((_, parameters), entry) in enumerate(zip(named, entries, strict=True)):
        yield from _Parameters(f"{where}: CollectionConfigurations[{at}]", entry).remarks(_ENTRY_KEYS)
        yield from parameters.remarks(COLLECTION_PARAMETERS)


def _schedules(parameters: _Parameters, inherited: Mapping[ModeKeys, SaveConfigMode]) -> dict[ModeKeys, SaveConfigMode]:
    """Lay a section's save settings over those it inherits: its plain keys, then its keys for the mode."""
    schedules = {}
    for mode, prefix in _MODE_NAMES.items():
        changes: dict[str, Any] = {}
        for key, to_value in _SAVE_VALUES.items():
            plain, for_mode = parameters.read(key, to_value), parameters.read(f"{prefix}.{key}", to_value)
            value = plain if for_mode is None else for_mode
            if value is not None:
                changes[key] = value
        schedules[mode] = attrs.evolve(inherited[mode], **changes)
    return schedules


def _reductions(parameters: _Parameters) -> ReductionConfig | None:
    """Return a section's reduction settings; None unless it has ``reductions``, be it an empty text."""
    reductions = parameters.read("reductions", _to_reductions)
    save_raw_tensor = parameters.read("save_raw_tensor", _to_bool) or False
    save_shape = parameters.read("save_shape", _to_bool) or False
    if reductions is None:
        return None
    return ReductionConfig.from_reductions(reductions, save_raw_tensor=save_raw_tensor, save_shape=save_shape)


def _repeated(where: str, names: list[str]) -> list[str]:
    return [
        f"{where}: collection {name!r} is listed {names.count(name)} times, the last entry counts"
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]


@attrs.frozen
class _Parameters:
    """One section of the file; reading a value says where it stands if it has no meaning."""

    where: str
    values: Mapping[str, Any]

    def read(self, key: str, to_value: Callable[[Any], _Value]) -> _Value | None:
        """Return the value of `key`; None if it is missing or null."""
        value = self.values.get(key)
        if value is None:
            return None
        try:
            return to_value(value)
        except (DebugExtError, _MeaninglessError) as error:
            raise SMDebugValueError(f"{self.where}: {key}: {error}") from error

    def remarks(self, known: Iterable[str]) -> list[str]:
        """Describe keys that are unknown, and known ones that do nothing here."""
        unknown = [_unknown(self.where, key, known) for key in self.values if key not in known]
        if self.values.get("reductions") is None:
            unknown += [
                f"{self.where}: {key!r} counts only beside 'reductions', which may be an empty text"
                for key in ("save_raw_tensor", "save_shape")
                if self.values.get(key) is not None and key in known
            ]
        return unknown


def _unknown(where: str, key: str, known: Iterable[str]) -> str:
    return f"{where}: {key!r} is not known{did_you_mean(key, known)}"


class _MeaninglessError(ValueError):
    """A value has no meaning; becomes an `SMDebugValueError` that says where it stands."""


def _to_int(value: object, least: int) -> int:
    number = value
    if isinstance(value, str):
        try:
            number = int(value)
        except ValueError:
            number = None
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise _MeaninglessError(f"must be a whole number, at least {least} (got {value!r})")
    return number


def _to_positive(value: object) -> int:
    return _to_int(value, least=1)


def _to_natural(value: object) -> int:
    return _to_int(value, least=0)


def _to_policy(value: object) -> str:
    if value not in FULL_POLICIES:
        raise _MeaninglessError(f"must be one of {', '.join(FULL_POLICIES)} (got {value!r})")
    return str(value)


def _to_steps(value: object) -> tuple[int, ...]:
    return tuple(_to_natural(item) for item in _items(value))


_SAVE_VALUES: Final[dict[str, Callable[[Any], Any]]] = {
    "save_interval": _to_positive,
    "save_steps": _to_steps,
    "start_step": _to_natural,
    "end_step": _to_natural,
}


def _to_bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = value.strip().lower() if isinstance(value, str) else None
    if text not in ("true", "false"):
        raise _MeaninglessError(f"must be true or false (got {value!r})")
    return text == "true"


def _to_text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _MeaninglessError(f"must be a text (got {value!r})")
    return value.strip()


def _to_reductions(value: object) -> tuple[Any, ...]:
    return parse_reductions(",".join(str(item) for item in _items(value)))


def _to_statistics(value: object) -> tuple[str, ...]:
    return check_statistics([str(item) for item in _items(value)])


def _to_patterns(value: object) -> tuple[str, ...]:
    patterns = tuple(str(item) for item in _items(value))
    for pattern in patterns:
        compile_pattern(pattern, "it")
    return patterns


def _items(value: object) -> list[object]:
    """Split a comma-separated text; a JSON list stays one."""
    if isinstance(value, str):
        return [item.strip() for item in value.split(",") if item.strip()]
    if isinstance(value, int) and not isinstance(value, bool):
        return [value]
    if not isinstance(value, list):
        raise _MeaninglessError(f"must be a comma-separated text (got {value!r})")
    return value


def _to_object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _MeaninglessError(f"must be an object (got {value!r})")
    return value


def _to_list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise _MeaninglessError(f"must be a list (got {value!r})")
    return value
