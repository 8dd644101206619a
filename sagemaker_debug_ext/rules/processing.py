"""Rules over a trial as a SageMaker Processing job, on any number of instances.

Run as ``python -m sagemaker_debug_ext.rules.processing`` in the job's container; `requests.processing` makes the
request. Each instance evaluates its part and leaves what it found where all can reach it; the first one waits for the
others, merges, and writes the results.

How the work is divided: if an input called ``index`` is distributed by S3 key, an instance evaluates the steps whose
index files it was given; otherwise each evaluates a range of the steps. Rules with a memory are dealt out, one after
the other, or each to all by shares of the tensors (see `rules.scaling`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from sagemaker_debug_ext.errors import DebugExtError, SMDebugRuntimeError, SMDebugValueError, did_you_mean
from sagemaker_debug_ext.rules.evaluation.results import MAX_KEPT_ISSUES, exit_code, write_result
from sagemaker_debug_ext.rules.factory.creation import make_rule
from sagemaker_debug_ext.rules.factory.reference import RuleReference
from sagemaker_debug_ext.rules.scaling import Shard, ShardResult, divide, evaluate_shard, merge, run_actions
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.backends.local import LocalBackend
from sagemaker_debug_ext.store.format.keys import try_parse_index_key
from sagemaker_debug_ext.trials import Trial, create_trial

LOG = logging.getLogger(__name__)

CONFIG_FOLDER: Final = "/opt/ml/config"
OUTPUT_FOLDER: Final = "/opt/ml/processing/output"
MESSAGE_FILE: Final = "/opt/ml/output/message"
"""File whose content SageMaker describes as the job's exit message."""

INDEX_INPUT: Final = "index"
"""Name of the input that holds index files of the trial."""

RESULTS_OUTPUT: Final = "results"
"""Name of the output that holds the results."""

SUMMARY_FILE: Final = "summary.json"

_POLL_SECONDS: Final = 1.0
_MAX_MESSAGE: Final = 1024


@attrs.frozen(kw_only=True)
class ProcessingEnvironment:
    """Place of an instance in its processing job.

    Args:
        host: Name of the instance.
        hosts: Names of all instances, sorted.
        output_folder: Where results go.
        exchange: Folder, here or on S3, that all instances reach.
        index_folder: Folder with the index files that the instance was given; None if they are not distributed.
    """

    host: str
    hosts: tuple[str, ...]
    output_folder: str
    exchange: str
    index_folder: str | None = None

    @property
    def number(self) -> int:
        """Place of the instance among all of them."""
        return self.hosts.index(self.host)


def read_surroundings(config_folder: str = CONFIG_FOLDER, exchange: str | None = None) -> ProcessingEnvironment:
    """Read the configuration that SageMaker gives to an instance.

    Args:
        config_folder: Folder of ``resourceconfig.json`` and ``processingjobconfig.json``.
        exchange: Location of the results of single instances; below the S3 location of the output when not given.

    Raises:
        SMDebugValueError: A file or a required member is missing.
    """
    resources, job = (
        _read_json(config_folder, "resourceconfig.json"),
        _read_json(config_folder, "processingjobconfig.json"),
    )
    try:
        host, hosts = resources["current_host"], tuple(sorted(resources["hosts"]))
        outputs = {output["OutputName"]: output["S3Output"] for output in job["ProcessingOutputConfig"]["Outputs"]}
        inputs = {given["InputName"]: given.get("S3Input", {}) for given in job.get("ProcessingInputs", ())}
        output = outputs[RESULTS_OUTPUT]
        index = inputs.get(INDEX_INPUT, {})
        is_sharded = index.get("S3DataDistributionType") == "ShardedByS3Key"
        return ProcessingEnvironment(
            host=host,
            hosts=hosts,
            output_folder=output["LocalPath"],
            exchange=exchange or f"{output['S3Uri'].rstrip('/')}/parts",
            index_folder=index["LocalPath"] if is_sharded else None,
        )
    except (KeyError, TypeError) as error:
        raise SMDebugValueError(
            f"the configuration in {config_folder} must name the hosts and an output {RESULTS_OUTPUT!r} "
            f"({type(error).__name__}: {error})"
        ) from error


def _read_json(folder: str, name: str) -> Any:
    try:
        return json.loads(Path(folder, name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SMDebugValueError(
            f"{Path(folder, name)} must be a JSON file, as SageMaker Processing writes it: {error}"
        ) from error


def parse_rules(text: str) -> dict[str, RuleReference]:
    """Parse the rules to run: a JSON object of name → ``rule``, ``parameters`` and, for a file, ``source``.

    Raises:
        SMDebugValueError: It is something else.
    """
    try:
        described = json.loads(text)
    except ValueError as error:
        raise SMDebugValueError(f"rules must be JSON (got {text!r}: {error})") from error
    if not isinstance(described, dict) or not all(
        isinstance(members_of_rule, dict) for members_of_rule in described.values()
    ):
        raise SMDebugValueError(f"rules must be a JSON object of objects (got {text!r})")
    members = tuple(field.name for field in attrs.fields(RuleReference))
    for name, members_of_rule in described.items():
        for member in members_of_rule:
            if member not in members:
                hint = did_you_mean(member, members)
                raise SMDebugValueError(
                    f"rule {name!r} must have members among {', '.join(members)} (got {member!r}){hint}"
                )
        if not isinstance(members_of_rule.get("rule"), str):
            raise SMDebugValueError(f"rule {name!r} must tell its rule, a text (got {members_of_rule.get('rule')!r})")
    rules = {name: RuleReference(**members_of_rule) for name, members_of_rule in described.items()}
    if not rules:
        raise SMDebugValueError("rules must name at least one rule (got none)")
    return rules


def shards_of_host(
    rules: Mapping[str, RuleReference], trial: Trial, surroundings: ProcessingEnvironment
) -> list[Shard]:
    """Return the shards of one instance; all instances together evaluate each step once."""
    number, num_hosts = surroundings.number, len(surroundings.hosts)
    by_steps, by_tensors, whole = divide(rules, trial, num_shares=num_hosts)
    shards = [
        Shard(trial_path=trial.path, rules={name: reference}, output_path=surroundings.output_folder)
        for name, reference in itertools.islice(whole.items(), number, None, num_hosts)
    ]
    if by_tensors:
        shards.append(Shard(trial_path=trial.path, rules=by_tensors, share=(number, num_hosts)))
    if by_steps:
        steps = _steps_of_host(trial, surroundings)
        shards.append(Shard(trial_path=trial.path, rules=by_steps, only_steps=frozenset(steps)))
    return shards


def _steps_of_host(trial: Trial, surroundings: ProcessingEnvironment) -> list[int]:
    steps = trial.steps()
    if surroundings.index_folder is None:
        number, num_hosts = surroundings.number, len(surroundings.hosts)
        return steps[len(steps) * number // num_hosts : len(steps) * (number + 1) // num_hosts]
    given = set()
    for file in Path(surroundings.index_folder).rglob("*.json"):
        parsed = try_parse_index_key(f"index/{file.parent.name}/{file.name}")
        if parsed is not None:
            given.add((parsed.step, parsed.worker))
    # of the index files of a step, that of the first worker decides
    return [step for step in steps if (step, min(trial.workers_for_global_step(step))) in given]


def evaluate_part(rules: Mapping[str, RuleReference], trial: Trial, surroundings: ProcessingEnvironment) -> None:
    """Evaluate the shards of one instance, and write the result for the first instance."""
    parts = [evaluate_shard(shard) for shard in shards_of_host(rules, trial, surroundings)]
    content = json.dumps({"parts": [part.to_json_dict() for part in parts]}).encode()
    open_backend(surroundings.exchange).write(_part_key(surroundings.host), [content])


def merge_parts(
    rules: Mapping[str, RuleReference],
    trial: Trial,
    surroundings: ProcessingEnvironment,
    *,
    timeout_seconds: float,
    sleep: Callable[[float], object] = time.sleep,
) -> ShardResult:
    """Wait for the results of all instances, and merge them.

    Raises:
        SMDebugRuntimeError: An instance failed, or did not get ready in time.
    """
    backend = open_backend(surroundings.exchange)
    deadline = time.monotonic() + timeout_seconds
    missing = list(surroundings.hosts)
    evaluation: list[ShardResult] = []
    while missing:
        content = backend.read(_part_key(missing[0]))
        if content is None:
            if time.monotonic() > deadline:
                raise SMDebugRuntimeError(f"nothing has come from {', '.join(missing)} for {timeout_seconds:g} seconds")
            sleep(_POLL_SECONDS)
            continue
        described = json.loads(bytes(content))
        if "error" in described:
            raise SMDebugRuntimeError(f"{missing[0]} failed: {described['error']}")
        evaluation += [ShardResult.from_json_dict(part) for part in described["parts"]]
        missing.pop(0)
    return merge(rules, evaluation, trial)


def write_results(found: ShardResult, folder: str) -> None:
    """Write the result of each rule, and a summary of all."""
    for status in found.statuses:
        issues = [issue for issue in found.issues if issue.rule == status.name][:MAX_KEPT_ISSUES]
        write_result(LocalBackend(Path(folder, status.name)), status, issues)
    summary = {"statuses": [status.to_json_dict() for status in found.statuses]}
    Path(folder, SUMMARY_FILE).write_text(json.dumps(summary, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _part_key(host: str) -> str:
    return f"{host}.json"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sagemaker_debug_ext.rules.processing", description=__doc__)
    parser.add_argument("--trial", required=True, help="folder of the trial, or its location on S3")
    parser.add_argument(
        "--rules", required=True, nargs="+", metavar="JSON",
        help="name → {rule, parameters, source} as JSON; may be cut into pieces, as arguments of containers are short",
    )  # fmt: skip
    parser.add_argument("--exchange", help="where instances leave what they found; by default below the output")
    parser.add_argument("--config-folder", default=CONFIG_FOLDER, help="where SageMaker describes the job")
    parser.add_argument(
        "--timeout", type=float, default=3600.0, help="seconds that the first instance waits for others"
    )
    parser.add_argument("--fail-on-issues", action="store_true", help="exit with 1 if a rule finds an issue")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Evaluate the part of this instance; the first one merges, and writes the results.

    Returns:
        0; 2 if a rule failed; 1 with ``--fail-on-issues`` if one found an issue.
    """
    options = _parser().parse_args(arguments)
    try:
        surroundings = read_surroundings(options.config_folder, options.exchange)
    except DebugExtError as error:
        return _fail(error)
    try:
        rules = parse_rules("".join(options.rules))
        trial = create_trial(options.trial, wait_seconds=0)
        evaluate_part(rules, trial, surroundings)
        if surroundings.number:
            return 0
        found = merge_parts(rules, trial, surroundings, timeout_seconds=options.timeout)
        Path(surroundings.output_folder).mkdir(parents=True, exist_ok=True)
        write_results(found, surroundings.output_folder)
        run_actions({name: make_rule(reference, trial) for name, reference in rules.items()}, found)
    except DebugExtError as error:
        _tell_the_first(surroundings, error)
        return _fail(error)
    fired = [status.name for status in found.statuses if status.status == "IssuesFound"]
    _leave_message(f"issues found by {', '.join(fired)}" if fired else "no issues found")
    code = exit_code(found.statuses)
    return 0 if code == 1 and not options.fail_on_issues else code


def _tell_the_first(surroundings: ProcessingEnvironment, error: Exception) -> None:
    """Report an error to the first instance, so that it does not wait."""
    if surroundings.number:
        content = json.dumps({"error": f"{type(error).__name__}: {error}"}).encode()
        try:
            open_backend(surroundings.exchange).write(_part_key(surroundings.host), [content])
        except (OSError, DebugExtError):
            LOG.warning("the first instance could not be told", exc_info=True)


def _fail(error: Exception) -> int:
    print(f"error: {error}", file=sys.stderr)
    _leave_message(f"{type(error).__name__}: {error}")
    return 2


def _leave_message(text: str) -> None:
    """Write the job's exit message, if this machine has a place for it."""
    file = Path(os.environ.get("SAGEMAKER_DEBUG_EXT_MESSAGE_FILE", MESSAGE_FILE))
    if file.parent.is_dir():
        half = _MAX_MESSAGE // 2 - 1  # the end often tells most, as it may hold a suggestion
        short = text if len(text) <= _MAX_MESSAGE else f"{text[:half]}…{text[-half:]}"
        file.write_text(short, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
