"""`BaseHook`: what the hooks of all frameworks share.

A hook counts steps, decides what of each step to save, keeps it until the step is over, and hands it to a thread that
writes. A step is over when the next one begins or the hook is closed; only then is it written, once and whole.

Training comes first: whatever goes wrong in here is logged once and switches saving off, unless the hook is strict.

`BaseHook` puts together the parts that do this, and closes them:

* `ScriptCalls`: the calls of the script (modes, collections, scalars, tensors of its own);
* `FrameworkAdapter`: how tensors of the framework are copied and reduced, overridden by the hook of each framework;
* `WorkerRole`: whether this process saves;
* `StepTracker`: the step counters, the open step, and what is due at it;
* `StepRecorder`: records values with the open step;
* `StepDispatcher`: writes steps that have ended, drops them, or hands them to the flight recorder;
* `StepCycle`: leads each step from the tracker through the recorder to the dispatcher;
* `HookLifecycle`: whether the hook is open, and what happens at process exit and SIGTERM.
"""

from __future__ import annotations

import inspect
import logging
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, TypeVar

from sagemaker_debug_ext.config.hook_options import (
    DEFAULT_MEMORY_LIMIT_BYTES,
    DEFAULT_SPILL_LIMIT_BYTES,
    HookOptions,
)
from sagemaker_debug_ext.config.job_spec import VARIABLE_PREFIX
from sagemaker_debug_ext.config.reductions import ReductionConfig
from sagemaker_debug_ext.config.saving import SaveConfig, SaveConfigMode
from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.capture.collection_set import CollectionSet
from sagemaker_debug_ext.hooks.capture.save_plan import SaveDecision, SavePlan, StepPlan
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured
from sagemaker_debug_ext.hooks.capture.step_tracker import StepTracker
from sagemaker_debug_ext.hooks.fail_safe import fail_safe, run_all, script_query
from sagemaker_debug_ext.hooks.framework import FrameworkAdapter
from sagemaker_debug_ext.hooks.inner_names import InnerNames
from sagemaker_debug_ext.hooks.options.arguments import (
    check_tensorboard_dir,
    complete_save_config,
    open_out_dir,
    warn_about_workers,
)
from sagemaker_debug_ext.hooks.options.config_file import JOB_NAME_VARIABLE, HookConfiguration, read_configuration
from sagemaker_debug_ext.hooks.options.signature import reject_unknown_arguments, signature_of
from sagemaker_debug_ext.hooks.output.checkpoint_state import CheckpointState
from sagemaker_debug_ext.hooks.output.dispatcher import StepDispatcher
from sagemaker_debug_ext.hooks.output.flight_recorder import RecordingTrigger
from sagemaker_debug_ext.hooks.output.sagemaker_metrics import MetricsFile
from sagemaker_debug_ext.hooks.overwriting import make_room
from sagemaker_debug_ext.hooks.process.lifecycle import HookLifecycle
from sagemaker_debug_ext.hooks.process.sigterm import GRACE_SECONDS
from sagemaker_debug_ext.hooks.process.watcher import STOPPED_EXIT_CODE, WatcherProcess
from sagemaker_debug_ext.hooks.profiling import ProfilerCalls
from sagemaker_debug_ext.hooks.script_calls import ScriptCalls
from sagemaker_debug_ext.hooks.step_cycle import StepCycle
from sagemaker_debug_ext.hooks.step_recorder import StepRecorder
from sagemaker_debug_ext.hooks.worker_role import WorkerRole
from sagemaker_debug_ext.store import job_end, open_writers
from sagemaker_debug_ext.store.backends import Backend
from sagemaker_debug_ext.store.format.program import ReportRecord
from sagemaker_debug_ext.vocabulary import CollectionKeys

LOG = logging.getLogger(__name__)

_SelfT = TypeVar("_SelfT", bound="BaseHook")


def _is_self_managed() -> bool:
    """Return whether this process belongs to a self-managed job, whose trial has a folder of its own."""
    return f"{VARIABLE_PREFIX}0" in os.environ


class BaseHook(FrameworkAdapter, ScriptCalls, ProfilerCalls, InnerNames):
    """Captures tensors of a training job.

    Creating a hook makes it the hook of this process and has it closed when the process ends. In a ``with`` block it is
    closed at the block's end.

    Collections are read when a step begins that follows the creation of the hook, or a call that hands out or adds
    collections; hold on to none to change it in the middle of training.

    Args:
        out_dir: Folder to write to. One that holds the beginning of a trial, of a run that was killed, is continued:
            steps count on from the last one there.
        export_tensorboard: Write TensorBoard files as well: scalars, and histograms of all else that is saved.
        tensorboard_dir: Where to put them; a folder ``tensorboard`` in `out_dir` when not given.
        dry_run: Write no tensors.
        reduction_config: What to save of tensors; None means their values.
        save_config: When to save: a `SaveConfig`, a `SaveConfigMode` or a dictionary; every 500 steps when not given.
        include_regex: Patterns, or a single one; tensors that match are saved, in collection ``default``.
        include_collections: Collections to save beside the framework's default ones.
        save_all: Save every tensor that the framework provides.
        include_workers: ``all``, or ``one`` for the first worker only, which anything else means, too, with a warning.
        strict: Raise errors into training instead of logging them.
        memory_limit_bytes: How much may wait to be written before training has to wait; the open step comes on top.
        statistics: Names of `sagemaker_debug_ext.vocabulary.STATISTICS`, to be saved of every tensor of which something
            is saved, scalar collections excepted.
        when_full: What happens when the limit is reached: ``block`` has training wait, ``drop`` leaves out whole steps,
            which `num_dropped_steps` counts, ``spill`` has steps wait in a temporary file (in ``TMPDIR``), and training
            only when that is full, too.
        flight_recorder: Keep that many of the last steps in memory instead of writing them, within the same limit;
            they are written when a loss is not finite, when the script ends with an exception or by SIGTERM, by
            `write_recording`, and when a rule's action asks for them (see `rules.action`).
        spill_limit_bytes: The maximum size of that temporary file.
        handle_sigterm: At SIGTERM write all steps that are complete, and end the trial if that ends the process; then
            happens what the script has set for the signal, or the default action, as without a hook. Where the script
            sets a handler later that calls the one before, the hook only writes, and that handler decides.
        overwrite: First delete the trial that `out_dir` holds, unless another process writes it.

    Raises:
        SMDebugRuntimeError: `out_dir` holds a trial that has ended, or that another hook of this process writes.
        SMDebugTypeError: An argument has the wrong type.
        SMDebugValueError: An argument has no meaning.
    """

    __signature__: ClassVar[inspect.Signature]
    """The signature of the hook, including the arguments that a subclass passes on."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__signature__ = signature_of(cls, BaseHook)

    @reject_unknown_arguments
    def __init__(
        self,
        out_dir: str | os.PathLike[str] | Backend,
        export_tensorboard: bool = False,
        tensorboard_dir: str | os.PathLike[str] | None = None,
        dry_run: bool = False,
        reduction_config: ReductionConfig | None = None,
        save_config: SaveConfig | SaveConfigMode | Mapping[Any, Any] | None = None,
        include_regex: str | Sequence[str] | None = None,
        include_collections: Iterable[str] | None = None,
        save_all: bool = False,
        include_workers: str = "one",
        *,
        strict: bool = False,
        memory_limit_bytes: int = DEFAULT_MEMORY_LIMIT_BYTES,
        statistics: Iterable[str] = (),
        when_full: str = "block",
        flight_recorder: int = 0,
        spill_limit_bytes: int = DEFAULT_SPILL_LIMIT_BYTES,
        handle_sigterm: bool = True,
        overwrite: bool = False,
    ) -> None:
        options = HookOptions(
            out_dir=out_dir,
            export_tensorboard=export_tensorboard,
            tensorboard_dir=tensorboard_dir,
            dry_run=dry_run,
            reduction_config=reduction_config,
            save_config=save_config,
            include_regex=include_regex,
            include_collections=include_collections,
            save_all=save_all,
            include_workers=include_workers,
            strict=strict,
            memory_limit_bytes=memory_limit_bytes,
            statistics=statistics,
            when_full=when_full,
            flight_recorder=flight_recorder,
            spill_limit_bytes=spill_limit_bytes,
            handle_sigterm=handle_sigterm,
            overwrite=overwrite,
        )
        self.backend = make_room(open_out_dir(options.out_dir), options.overwrite)
        self.out_dir = self.backend.url
        self.dry_run = options.dry_run
        self.strict = options.strict
        self.save_all = options.save_all
        self.include_workers = options.include_workers
        warn_about_workers(options.include_workers)
        self.export_tensorboard = options.writes_tensorboard
        self.tensorboard_dir = check_tensorboard_dir(options, self.out_dir)
        self.statistics = options.statistics
        self.save_config = complete_save_config(options.save_config, self.default_save_interval)
        self.reduction_config = options.reduction_config
        self._options = options
        self._lock = threading.RLock()  # scalars and tensors may be saved from any thread
        self._collections = CollectionSet.of(
            options, self.collection_class, self.builtin_patterns, self.default_collections
        )
        self._steps = StepTracker(self._make_plan, self._before_end, self._lock, self.reduction_ddof)
        self._skipped = self._steps.skipped  # asked at every step: a further attribute look-up would show
        metrics, checkpoints = MetricsFile.find(os.environ), CheckpointState.find(os.environ)
        if checkpoints is not None:
            checkpoints.restore(self._steps.counters)
        self._recorder = StepRecorder(self, self._collections, options.memory_limit_bytes, metrics is not None)
        self._dispatcher = StepDispatcher(
            self.backend, options, self._collections, self._to_array, self._lock, metrics, checkpoints
        )
        self._lifecycle = HookLifecycle(self.out_dir, self._lock, self._can_move, self._move)
        self._watcher = WatcherProcess()
        start = self._watcher.start
        self._role = WorkerRole(
            self, options.include_workers, self._lifecycle, self._steps, self._dispatcher, self._disable, start
        )
        self._writer = open_writers.OpenWriter(self._settle)
        self._cycle = StepCycle(self._steps, self._recorder, self._dispatcher, self._role, self._writer, self._lock)
        self._submit_step = self._cycle.submit  # called at every step, as `_skipped` is
        is_restarted = _is_self_managed() and checkpoints is not None and checkpoints.has_earlier_run
        registry.register(self, self.backend, may_go_on=is_restarted)
        registry.set_hook(self, BaseHook)
        open_writers.announce(self.out_dir, self._writer)
        self._attach_to_process()
        self._begin_timeline()

    # --- creation -----------------------------------------------------------------------------------------------------

    @classmethod
    def create_from_json_file(cls: type[_SelfT], json_file_path: str | None = None) -> _SelfT:
        """Create a hook from a hook configuration file, or from the job spec of a self-managed job.

        Args:
            json_file_path: The file; None means the one that the environment variable ``SMDEBUG_CONFIG_FILE_PATH``
                names, the job spec in the environment, or the place where SageMaker puts the file.

        Raises:
            FileNotFoundError: There is no such file.
            SMDebugTypeError: `json_file_path` is not a path.
            SMDebugValueError: The file cannot be read, or holds a value without meaning; the text says which and where.
        """
        return cls.create_from_configuration(read_configuration(json_file_path, os.environ, cls.default_save_interval))

    @classmethod
    def create_from_configuration(cls: type[_SelfT], configuration: HookConfiguration) -> _SelfT:
        """Create a hook from the content of a hook configuration file."""
        hook = cls(**configuration.arguments())
        configuration.log_warnings()
        if not hook.dry_run:
            on_exit = hook._skipped.end if configuration.exits_on_stop else None
            hook._watcher.configure(configuration.watch, configuration.profile, configuration.stop_location, on_exit)
        for settings in configuration.collections:
            settings.apply_to(hook.get_collection(settings.name))
        return hook

    # --- called by the script -----------------------------------------------------------------------------------------

    @property
    def failure(self) -> Exception | None:
        """The first failure of the hook; None if there is none."""
        return self._lifecycle.failure

    @property
    def has_trained(self) -> bool:
        """Whether a training step has begun."""
        return self._steps.counters.has_trained

    @property
    def num_dropped_steps(self) -> int:
        """How many steps were dropped because the memory limit was reached."""
        return self._dispatcher.num_dropped_steps

    @script_query(lambda *_: False)
    def should_save_tensor_or_collection(self, tensor_name: str, collection_name: str) -> bool:
        """Return whether the open step saves the tensor or the collection; false before the first step."""
        plan = self._current_plan() or self._first_plan()
        return plan is not None and (collection_name in plan.saved or plan.decide(tensor_name) is not None)

    @fail_safe
    def write_recording(self) -> None:
        """Write the steps that the flight recorder keeps, but not the open one; a no-op without a recorder."""
        if self._lifecycle.is_active():
            with self._lock:
                if not self._lifecycle.is_closed:  # by another thread while this one waited
                    self._dispatcher.write_recording()

    @fail_safe
    def export_collections(self) -> None:
        """Write the collections file as it is now."""
        if self._lifecycle.is_active():
            with self._lock:
                if self._role.takes_part():
                    self._steps.save_plan()
                    self._dispatcher.export_collections()
            self._dispatcher.flush()

    @fail_safe
    def close(self) -> None:
        """Flush pending steps, mark the trial as ended, and detach from the model, each even if another part fails.

        Inside a SageMaker job the platform marks the end of a trial that it uploads. Closing twice is a no-op. If
        Ctrl-C interrupts a call, the next one does the rest, at the latest when the process ends.
        """
        goes_on, has_model = self._lifecycle.was_interrupted, list[bool]()
        try:
            if not self._lifecycle.begin_close():
                return
            run_all(
                self._skipped.forget,
                lambda: registry.mark_closed(self, self.out_dir),
                lambda: open_writers.withdraw(self.out_dir, self._writer),
                lambda: self._trigger.close() if self._trigger is not None else None,
                self._leave_to_child,
                lambda: has_model.append(self._has_model()),
                self._detach,
                self._finish,
                lambda: None if goes_on else self._warn_of_shortfalls(all(has_model)),
                self._end,
                self._lifecycle.detach,
                self._publish_timeline,
                lambda: self._watcher.drain(0 if self.failure is not None else None),
            )
        except KeyboardInterrupt:
            self._lifecycle.was_interrupted = True
            raise
        if self.strict:
            self._lifecycle.raise_failure()

    def __enter__(self: _SelfT) -> _SelfT:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lifecycle.has_raised = error is not None
        self.close()

    # --- what the framework's hook calls ------------------------------------------------------------------------------

    def _begin_step(self, submit: bool = True) -> StepPlan | None:
        """End the open step, begin the next, and return its plan; None if nothing is due.

        Args:
            submit: Whether the writing thread gets the ended step at once. If not, the framework's hook calls
                `_submit_step` after its own work, which then does not compete with that thread for the interpreter.
        """
        if self._skipped.begin():
            return None
        if self._watcher.must_exit:
            self.close()
            raise SystemExit(STOPPED_EXIT_CODE)
        if not self._lifecycle.use():
            self._steps.discard()  # of a hook that was switched off
            if self.strict:
                self._lifecycle.raise_failure()
            return None
        return self._cycle.begin(submit)

    def _current_plan(self) -> StepPlan | None:
        """Return the plan of the open step; None if nothing is saved."""
        return None if self._lifecycle.is_off else self._steps.current_plan()

    def _first_plan(self) -> StepPlan | None:
        """Return the plan of the first step, if scripts may ask for it before the step begins; None otherwise."""
        return None

    def _capture(self, name: str, value: Any) -> None:
        """Save a tensor of the framework with the open step, if that is decided."""
        plan = self._current_plan()
        decision = plan.decide(name) if plan else None
        if decision is not None:
            self._save(name, value, decision)

    def _save(self, name: str, value: Any, decision: SaveDecision, taken: Captured | None = None) -> None:
        """Save a tensor with the open step as decided; `taken` is an existing copy of it, if any."""
        step = self._steps.open
        if step is not None:
            self._recorder.save(step, name, value, decision, taken)

    def _save_custom_tensors(self) -> None:
        """Save the script's own tensors whose collections are due."""
        if self._recorder.tensors and not self._lifecycle.is_off:
            self._cycle.save_pending()

    def _disable(self, error: Exception) -> None:
        """Switch saving off because of an error; called from any thread."""
        self._lifecycle.switch_off(error, self.strict)
        self._skipped.forget()

    # --- inside -------------------------------------------------------------------------------------------------------

    def _attach_to_process(self) -> None:
        """Register what this process calls: its end, SIGTERM, and requests for a recording."""
        self._lifecycle.attach(self.close, self._finish_early if self._options.handle_sigterm else None)
        has_recorder = self._options.flight_recorder
        self._trigger = RecordingTrigger(self.backend, self.write_recording) if has_recorder else None

    def _is_unused(self) -> bool:
        """Return whether no step has begun and no value waits for one, so that a forked child may use the hook instead.

        Two children that use it at the same time are kept apart by the claim on a folder, which S3 does not have.
        """
        is_used = self._dispatcher.output or self._steps.last_begun >= 0 or self._recorder.scalars.waiting
        return not (is_used or self._recorder.tensors or self.backend.is_remote)

    def _can_move(self) -> bool:
        return self._is_unused() and not job_end.has_ended(self.backend)

    def _move(self) -> None:
        """Work in this forked child."""
        registry.mark_open(self, self.out_dir)
        self._writer.process_id = os.getpid()
        self._watcher.move()
        self._attach_to_process()

    def _is_left_to_child(self) -> bool:
        """Return whether a forked child writes the trial in place of this process."""
        return bool(self._lifecycle.has_moved) and self._is_unused()

    def _leave_to_child(self) -> None:
        if self._is_left_to_child():
            self._lifecycle.is_off = True

    def _make_plan(self) -> SavePlan:
        """Complete the settings of collections, as the collections file shows them, and return the save plan."""
        self._before_plan()
        return self._collections.plan(self.save_config, self.reduction_config, self.strict)

    def _settle(self) -> bool:
        """Write all complete steps for a reader on the thread that trains; return whether this process writes."""
        is_off = self._lifecycle.is_off and self.failure is None
        is_bystander = self._role.is_helper or is_off or self._is_left_to_child()
        if not is_bystander and self._lifecycle.is_active():
            self._write_complete_steps()
        return not is_bystander

    @fail_safe
    def note_report(self, report: ReportRecord) -> None:
        """Keep what the script has found out about its predictions for the record of the program."""
        self._dispatcher.note_report(report)

    @fail_safe
    def _write_complete_steps(self) -> None:
        if self._is_between_trainings():
            self._cycle.end_open()
        self._dispatcher.flush()

    @fail_safe
    def _finish(self) -> None:
        self._cycle.finish(writes_recording=self._lifecycle.has_error_exit())

    def _finish_early(self, ends_process: bool) -> None:
        """Write the complete steps at SIGTERM, and end the trial if the process is about to end.

        Runs between two instructions of the script, so that the open step may be incomplete.
        """
        if not self._dispatcher.flush(GRACE_SECONDS):
            return
        self._dispatcher.write_recording()
        if ends_process:
            if self._steps.open is not None and not self._is_step_complete():
                self._cycle.drop_open()
            self._lifecycle.is_closed = True
            self._finish()
        if self._dispatcher.flush(GRACE_SECONDS) and ends_process:
            self._end()
            self._watcher.drain(GRACE_SECONDS)

    @fail_safe
    def _end(self) -> None:
        is_of_service = JOB_NAME_VARIABLE in os.environ and not _is_self_managed()
        is_uploaded = is_of_service and not self.backend.is_remote
        self._dispatcher.finish(mark_end=not is_uploaded)

    def _warn_of_shortfalls(self, has_model: bool) -> None:
        """Warn, once each, of tensors that were asked for and never saved."""
        is_intended = self.dry_run or self._dispatcher.flight_recorder is not None or self._lifecycle.is_off
        if is_intended or self._lifecycle.has_error_exit():
            return
        if not has_model:
            LOG.warning("sagemaker_debug_ext: the hook for %s has seen no model: %s", self.out_dir, self.model_hint)
        elif self._role.is_only_writer and self._dispatcher.has_taken:
            self._warn_of_missing_tensors()
        elif self._role.is_only_writer and self._steps.last_begun >= 0:
            LOG.warning(
                "sagemaker_debug_ext: no tensors were saved to %s in %d steps: none matched the due collections %s; "
                "check the save interval, the collection patterns and the registered modules",
                self.out_dir,
                self._steps.last_begun + 1,
                ", ".join(sorted(self._collections.saved)),
            )

    def _warn_of_missing_tensors(self) -> None:
        """Warn of collections that stayed empty although they were due, and of patterns that matched nothing."""
        asked = {*self._options.include_collections, CollectionKeys.DEFAULT}
        if self.has_trained:
            asked |= {*self.expected_collections}
        asked &= self._cycle.due_collections()
        missing = self._collections.shortfalls(
            asked, self.builtin_patterns, dict.fromkeys(self.expected_collections, self.loss_hint)
        )
        if missing:
            LOG.warning("sagemaker_debug_ext: not everything was saved to %s: %s", self.out_dir, "; ".join(missing))
