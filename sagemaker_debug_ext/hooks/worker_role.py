"""What a process of the job does: save, help the processes that save, or nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from sagemaker_debug_ext.hooks.capture.step_tracker import StepTracker
from sagemaker_debug_ext.hooks.framework import FrameworkAdapter
from sagemaker_debug_ext.hooks.output.dispatcher import StepDispatcher
from sagemaker_debug_ext.hooks.output.trial_output import CHIEF
from sagemaker_debug_ext.hooks.process.lifecycle import HookLifecycle
from sagemaker_debug_ext.vocabulary import ModeKeys

LOG = logging.getLogger(__name__)


class WorkerRole:
    """Decides at the first step whether this process saves, and opens its output if so.

    The decision cannot come earlier, because scripts may start their process groups after they have made the hook.

    Args:
        adapter: The hook of the framework, which knows the rank of this process.
        include_workers: ``all`` if every worker saves; otherwise only the first does.
        lifecycle: Is switched off in a process that has nothing to do.
        steps: Continues to count after the steps that an earlier run, which was killed, has left in the folder.
        dispatcher: Is opened in a process that saves.
        on_failure: Called once, on the writing thread, with the first error of writing.
        on_chief: Called once if this process is the first worker, as soon as its output is open.
    """

    def __init__(
        self,
        adapter: FrameworkAdapter,
        include_workers: str,
        lifecycle: HookLifecycle,
        steps: StepTracker,
        dispatcher: StepDispatcher,
        on_failure: Callable[[Exception], object],
        on_chief: Callable[[], object],
    ) -> None:
        self.is_helper = False
        """Whether this process saves nothing, but takes part in steps because other processes need it."""
        self.is_only_writer = False
        """Whether this run started the trial and is the only one that saves to it."""
        self._adapter = adapter
        self._include_workers = include_workers
        self._lifecycle = lifecycle
        self._steps = steps
        self._dispatcher = dispatcher
        self._on_failure = on_failure
        self._on_chief = on_chief

    def takes_part(self) -> bool:
        """Return whether this process takes part in steps; decide that at the first call.

        Raises:
            SMDebugRuntimeError: Another process has claimed the folder.
        """
        if self._dispatcher.output is None and not (self._lifecycle.is_off or self.is_helper):
            self._decide()
        return not self._lifecycle.is_off

    def _decide(self) -> None:
        adapter, dispatcher = self._adapter, self._dispatcher
        worker = adapter._find_worker()  # noqa: SLF001 - the adapter's calls are not for scripts, which see the hook
        all_write = self._include_workers == "all"
        if worker.name != CHIEF:
            dispatcher.checkpoints = None
        if not (all_write or worker.name == CHIEF):
            LOG.debug("%s saves nothing, because include_workers is %r", worker.name, self._include_workers)
            self.is_helper = adapter._joins_collectives()  # noqa: SLF001
            self._lifecycle.is_off = not self.is_helper
            self._resume_after({})
            return
        self._resume_after(dispatcher.open(worker, worker.num_workers if all_write else 1, self._on_failure))
        is_shared = all_write and worker.num_workers > 1
        self.is_only_writer = self._steps.counters.last_global_step < 0 and not is_shared
        if worker.name == CHIEF:
            self._on_chief()

    def _resume_after(self, found: Mapping[ModeKeys, int]) -> None:
        """Continue to count after the last steps found: by this process, or by any where processes tell each other."""
        last_steps = self._adapter._sync_last_steps(found)  # noqa: SLF001
        if self._adapter._continues_counting() and self._steps.resume_after(last_steps):  # noqa: SLF001
            LOG.warning(
                "%s holds steps of an earlier run: counting goes on after step %d",
                self._dispatcher.url,
                last_steps[ModeKeys.GLOBAL],
            )
