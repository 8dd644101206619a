"""The settings that a job's submitter makes for the hook: the hook configuration file, or a job spec.

The file is that of the store format, section 9. A self-managed job has none; it has a job spec in its environment.

`read_configuration` reads it where SageMaker puts it, `parse_configuration` makes values of its content. Numbers and
booleans may be JSON values or text, because SageMaker passes text through. Unknown keys never stop a job: they are
logged once, with the nearest known key. An invalid value is an error that names file, collection, parameter and value.
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

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.config.hook_options import (
    COLLECTION_PARAMETERS,
    DEFAULT_OUT_DIR,
    HOOK_ARGUMENTS,
    HOOK_PARAMETERS,
    HookOptions,
)
from sagemaker_debug_ext.config.job_spec import JobProfile, JobSpec, WatchOptions, job_name, job_spec_of_container
from sagemaker_debug_ext.config.reductions import ReductionConfig
from sagemaker_debug_ext.config.saving import DEFAULT_SAVE_INTERVAL, SaveConfig, SaveConfigMode
from sagemaker_debug_ext.config.text_forms import BOOLEAN, PATTERNS, REDUCTIONS, SAVE_SETTINGS, parse_text
from sagemaker_debug_ext.errors import (
    DebugExtError,
    JobSpecError,
    SMDebugTypeError,
    SMDebugValueError,
    brief,
    did_you_mean,
)
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.vocabulary import ModeKeys

LOG = logging.getLogger(__name__)

CONFIG_PATH_VARIABLE: Final = "SMDEBUG_CONFIG_FILE_PATH"
DEFAULT_CONFIG_PATH: Final = "/opt/ml/input/config/debughookconfig.json"
TENSORBOARD_PATH_VARIABLE: Final = "TENSORBOARD_CONFIG_FILE_PATH"
DEFAULT_TENSORBOARD_PATH: Final = "/opt/ml/input/config/tensorboardoutputconfig.json"
JOB_NAME_VARIABLE: Final = "TRAINING_JOB_NAME"
"""Set inside a SageMaker job, whatever its value."""

_DOCUMENT_KEYS: Final = ("S3OutputPath", "S3Path", "LocalPath", "HookParameters", "CollectionConfigurations")
_ENTRY_KEYS: Final = ("CollectionName", "CollectionParameters")
_READ_BY_HOOKS: Final = ("s3", "folder")
_MODE_NAMES: Final = {mode: mode.name.lower() for mode in ModeKeys}

_Value = TypeVar("_Value")


@attrs.frozen(kw_only=True)
class CollectionSettings:
    """The settings of one collection in the file.

    Args:
        name: Name of the collection.
        save_config: When to save it; None takes the hook's setting.
        reduction_config: The numbers to save of its members; None takes the hook's setting.
        include_regex: Patterns to add to the collection's own.
        save_histogram: Whether TensorBoard output shows histograms; None leaves the default.
    """

    name: str
    save_config: SaveConfig | None = None
    reduction_config: ReductionConfig | None = None
    include_regex: tuple[str, ...] = ()
    save_histogram: bool | None = None

    def apply_to(self, collection: Collection) -> None:
        """Apply the settings to a collection."""
        collection.include(self.include_regex)
        collection.save_config = self.save_config
        collection.reduction_config = self.reduction_config
        if self.save_histogram is not None:
            collection.save_histogram = self.save_histogram


@attrs.frozen(kw_only=True)
class HookConfiguration:
    """The content of the file.

    Args:
        options: The arguments of the hook.
        collections: The collections listed, in order, each name once.
        warnings: The parts of the file that have no effect, and why.
        watch: How the rules of the job are evaluated beside training; None if they are not.
        stop_location: Where a watcher outside the container asks to stop training; None if it does not.
        exits_on_stop: Whether the process ends when a rule asks to stop.
        profile: How the job is profiled; None if it is not, or if its platform does so.
    """

    options: HookOptions = attrs.field(factory=lambda: HookOptions(save_config=SaveConfig()))
    collections: tuple[CollectionSettings, ...] = ()
    warnings: tuple[str, ...] = attrs.field(default=(), eq=False)
    watch: WatchOptions | None = None
    stop_location: str | None = None
    exits_on_stop: bool = False
    profile: JobProfile | None = None

    def log_warnings(self) -> None:
        """Log the parts of the file that have no effect; called once, by the code that makes a hook of it."""
        if self.warnings:
            LOG.warning("parts of the hook configuration have no effect: %s", "; ".join(self.warnings))

    def relative_to(self, folder: str) -> HookConfiguration:
        """Return the same configuration with relative paths resolved against `folder`."""
        tensorboard_dir = self.options.tensorboard_dir
        return self.evolve_options(
            out_dir=_join_path(folder, self.options.out_dir),
            tensorboard_dir=tensorboard_dir and _join_path(folder, tensorboard_dir),
        )

    def evolve_options(self, **changes: Any) -> HookConfiguration:
        """Return the same configuration with other arguments of the hook."""
        return attrs.evolve(self, options=attrs.evolve(self.options, **changes))

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a hook; ``strict`` is left to the hook, because the file cannot set it."""
        return attrs.asdict(self.options, recurse=False, filter=attrs.filters.exclude(attrs.fields(HookOptions).strict))


def read_configuration(
    path: str | None,
    environ: Mapping[str, str],
    default_save_interval: int = DEFAULT_SAVE_INTERVAL,
) -> HookConfiguration:
    """Read the hook configuration file, or the job spec of a self-managed job.

    A job spec that is damaged must not end training: it is logged, and nothing is saved.

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
    try:
        load = load_configuration(path, environ)
    except JobSpecError as error:
        LOG.error("nothing is saved, training goes on: %s", error)  # noqa: TRY400 - the text names the cause
        nowhere = MemoryBackend()  # the usual folder may hold the trial of another job
        return HookConfiguration(options=HookOptions(out_dir=nowhere, dry_run=True, save_config=SaveConfig()))
    return load(default_save_interval)


def load_configuration(path: str | None, environ: Mapping[str, str]) -> Callable[[int], HookConfiguration]:
    """Read the files now; they are interpreted later, once the framework is known.

    The first of these counts: the path, an existing file that the environment names, the job spec in the environment,
    and the file where SageMaker puts it.

    Args:
        path: As for `read_configuration`.
        environ: The environment.

    Returns:
        A function from the steps between saves where the file says nothing to what the file says; it raises
        SMDebugValueError where the file holds a value without meaning.

    Raises:
        FileNotFoundError: There is no such file.
        JobSpecError: The job spec in the environment is damaged.
        SMDebugTypeError: The path is no path.
        SMDebugValueError: The file cannot be read, or is no JSON object.
    """
    if not (path is None or isinstance(path, (str, os.PathLike))):
        raise SMDebugTypeError(f"json_file_path must be a path or None (got {brief(path)})")
    file = hook_config_file(path, environ)
    is_named = path is not None or (CONFIG_PATH_VARIABLE in environ and file.is_file())
    spec = None if is_named else job_spec_of_container(environ)
    if spec is not None:
        return functools.partial(_parse_job_spec, spec, job_name(environ))
    parse = functools.partial(parse_configuration, read_object(file), str(file))
    if JOB_NAME_VARIABLE not in environ:
        return parse
    tensorboard = Path(environ.get(TENSORBOARD_PATH_VARIABLE) or DEFAULT_TENSORBOARD_PATH)
    document = read_object(tensorboard) if tensorboard.is_file() else None

    def parse_both(default_save_interval: int) -> HookConfiguration:
        folder = None if document is None else _Section(str(tensorboard), document).read("LocalPath", parse_text)
        configuration = parse(default_save_interval)
        return configuration.evolve_options(export_tensorboard=document is not None, tensorboard_dir=folder)

    return parse_both


def hook_config_file(path: str | None, environ: Mapping[str, str]) -> Path:
    """Return where the hook configuration file lies; without a path, where the environment or SageMaker has it."""
    return Path(path or environ.get(CONFIG_PATH_VARIABLE) or DEFAULT_CONFIG_PATH)


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
    top = _Section(where, document)
    hook = _Section(f"{where}: HookParameters", top.read("HookParameters", _to_object) or {})
    defaults = dict.fromkeys(ModeKeys, SaveConfigMode(save_interval=default_save_interval))
    schedules = _schedules(hook, defaults)
    entries = top.read("CollectionConfigurations", _to_list) or []
    named = [_named_parameters(entry, f"{where}: CollectionConfigurations[{at}]") for at, entry in enumerate(entries)]
    given = {name: hook.read(name, form.parse) for name, form in HOOK_ARGUMENTS.items()}
    collections = _collections(named, schedules)
    return HookConfiguration(
        options=HookOptions(
            out_dir=top.read("LocalPath", parse_text) or DEFAULT_OUT_DIR,
            save_config=SaveConfig(schedules),
            reduction_config=_reductions(hook),
            include_collections=[settings.name for settings in collections],
            **{name: value for name, value in given.items() if value is not None},
        ),
        collections=collections,
        warnings=(
            *top.warnings(_DOCUMENT_KEYS),
            *hook.warnings(HOOK_PARAMETERS),
            *_repeated(where, [name for name, _ in named]),
            *_collection_warnings(where, entries, named),
        ),
    )


def _parse_job_spec(spec: JobSpec, name: str, default_save_interval: int) -> HookConfiguration:
    """Make values of a job spec: the hook writes to S3 itself, or to a folder that is copied there."""
    configuration = parse_configuration(spec.hook, "the job spec", default_save_interval)
    tensorboard_dir = spec.tensorboard_location(name)
    has_rules = bool(spec.rules or spec.profiler_rules)
    return attrs.evolve(
        configuration,
        watch=spec.watch if has_rules or spec.copy_root is not None else None,
        stop_location=spec.state_location(name) if _may_stop(spec) else None,
        exits_on_stop=spec.actions.on_stop == "exit",
        profile=spec.profile(name),
    ).evolve_options(
        out_dir=spec.trial_location(name),
        export_tensorboard=tensorboard_dir is not None,
        tensorboard_dir=tensorboard_dir,
    )


def _may_stop(spec: JobSpec) -> bool:
    """Return whether a watcher elsewhere may ask the script to stop, and writes where the hook can look."""
    if spec.ship not in _READ_BY_HOOKS:
        return False
    actions = [rule.get("RuleParameters", {}).get("action_json", "") for rule in (*spec.rules, *spec.profiler_rules)]
    return spec.watch.place != "container" and spec.actions.stop != "off" and "stoptraining" in "".join(actions).lower()


def _join_path(folder: str, path: str) -> str:
    is_elsewhere = path.startswith("~") or "://" in path or path[:3].casefold() == "s3:"  # the last is refused later
    return path if is_elsewhere else os.path.join(folder, path)


def read_object(file: Path) -> dict[str, Any]:
    """Return the JSON object in a file.

    Raises:
        FileNotFoundError: There is no such file.
        SMDebugValueError: The file cannot be read, or holds no JSON object.
    """
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


def _named_parameters(entry: object, where: str) -> tuple[str, _Section]:
    fields = _Section(where, entry if isinstance(entry, dict) else {})
    name = fields.read("CollectionName", parse_text)
    if not name:
        raise SMDebugValueError(f"{where}: must be an object with a CollectionName (got {entry!r})")
    return name, _Section(f"{where} {name!r}", fields.read("CollectionParameters", _to_object) or {})


def _collection(name: str, parameters: _Section, hook: Mapping[ModeKeys, SaveConfigMode]) -> CollectionSettings:
    own = _schedules(parameters, hook)
    return CollectionSettings(
        name=name,
        save_config=None if own == hook else SaveConfig(own),
        reduction_config=_reductions(parameters),
        include_regex=parameters.read("include_regex", PATTERNS.parse) or (),
        save_histogram=parameters.read("save_histogram", BOOLEAN.parse),
    )


def _collections(
    named: Iterable[tuple[str, _Section]], hook: Mapping[ModeKeys, SaveConfigMode]
) -> tuple[CollectionSettings, ...]:
    """Return the collections, each name once: an estimator of the SDK sends it twice where a rule wants it too."""
    collections: dict[str, CollectionSettings] = {}
    for name, parameters in named:
        settings, earlier = _collection(name, parameters, hook), collections.get(name)
        if earlier is not None:
            settings = attrs.evolve(settings, include_regex=(*earlier.include_regex, *settings.include_regex))
        collections[name] = settings
    return tuple(collections.values())


def _collection_warnings(
    where: str, entries: Iterable[Mapping[str, Any]], named: Iterable[tuple[str, _Section]]
) -> Iterator[str]:
    for at, ((_, parameters), entry) in enumerate(zip(named, entries, strict=True)):
        yield from _Section(f"{where}: CollectionConfigurations[{at}]", entry).warnings(_ENTRY_KEYS)
        yield from parameters.warnings(COLLECTION_PARAMETERS)


def _schedules(parameters: _Section, inherited: Mapping[ModeKeys, SaveConfigMode]) -> dict[ModeKeys, SaveConfigMode]:
    """Lay a section's save settings over those it inherits: its plain keys, then its keys for the mode."""
    schedules = {}
    for mode, prefix in _MODE_NAMES.items():
        changes: dict[str, Any] = {}
        for key, form in SAVE_SETTINGS.items():
            plain, for_mode = parameters.read(key, form.parse), parameters.read(f"{prefix}.{key}", form.parse)
            value = plain if for_mode is None else for_mode
            if value is not None:
                changes[key] = value
        schedules[mode] = attrs.evolve(inherited[mode], **changes)
    return schedules


def _reductions(parameters: _Section) -> ReductionConfig | None:
    """Return a section's reduction settings; None unless it has ``reductions``, be it an empty text."""
    reductions = parameters.read("reductions", REDUCTIONS.parse)
    save_raw_tensor = parameters.read("save_raw_tensor", BOOLEAN.parse) or False
    save_shape = parameters.read("save_shape", BOOLEAN.parse) or False
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
class _Section:
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
        except DebugExtError as error:
            raise SMDebugValueError(f"{self.where}: {key}: {error}") from error

    def warnings(self, known: Iterable[str]) -> list[str]:
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


def _to_object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SMDebugValueError(f"must be an object (got {value!r})")
    return value


def _to_list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise SMDebugValueError(f"must be a list (got {value!r})")
    return value
