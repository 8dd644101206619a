"""The course of each step: it begins, gets the values that have waited for it, ends, and is submitted."""

from __future__ import annotations

import threading

from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.capture.save_plan import StepPlan
from sagemaker_debug_ext.hooks.capture.step_buffer import StepBuffer
from sagemaker_debug_ext.hooks.capture.step_tracker import StepTracker
from sagemaker_debug_ext.hooks.output.dispatcher import StepDispatcher
from sagemaker_debug_ext.hooks.step_recorder import StepRecorder
from sagemaker_debug_ext.hooks.worker_role import WorkerRole
from sagemaker_debug_ext.store.open_writers import OpenWriter


class StepCycle:
    """Leads each step through the parts of a hook.

    Args:
        steps: Counts steps and holds the open one.
        recorder: Records values with a step.
        dispatcher: Gets each step that has ended.
        role: Says whether this process takes part in steps.
        writer: Is told which thread trains.
        lock: The hook's lock.
    """

    def __init__(
        self,
        steps: StepTracker,
        recorder: StepRecorder,
        dispatcher: StepDispatcher,
        role: WorkerRole,
        writer: OpenWriter,
        lock: threading.RLock,
    ) -> None:
        self._steps = steps
        self._recorder = recorder
        self._dispatcher = dispatcher
        self._role = role
        self._writer = writer
        self._lock = lock
        self._plans: set[StepPlan] = set()

    def begin(self, submit: bool) -> StepPlan | None:
        """End the open step, begin the next, and return its plan; None if nothing is due.

        Args:
            submit: Whether to submit the ended step at once; otherwise `submit` is to be called later.
        """
        steps, recorder, dispatcher = self._steps, self._recorder, self._dispatcher
        self._writer.thread_id = threading.get_ident()
        with self._lock:
            if steps.ended is not None:  # an interruption has kept it from being submitted
                self.submit()
            recorder.flush_scalars(steps.open, steps.counters.mode)
            steps.end()
            if submit:
                self.submit()
            if not self._role.takes_part():
                return None
            step = self._open()
            if recorder.tensors:
                self.save_pending()
            plan = steps.current_plan()
            if not (plan or step or recorder.tensors) and dispatcher.checkpoints is None:
                steps.skip_until_due()
            if not plan:
                return None
            self._plans.add(plan)
            return plan

    def due_collections(self) -> set[str]:
        """Return the names of the collections that were due at any step."""
        return {name for plan in self._plans for name in plan.saved}

    def save_pending(self) -> None:
        """Record with the open step the tensors of the script that are due."""
        plan, step = self._steps.current_plan(), self._steps.open
        if plan is not None and step is not None:
            with self._lock:
                self._recorder.save_pending(step, plan)

    def submit(self) -> None:
        """Submit the step that has ended, if there is one and it holds anything.

        An interrupted call is repeated with the next step, so a step may be submitted twice; it is written once.
        """
        step = self._steps.ended
        if step:
            self._dispatcher.submit(step)
        self._steps.ended = None

    def finish(self, writes_recording: bool) -> None:
        """Submit the last step with all values that have waited for a step, and export the collections.

        A process that has captured nothing leaves a folder alone that another hook has written.

        Args:
            writes_recording: Whether to write the steps that the flight recorder keeps.
        """
        steps, recorder, dispatcher = self._steps, self._recorder, self._dispatcher
        with self._lock:
            is_unused = dispatcher.output is None and not recorder.scalars.waiting
            if is_unused and registry.is_written(dispatcher.url):
                return
            if not self._role.takes_part() or dispatcher.output is None:
                return
            self.submit()  # the step before one that is running right now
            if steps.open is None and recorder.scalars.waiting:
                self._open()
            recorder.flush_scalars(steps.open, steps.counters.mode, is_final=True)
            if recorder.tensors:
                self.save_pending()
            steps.end()
            self.submit()
            if writes_recording:
                dispatcher.write_recording()
            steps.save_plan()
            dispatcher.export_collections_if_changed()

    def end_open(self) -> None:
        """End the open step before the next begins, and submit it with all values that have waited for a step."""
        steps, recorder = self._steps, self._recorder
        with self._lock:
            if not steps.open:  # values that come later belong to it as well
                return
            recorder.flush_scalars(steps.open, steps.counters.mode, is_final=True)
            if recorder.tensors:
                self.save_pending()
            steps.end()
            self.submit()

    def drop_open(self) -> None:
        """Drop the open step and the scalars that have waited for one."""
        self._steps.discard_open()
        self._recorder.scalars.waiting.clear()

    def _open(self) -> StepBuffer:
        self._dispatcher.update_checkpoints(self._steps.counters, self._steps.ended)
        step = self._steps.begin()
        self._recorder.begin_step(step)
        return step
