"""The watcher of a self-managed job on a Ray cluster: an actor, which the driver of the job starts.

The hook of the training function finds the settings in the same environment variables, and looks for requests to stop.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from typing import Any, Final

import attrs

from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.config.job_spec import JOB_NAME_VARIABLE, decode_job_spec
from sagemaker_debug_ext.errors import JobSpecError
from sagemaker_debug_ext.watch.program import Watcher, watch

_NUM_CPUS: Final = 0.5
_NUM_RESTARTS: Final = 2
_LAST_SECONDS: Final = 60.0


class _Actor:
    """Runs the watcher; `end` may be called while `run` runs."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = dict(variables)
        self._ended = threading.Event()

    def run(self) -> int:
        """Evaluate until every rule has ended; return the exit code of the watcher."""
        logging.basicConfig(format="[rules] %(message)s")
        logging.getLogger("sagemaker_debug_ext").setLevel(logging.INFO)
        os.environ.update(self._variables)
        spec = decode_job_spec(self._variables)
        assert spec is not None  # `start_watcher` has decoded it
        return watch(spec, self._variables[JOB_NAME_VARIABLE], place="actor", watch_parent=self._follow)

    def end(self) -> None:
        """Evaluate the last steps; called when training has ended."""
        self._ended.set()

    def _follow(self, watcher: Watcher) -> None:
        def look() -> None:
            self._ended.wait()
            watcher.training_ended(_LAST_SECONDS)

        threading.Thread(target=look, name="end-of-training", daemon=True).start()


@attrs.frozen
class RayWatcher:
    """A watcher that runs as an actor; made by `start_watcher`.

    Attributes:
        actor: The handle of the actor.
        result: The reference to the exit code of the watcher.
    """

    actor: Any
    result: Any

    def finish(self, timeout: float | None = None) -> bool:
        """Wait until the watcher has evaluated the last steps after training, also those of workers that were killed.

        Args:
            timeout: Maximum time to wait in seconds; None for no limit.

        Returns:
            Whether every rule has ended.
        """
        ray: Any = import_optional("ray", "the watcher on a Ray cluster", "ray")
        self.actor.end.remote()
        ready, _ = ray.wait([self.result], timeout=timeout)
        if ready:
            ray.get(self.result)
            ray.kill(self.actor)
        return bool(ready)


def start_watcher(job_name: str, variables: Mapping[str, str], num_cpus: float = _NUM_CPUS) -> RayWatcher:
    """Start the watcher of a job as an actor of the Ray cluster that this process is connected to.

    It is named ``sagemaker-debug-ext-<job name>``, and restarted twice if its worker dies.

    Args:
        job_name: Name of the job, which becomes its folder on S3.
        variables: The environment variables of the job, as `self_managed_request` returns them with
            ``SelfManaged(place="actor")``, and others that the actor needs, such as those of AWS.
        num_cpus: Share of a CPU that the cluster reserves for the actor.

    Raises:
        JobSpecError: The variables hold no settings of a self-managed job.
        MissingDependencyError: The package ``ray`` is not installed.

    Example:
        >>> variables = request["Environment"]
        >>> watcher = start_watcher("digits-1", variables)
        >>> runtime_env = {"env_vars": {**variables, "SAGEMAKER_DEBUG_EXT_JOB_NAME": "digits-1"}}
        >>> ray.get(ray.remote(train).options(runtime_env=runtime_env).remote())
        >>> watcher.finish()
    """
    if decode_job_spec(variables) is None:
        raise JobSpecError("variables must hold the settings of a self-managed job, as self_managed_request makes them")
    ray: Any = import_optional("ray", "the watcher on a Ray cluster", "ray")
    kind = ray.remote(num_cpus=num_cpus, max_restarts=_NUM_RESTARTS, max_task_retries=_NUM_RESTARTS, max_concurrency=2)(
        _Actor
    )
    actor = kind.options(name=f"sagemaker-debug-ext-{job_name}").remote({**variables, JOB_NAME_VARIABLE: job_name})
    return RayWatcher(actor, actor.run.remote())
