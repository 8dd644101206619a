"""The job spec: the settings of a self-managed job, in environment variables that the container reads.

A spec is one JSON object. It is compressed, written in URL-safe base64 and cut into variables of at most
`MAX_VALUE_LENGTH` characters, because AWS allows no more in one variable. The first variable starts with a header that
holds the number of variables and a checksum, so that a missing or changed variable is an error that names it.

Equal settings result in equal variables: the JSON is canonical and holds no time and no random value. A spec holds no
secrets, because everyone who may describe the job can read it.

A spec that does not fit into the variables is a file in an input channel; see `config.job_channel`.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from sagemaker_debug_ext._s3_urls import SCHEME
from sagemaker_debug_ext.config.job_channel import check_channel, is_channel_header, read_channel
from sagemaker_debug_ext.errors import JobSpecError

VARIABLE_PREFIX: Final = "SAGEMAKER_DEBUG_EXT_JOB_"
"""Start of the names of the variables; an index follows, from 0."""

JOB_NAME_VARIABLE: Final = "SAGEMAKER_DEBUG_EXT_JOB_NAME"
"""Name of the job, where the platform does not set ``TRAINING_JOB_NAME``."""

MAX_VALUE_LENGTH: Final = 512
"""Maximum length of one environment variable of a training job."""

MAX_VARIABLES: Final = 16
"""Maximum number of variables for one spec: 8,192 characters, which AWS Batch allows for all overrides together."""

VERSION: Final = 1

DEFAULT_SHIP: Final = "s3"

DEFAULT_INTERVAL_MILLIS: Final = 500
"""Milliseconds between samples of a machine, where a request says nothing."""

_MAX_JSON_BYTES: Final = 1 << 20
_CODING: Final = "1"
_HEADER: Final = re.compile(r"1\.(?P<count>[0-9]{1,2})\.(?P<checksum>[0-9a-f]{8})\.")
_HEADER_LENGTH: Final = len("1.16.01234567.")
_VARIABLE: Final = re.compile(f"{VARIABLE_PREFIX}[0-9]+")


CLUSTER_VARIABLE: Final = "SAGEMAKER_DEBUG_EXT_CLUSTER"
"""Names the job on its cluster: ``kubernetes:jobs/NAME``, ``kubernetes:trainjobs/NAME``, ``slurm`` or ``sagemaker``."""

SPEC_KEY: Final = "spec.json"
"""Object in the state of a job with its settings, which outlives the description of the job."""

BASE_VARIABLE: Final = "SAGEMAKER_BASE_DIR"
"""Names the folder that a platform has in place of `CONTAINER_BASE`."""

CONTAINER_BASE: Final = "/opt/ml"

SHIP_FOLDER: Final = "sagemaker_debug_ext"
"""Folder of this package among the checkpoints, and in the output, of a job."""

STOP_KEY: Final = "stop.json"
"""Below the state of a job: written by a watcher out of reach of the script, to ask it to stop."""


@attrs.frozen(kw_only=True)
class WatchOptions:
    """Where and how the watcher evaluates the rules of a job.

    Args:
        place: ``container`` for a child process of the first worker, or another place; see `SelfManaged`.
        drain_seconds: Maximum time that the end of training waits for the last evaluations.
        poll_seconds: Time between two looks for new steps.
        memory_mib: Maximum memory for the data of the watcher, in MiB.
        num_threads: Number of threads that NumPy's libraries may use in the watcher.
        image: Image of the processing job that is started with the training job; None for that of the training job if
            there are wheels, and else for no processing job.
        wheels: S3 folder with the wheels of this package, for an image that lacks it; see `sdk.wheels`.
        instance: Type of its instance; None for `DEFAULT_INSTANCE`.
        role: ARN of its role; None for that of the training job.
    """

    place: str = "container"
    drain_seconds: float = 60.0
    poll_seconds: float = 5.0
    memory_mib: int = 2048
    num_threads: int = 2
    image: str | None = None
    wheels: str | None = None
    instance: str | None = None
    role: str | None = None

    @property
    def starts_job(self) -> bool:
        """Whether the processing job is started with the training job."""
        return self.place == "processing" and (self.image is not None or self.wheels is not None)


@attrs.frozen(kw_only=True)
class ActionOptions:
    """How the watcher carries out the actions of rules.

    Args:
        stop: ``direct`` calls StopTrainingJob, ``events`` lets a function of the account do so, ``cooperative`` only
            asks the script through ``hook.should_stop``, ``off`` does nothing.
        on_stop: ``exit`` ends the process of a script that is asked to stop; ``flag`` leaves that to the script.
        topic_arn: SNS topic for e-mails and text messages; None for the topic ``SMDebugRules``.
        events: Whether each change of a rule's status is sent to EventBridge.
        metrics: Whether the metrics of the watcher are sent to CloudWatch.
    """

    stop: str = "direct"
    on_stop: str = "flag"
    topic_arn: str | None = None
    events: bool = True
    metrics: bool = False


@attrs.frozen(kw_only=True)
class JobProfile:
    """How the machines and processes of a job are profiled.

    Args:
        job_name: Name of the job.
        location: The folder ``profiler-output``, on S3 or local.
        config: The member ``ProfilerConfig`` of a request.
    """

    job_name: str
    location: str
    config: Mapping[str, Any]

    @property
    def interval_millis(self) -> int:
        """Milliseconds between samples of a machine."""
        return int(self.config.get("ProfilingIntervalInMilliseconds", DEFAULT_INTERVAL_MILLIS))


@attrs.frozen(kw_only=True)
class JobSpec:
    """The settings of a self-managed job.

    Args:
        hook: The member ``DebugHookConfig`` of a request.
        rules: The members ``DebugRuleConfigurations``, without images.
        tensorboard: The member ``TensorBoardOutputConfig``; None without TensorBoard data.
        profiler: The member ``ProfilerConfig``; None if the job is not profiled.
        profiler_rules: The members ``ProfilerRuleConfigurations``, without images.
        output_path: S3 location for the artifacts of the job.
        ship: How what is written reaches S3; see `SelfManaged`. With all values but ``s3``, everything lies below the
            ``LocalPath`` of the hook.
        watch: Where and how rules are evaluated.
        actions: How actions are carried out.
    """

    hook: Mapping[str, Any]
    rules: Sequence[Mapping[str, Any]] = ()
    tensorboard: Mapping[str, Any] | None = None
    profiler: Mapping[str, Any] | None = None
    profiler_rules: Sequence[Mapping[str, Any]] = ()
    output_path: str | None = None
    ship: str = DEFAULT_SHIP
    watch: WatchOptions = WatchOptions()
    actions: ActionOptions = ActionOptions()

    def to_json(self) -> str:
        """Return the canonical JSON text; settings with their default value are left out."""
        document = {
            "v": VERSION,
            "hook": dict(self.hook),
            "rules": [dict(rule) for rule in self.rules],
            "tensorboard": None if self.tensorboard is None else dict(self.tensorboard),
            "profiler": None if self.profiler is None else dict(self.profiler),
            "profiler_rules": [dict(rule) for rule in self.profiler_rules],
            "output": self.output_path,
            "ship": None if self.ship == DEFAULT_SHIP else self.ship,
            "watch": _changed(self.watch),
            "act": _changed(self.actions),
        }
        present = {name: value for name, value in document.items() if value or name == "hook"}
        return json.dumps(present, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @property
    def root(self) -> str:
        """The location below which the folder of each job lies: on S3, or a folder of the container."""
        return str(self.hook["S3OutputPath"] if self.ship == DEFAULT_SHIP else self.hook["LocalPath"]).rstrip("/")

    @property
    def copy_root(self) -> str | None:
        """The S3 location to which the watcher copies `root`; None if it does not."""
        target = str(self.hook["S3OutputPath"]).rstrip("/")
        return target if self.ship == "folder" and target.startswith(SCHEME) and target != self.root else None

    def moved_to(self, root: str) -> JobSpec:
        """Return the spec for readers who find the folders of jobs elsewhere; for all ways to ship but ``s3``."""
        return attrs.evolve(self, hook={**self.hook, "LocalPath": root})

    def seen_outside(self, job: Mapping[str, Any]) -> JobSpec:
        """Return the spec whose locations are those that are read outside the container.

        Args:
            job: The request or description of the job.
        """
        if self.ship == "checkpoint" and job.get("CheckpointConfig"):
            return self.moved_to(f"{job['CheckpointConfig']['S3Uri'].rstrip('/')}/{SHIP_FOLDER}")
        if self.ship == "end":
            return self.moved_to(str(self.hook["S3OutputPath"]).rstrip("/"))
        return self if self.copy_root is None else self.moved_to(self.copy_root)

    def trial_location(self, job_name: str) -> str:
        """Return the location of the trial of a job, as on the service."""
        return f"{self.root}/{job_name}/debug-output"

    def state_location(self, job_name: str) -> str:
        """Return the location of what watchers keep about a job."""
        return f"{self.root}/{job_name}/self-managed"

    def tensorboard_location(self, job_name: str) -> str | None:
        """Return the location of the TensorBoard data of a job; None if it has none."""
        if self.tensorboard is None:
            return None
        return f"{self._own_root or self.tensorboard['S3OutputPath'].rstrip('/')}/{job_name}/tensorboard-output"

    def profile(self, job_name: str) -> JobProfile | None:
        """Return how a job is profiled; None if it is not."""
        if self.profiler is None:
            return None
        path = self._own_root or self.profiler.get("S3OutputPath") or self.output_path or self.hook["S3OutputPath"]
        location = f"{path.rstrip('/')}/{job_name}/profiler-output"
        return JobProfile(job_name=job_name, location=location, config=self.profiler)

    def rule_locations(self, job_name: str) -> dict[str, str | None]:
        """Return the location of the results of each rule, by its name."""
        outputs = {
            rule["RuleConfigurationName"]: self._own_root
            or rule.get("S3OutputPath", self.output_path or self.hook["S3OutputPath"])
            for rule in (*self.rules, *self.profiler_rules)
        }
        return {name: f"{path.rstrip('/')}/{job_name}/rule-output/{name}" for name, path in outputs.items()}

    @property
    def _own_root(self) -> str | None:
        """`root`, if all files of a job lie below it."""
        return None if self.ship == DEFAULT_SHIP else self.root

    @classmethod
    def from_json(cls, text: str | bytes) -> JobSpec:
        """Return the spec of a JSON text.

        Raises:
            JobSpecError: The text is no job spec, or that of a later version.
        """
        try:
            document = json.loads(text)
        except ValueError as error:
            raise JobSpecError(f"the job spec must be JSON ({error})") from error
        if not isinstance(document, dict) or not isinstance(document.get("hook"), dict):
            raise JobSpecError("the job spec must be a JSON object with the member 'hook'")
        if not isinstance(document["hook"].get("S3OutputPath"), str):
            raise JobSpecError("the job spec must name the S3OutputPath of the hook")
        ship = document.get("ship", DEFAULT_SHIP)
        if ship != DEFAULT_SHIP and not isinstance(document["hook"].get("LocalPath"), str):
            raise JobSpecError(f"the job spec must name the LocalPath of the hook, where it writes with ship={ship!r}")
        if document.get("v") != VERSION:
            raise JobSpecError(
                f"the job spec must have version {VERSION}, the only one that this release reads "
                f"(got {document.get('v')!r}); install the release that wrote it"
            )
        return cls(
            hook=document["hook"],
            rules=tuple(document.get("rules", ())),
            tensorboard=document.get("tensorboard"),
            profiler=document.get("profiler"),
            profiler_rules=tuple(document.get("profiler_rules", ())),
            output_path=document.get("output"),
            ship=ship,
            watch=_options(WatchOptions, document, "watch"),
            actions=_options(ActionOptions, document, "act"),
        )


def job_spec_of_container(environ: Mapping[str, str]) -> JobSpec | None:
    """Return the spec that the environment of this container holds; None if there is none.

    Folders below ``/opt/ml`` are those below the folder that the platform has instead of it, such as on a laptop.

    Raises:
        JobSpecError: See `decode_job_spec`.
    """
    spec = decode_job_spec(environ)
    base = environ.get(BASE_VARIABLE)
    if spec is None or spec.ship == DEFAULT_SHIP or base is None or not spec.root.startswith(f"{CONTAINER_BASE}/"):
        return spec
    return spec.moved_to(base + spec.root.removeprefix(CONTAINER_BASE))


def encode_job_spec(spec: JobSpec) -> dict[str, str]:
    """Return the environment variables for a spec, each at most `MAX_VALUE_LENGTH` characters long.

    Raises:
        JobSpecError: The spec needs more than `MAX_VARIABLES` variables.
    """
    compressed = zlib.compress(spec.to_json().encode(), 9)
    text = base64.urlsafe_b64encode(compressed).decode().rstrip("=")
    first = MAX_VALUE_LENGTH - _HEADER_LENGTH
    chunks = [text[:first], *(text[at : at + MAX_VALUE_LENGTH] for at in range(first, len(text), MAX_VALUE_LENGTH))]
    if len(chunks) > MAX_VARIABLES:
        raise JobSpecError(
            f"the job spec must fit into {MAX_VARIABLES} environment variables of {MAX_VALUE_LENGTH} characters "
            f"(got {len(chunks)}); use fewer or shorter patterns of collections, or submit with attach_debugger, which "
            "puts them into an input channel"
        )
    header = f"{_CODING}.{len(chunks)}.{_checksum(text)}."
    return {f"{VARIABLE_PREFIX}{index}": (header if index == 0 else "") + chunk for index, chunk in enumerate(chunks)}


def decode_job_spec(environ: Mapping[str, str], read: Callable[[], bytes] | None = None) -> JobSpec | None:
    """Return the spec that environment variables hold; None if the first variable is missing.

    Args:
        environ: The environment.
        read: Reads the file in the channel of a job whose spec is there; by default in this container.

    Raises:
        JobSpecError: A variable is missing or was changed, or the spec cannot be read.
    """
    first = environ.get(f"{VARIABLE_PREFIX}0")
    if first is None:
        extra = sorted(filter(is_job_spec_variable, environ))
        if extra:
            raise JobSpecError(f"environment variable {VARIABLE_PREFIX}0 is missing, but {extra[0]} is set")
        return None
    if is_channel_header(first):
        content = read_channel(environ) if read is None else read()
        return JobSpec.from_json(check_channel(content, first))
    header = _HEADER.match(first)
    if header is None:
        raise JobSpecError(
            f"environment variable {VARIABLE_PREFIX}0 must start with a header such as '1.3.01234567.' "
            f"(got {first[:20]!r}); was it cut or changed?"
        )
    text = first[header.end() :] + "".join(_rest(environ, int(header["count"])))
    if _checksum(text) != header["checksum"]:
        raise JobSpecError(
            f"environment variables {VARIABLE_PREFIX}0 to {VARIABLE_PREFIX}{int(header['count']) - 1} do not fit "
            "together: the checksum differs, so at least one of them was cut, swapped or changed"
        )
    return JobSpec.from_json(_decompress(text))


def is_job_spec_variable(name: str) -> bool:
    """Return whether a name is that of a variable of a job spec."""
    return _VARIABLE.fullmatch(name) is not None


def job_name(environ: Mapping[str, str]) -> str:
    """Return the name of the job that the environment belongs to.

    Raises:
        JobSpecError: The environment does not name a job.
    """
    name = environ.get("TRAINING_JOB_NAME") or environ.get(JOB_NAME_VARIABLE)
    if not name:
        raise JobSpecError(
            f"the job has no name: set the environment variable {JOB_NAME_VARIABLE}; on SageMaker the platform sets "
            "TRAINING_JOB_NAME"
        )
    return name


def _rest(environ: Mapping[str, str], count: int) -> list[str]:
    names = [f"{VARIABLE_PREFIX}{index}" for index in range(1, count)]
    for name in names:
        if name not in environ:
            raise JobSpecError(f"environment variable {name} is missing: the job spec has {count} variables")
    return [environ[name] for name in names]


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _decompress(text: str) -> bytes:
    decompressor = zlib.decompressobj()
    try:
        content = decompressor.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), _MAX_JSON_BYTES)
    except (zlib.error, binascii.Error) as error:
        raise JobSpecError(f"the job spec cannot be decompressed ({error})") from error
    if not decompressor.eof:
        raise JobSpecError(f"the job spec must have at most {_MAX_JSON_BYTES} bytes of JSON")
    return content


def _changed(options: WatchOptions | ActionOptions) -> dict[str, Any]:
    """Return the options that differ from their defaults."""
    return {
        field.name: value
        for field in attrs.fields(type(options))
        if (value := getattr(options, field.name)) != field.default
    }


def _options(kind: type[Any], document: Mapping[str, Any], member: str) -> Any:
    known = {field.name for field in attrs.fields(kind)}
    # Later releases may add options; unknown ones are ignored, so that an old container still evaluates.
    return kind(**{name: value for name, value in (document.get(member) or {}).items() if name in known})
