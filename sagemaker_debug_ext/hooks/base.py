"""`BaseHook`: what the hooks of all frameworks share.

A hook counts steps, decides what of each step to save, keeps it until the step is over, and hands it to a thread that
writes. A step is over when the next one begins or the hook is closed; only then is it written, once and whole.

Training comes first: whatever goes wrong in here is logged once and switches saving off, unless the hook is strict.
"""

from __future__ import annotations

import inspect
import logging
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, Final, TypeVar

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.config.reductions import ReductionConfig, check_statistics
from sagemaker_debug_ext.config.saving import SaveConfig, SaveConfigMode
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError, brief, meant_mode
from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.capture.collection_set import CollectionSet
from sagemaker_debug_ext.hooks.capture.counters import SkippedSteps, StepCounters
from sagemaker_debug_ext.hooks.capture.pending import PendingScalars, PendingTensors, Scalar
from sagemaker_debug_ext.hooks.capture.save_plan import SaveDecision, SavePlan, StepPlan
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured, PooledValue, StepBuffer
from sagemaker_debug_ext.hooks.fail_safe import fail_safe
from sagemaker_debug_ext.hooks.framework import FrameworkAdapter
from sagemaker_debug_ext.hooks.options.arguments import (
    check_count,
    check_flag,
    check_policy,
    check_reduction_config,
    check_tensorboard_dir,
    check_workers,
    complete_save_config,
    list_names,
    list_patterns,
    open_out_dir,
)
from sagemaker_debug_ext.hooks.options.config_file import JOB_NAME_VARIABLE, HookConfiguration, read_configuration
from sagemaker_debug_ext.hooks.options.signature import reject_unknown_arguments, signature_of
from sagemaker_debug_ext.hooks.output.background import DEFAULT_MEMORY_LIMIT_BYTES
from sagemaker_debug_ext.hooks.output.checkpoint_state import CheckpointState
from sagemaker_debug_ext.hooks.output.dispatcher import StepDispatcher
from sagemaker_debug_ext.hooks.output.flight_recorder import FlightRecorder, RecordingTrigger
from sagemaker_debug_ext.hooks.output.sagemaker_metrics import MetricsFile
from sagemaker_debug_ext.hooks.output.spill_file import DEFAULT_SPILL_LIMIT_BYTES
from sagemaker_debug_ext.hooks.output.tensorboard import TensorBoardOutput, summary_spec_for
from sagemaker_debug_ext.hooks.output.trial_output import CHIEF, TrialOutput, Worker
from sagemaker_debug_ext.hooks.process.exit import current_exception_id, is_exiting_with_error, on_exit
from sagemaker_debug_ext.hooks.process.fork import PROCESS
from sagemaker_debug_ext.hooks.process.sigterm import GRACE_SECONDS, on_sigterm
from sagemaker_debug_ext.store.backends import Backend, open_backend
from sagemaker_debug_ext.vocabulary import SCALAR_COLLECTIONS, CollectionKeys, ModeKeys

LOG = logging.getLogger(__name__)

_METRIC_COLLECTIONS: Final = frozenset({CollectionKeys.LOSSES, CollectionKeys.METRICS, CollectionKeys.SM_METRICS})

_SelfT = TypeVar("_SelfT", bound="BaseHook")


class ProfilerCalls:
    """Profiler methods of `smdebug` hooks, answered as in a job without a profiler."""

    def record_trace_events(self, *_: Any, **__: Any) -> None:
        """Do nothing: without a profiler there is no timeline to add an event to."""

    def should_save_dataloader_metrics(self, metrics_name: str) -> bool:  # noqa: ARG002 - smdebug's signature
        """Return False: without a profiler no data loader metrics are saved."""
        return False


class BaseHook(FrameworkAdapter, ProfilerCalls):
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
        save_all: Save every tensor the framework offers.
        include_workers: ``all``, or ``one`` for the first worker only, which anything else means, too, with a warning.
        strict: Raise what goes wrong into training instead of logging it.
        memory_limit_bytes: How much may wait to be written before training has to wait; the open step comes on top.
        statistics: Names of `sagemaker_debug_ext.vocabulary.STATISTICS`, to be saved of every tensor of which something
            is saved, scalar collections excepted.
        when_full: What happens when the limit is reached: ``block`` has training wait, ``drop`` leaves out whole steps,
            which `num_dropped_steps` counts, ``spill`` has steps wait in a temporary file (in ``TMPDIR``), and training
            only when that is full, too.
        flight_recorder: Keep that many of the last steps in memory instead of writing them, within the same limit;
            they are written when a loss is not finite, when the script ends with an exception or by SIGTERM, by
            `write_recording`, and when a rule's action asks for them (see `rules.action`).
        spill_limit_bytes: How large that file may become.
        handle_sigterm: At SIGTERM write all steps that are complete, and end the trial if that ends the process; then
            happens what the script has set for the signal, or the default action, as without a hook. Where the script
            sets a handler later that calls the one before, the hook only writes, and that handler decides.

    Raises:
        SMDebugRuntimeError: `out_dir` holds a trial that has ended, or that another hook of this process writes.
        SMDebugTypeError: An argument has the wrong type.
        SMDebugValueError: An argument has no meaning.
    """

    __signature__: ClassVar[inspect.Signature]
    """All that a hook takes, also where a subclass passes arguments on."""

    _is_helper = False
    """Whether this process saves nothing itself, and takes part in steps for the sake of others."""

    _is_only_writer = False
    """Whether the trial begins with this run, and all that is saved in it comes from here."""

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
    ) -> None:
        self.backend = open_out_dir(out_dir)
        self.out_dir = self.backend.url
        self.dry_run = check_flag(dry_run, "dry_run")
        self.strict = check_flag(strict, "strict")
        self.save_all = check_flag(save_all, "save_all")
        self.include_workers = check_workers(include_workers)
        self.export_tensorboard = check_flag(export_tensorboard, "export_tensorboard") or tensorboard_dir is not None
        self.tensorboard_dir = check_tensorboard_dir(tensorboard_dir)
        self.statistics = check_statistics(list_names(statistics, "statistics"))
        self.save_config = complete_save_config(save_config, self.default_save_interval)
        self.reduction_config = check_reduction_config(reduction_config)
        self.failure: Exception | None = None
        """What went wrong first; None as long as all is well."""
        self._collections = CollectionSet(
            self.collection_class,
            self.builtin_patterns,
            saved=(*self.default_collections, *list_names(include_collections, "include_collections")),
            save_all=self.save_all,
        )
        if patterns := list_patterns(include_regex):
            self._collections.save(CollectionKeys.DEFAULT, patterns)
        if self.save_all:
            self._collections.save(CollectionKeys.ALL, [".*"])
        self._memory_limit_bytes = memory_limit_bytes = check_count(memory_limit_bytes, "memory_limit_bytes", least=1)
        check_policy(when_full)
        self._drops_steps = when_full == "drop"
        spill_limit_bytes = check_count(spill_limit_bytes, "spill_limit_bytes", least=1)
        self._spill_limit_bytes = spill_limit_bytes if when_full == "spill" else 0
        num_recorded = check_count(flight_recorder, "flight_recorder", least=0)
        self._recorder = FlightRecorder(num_recorded, self._memory_limit_bytes) if num_recorded else None
        handle_sigterm = check_flag(handle_sigterm, "handle_sigterm")
        self._counters = StepCounters()
        self._skipped = SkippedSteps()
        self._step_begun = -1
        self._metrics = MetricsFile.find(os.environ)
        self._checkpoints = CheckpointState.find(os.environ)
        if self._checkpoints is not None:
            self._checkpoints.restore(self._counters)
        self._open: StepBuffer | None = None
        self._ended_step: StepBuffer | None = None
        self._plan: SavePlan | None = None
        self._step_plan: StepPlan | None = None
        self._custom_tensors = PendingTensors(memory_limit_bytes)
        self._scalars = PendingScalars()
        self._delivery: StepDispatcher | None = None
        self._has_raised = self._is_off = self._is_closed = self._has_said_closed = False
        self._error_at_begin = current_exception_id()
        self._process = PROCESS.mark
        self._lock = threading.RLock()  # scalars and tensors may be saved from any thread
        registry.enter(self, self.backend)
        registry.set_hook(self, BaseHook)
        self._forget_end = on_exit(self.close)
        self._forget_sigterm = on_sigterm(self._terminate) if handle_sigterm else None
        self._requests = RecordingTrigger(self.backend, self.write_recording) if num_recorded else None

    # --- creation -----------------------------------------------------------------------------------------------------

    @classmethod
    def create_from_json_file(cls: type[_SelfT], json_file_path: str | None = None) -> _SelfT:
        """Create a hook from a hook configuration file.

        Args:
            json_file_path: The file; None means the one that the environment variable ``SMDEBUG_CONFIG_FILE_PATH``
                names, or the place where SageMaker puts it.

        Raises:
            FileNotFoundError: There is no such file.
            SMDebugTypeError: `json_file_path` is no path.
            SMDebugValueError: The file cannot be read, or holds a value without meaning; the text says which and where.
        """
        return cls.create_from_configuration(read_configuration(json_file_path, os.environ, cls.default_save_interval))

    @classmethod
    def create_from_configuration(cls: type[_SelfT], configuration: HookConfiguration) -> _SelfT:
        """Create a hook from what a hook configuration file says."""
        hook = cls(**configuration.arguments())
        configuration.log_warnings()
        for settings in configuration.collections:
            settings.apply_to(hook.get_collection(settings.name))
        return hook

    # --- collections --------------------------------------------------------------------------------------------------

    def get_collection(self, name: str, create: bool = True) -> Collection:
        """Return a collection, by default creating one that does not exist.

        Raises:
            SMDebugValueError: There is none of that name, and `create` is false.
        """
        self._invalidate_plan()
        return self._collections.get(name, create)

    def get_collections(self) -> dict[str, Collection]:
        """Return all collections by name."""
        self._invalidate_plan()
        return {collection.name: collection for collection in self._collections}

    def add_collection(self, collection: Collection) -> None:
        """Add a collection, replacing one of the same name.

        Raises:
            SMDebugTypeError: It is no `Collection`.
        """
        self._invalidate_plan()
        self._collections.add(collection)

    def has_default_hook_configuration(self) -> bool:
        """Tell whether exactly the framework's default collections are saved."""
        return self._collections.saved == set(self.default_collections)

    has_default_configuration = has_default_hook_configuration

    # --- what the script says -----------------------------------------------------------------------------------------

    @property
    def mode(self) -> ModeKeys:
        """Mode of the steps to come."""
        return self._counters.mode

    @property
    def step(self) -> int:
        """Global step of the last step begun; -1 before the first."""
        return self._last_step

    @property
    def num_dropped_steps(self) -> int:
        """How many steps were left out because too much waited to be written."""
        return 0 if self._delivery is None else self._delivery.num_dropped_steps

    def set_mode(self, mode: ModeKeys) -> None:
        """Say what the steps to come are for.

        Raises:
            SMDebugValueError: It is no mode.
        """
        if not isinstance(mode, ModeKeys):
            raise SMDebugValueError(
                f"mode must be one of {', '.join(map(str, ModeKeys))} (got {mode!r}){meant_mode(mode)}"
            )
        self._enter_mode(mode)

    def save_scalar(
        self,
        name: str,
        value: Any,
        sm_metric: bool = False,
        timestamp: float | None = None,
    ) -> None:
        """Save a number as ``scalar/<name>``, at every call, whatever the save intervals say.

        It belongs to the step that is open. If there is none, or the mode has been changed since that step began, it
        belongs to the next step; should that one be of another mode, or never come, to the open step after all, and
        to step 0 if there never is any. Of several values in one step the last counts.

        Args:
            name: Name of the number.
            value: A number, or an array or tensor of one element.
            sm_metric: Whether the number is a metric of the job, to be told to SageMaker.
            timestamp: When the value was taken, in seconds since the epoch; now when not given.

        Raises:
            SMDebugTypeError: The name is no text, or the value is not exactly one number.
        """
        if not isinstance(name, str):
            raise SMDebugTypeError(f"name must be a text (got {brief(name)})")
        captured = Captured(self._copy_scalar(value, name), time.time() if timestamp is None else float(timestamp))
        if not self._is_open_for("save_scalar"):
            return
        with self._lock:
            self._skipped.forget()
            scalar = Scalar(captured, self._counters.mode, sm_metric)
            self._scalars.save(f"scalar/{name}", scalar, self._step, self.export_tensorboard)

    def save_tensor(
        self, tensor_name: str, tensor_value: Any, collections_to_write: str | Sequence[str] = CollectionKeys.DEFAULT
    ) -> None:
        """Save a tensor of the script's own, as a member of all the collections named.

        It is saved with the open step or a later one, the first at which one of these collections is due and the
        framework captures something: a value given before the forward or backward pass of a step belongs to that step,
        one given after both to the next one that is saved. Until then a later value of the same name replaces it; the
        oldest values give way when more than `memory_limit_bytes` wait.

        A value that cannot be saved is skipped with a warning.

        Args:
            tensor_name: Name to save it under.
            tensor_value: An array, tensor, number, text, or list of numbers or texts; a copy is taken.
            collections_to_write: A collection, or several; those that do not exist are created.

        Raises:
            SMDebugTypeError: The name is no text, or the collections are not named by texts.
        """
        if not isinstance(tensor_name, str):
            raise SMDebugTypeError(f"tensor_name must be a text (got {brief(tensor_name)})")
        names = list_names(
            [collections_to_write] if isinstance(collections_to_write, str) else collections_to_write,
            "collections_to_write",
        )
        if not self._is_open_for("save_tensor"):
            return
        try:
            captured = Captured(self._copy_value(tensor_value), time.time())
        except Exception as error:  # noqa: BLE001 - whatever a value does when it is copied, training goes on
            LOG.warning("tensor %r is not saved: %s", tensor_name, error)
            return
        with self._lock:
            for name in names:
                if name not in self._collections:
                    self._invalidate_plan()
                self._collections.get(name).add_tensor_name(tensor_name)
            self._skipped.forget()  # its collections may be due when none of those to be saved is
            self._custom_tensors.add(tensor_name, captured, tuple(names))

    def should_save_tensor_or_collection(self, tensor_name: str, collection_name: str) -> bool:
        """Tell whether the open step saves the tensor or the collection; false before the first step."""
        plan = self._current_plan()
        return plan is not None and (collection_name in plan.saved or plan.decide(tensor_name) is not None)

    @fail_safe
    def write_recording(self) -> None:
        """Write the steps that the flight recorder keeps, but not the open one; without a recorder nothing happens."""
        if self._is_active():
            with self._lock:
                if not self._is_closed:  # meanwhile
                    self._write_recorded()

    def export_collections(self) -> None:
        """Write the collections file as it is now."""
        if self._is_active():
            self._export_and_wait()

    def close(self) -> None:
        """Write what is left, mark the trial as ended, and leave the model as it was before.

        Inside a SageMaker job the platform marks the end. Closing twice does nothing.
        """
        if self._is_closed or PROCESS.mark is not self._process:
            return
        self._is_closed = True
        self._skipped.forget()
        registry.note_closed(self, self.out_dir)
        if self._requests is not None:
            self._requests.close()
        self._forget_end()
        self._detach()
        self._finish()
        self._say_if_nothing_was_saved()
        self._end()
        if self._forget_sigterm is not None:
            self._forget_sigterm()
        if self.failure is not None and self.strict:
            raise self.failure

    def __enter__(self: _SelfT) -> _SelfT:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._has_raised = error is not None
        self.close()

    # --- what the framework's hook calls ------------------------------------------------------------------------------

    def _begin_step(self, hand_over: bool = True) -> StepPlan | None:
        """End the open step and begin the next; return what is due at it, None if nothing.

        Args:
            hand_over: Whether the writing thread may have the step that has ended right away. If not, `_submit_step` is
                to be called once the framework's hook has done its own work, which then does not compete with the
                writing thread for the interpreter.
        """
        if self._skipped.begin():
            return None
        if not self._is_active():
            self._step = self._ended_step = None  # let go of what was captured before saving was switched off
            if self.failure is not None and self.strict:
                raise self.failure
            return None
        with self._lock:
            if self._scalars.waiting:
                self._flush_scalars()
            self._finish_step()
            if hand_over:
                self._submit_step()
            if not self._has_output():
                return None
            self._open_step()
            self._save_custom_tensors()
            plan, step = self._current_plan(), self._step
            has_nothing_to_do = not (plan or step or self._custom_tensors) and self._checkpoints is None
            if has_nothing_to_do and step is not None and self._plan is not None:
                self._skipped.skip_until(step.position, self._plan)
            return plan or None

    @property
    def _step(self) -> StepBuffer | None:
        """The open step."""
        if self._skipped.num_begun:
            self._catch_up()
        return self._open

    @_step.setter
    def _step(self, step: StepBuffer | None) -> None:
        self._open = step

    @property
    def _last_step(self) -> int:
        """Global step of the last step begun; -1 before the first."""
        if self._skipped.num_begun:
            self._catch_up()
        return self._step_begun

    def _catch_up(self) -> None:
        """Count the idle steps that have begun: nothing is in the open step, which gets the number of the last."""
        with self._lock:
            num_steps = self._skipped.take_skipped()
            if num_steps and self._open is not None:
                self._open.position = self._counters.advance(num_steps)
                self._step_begun = self._open.position.global_step
                self._step_plan = None

    def _enter_mode(self, mode: ModeKeys) -> None:
        """Have the steps to come be of a mode."""
        if mode is not self._counters.mode:
            with self._lock:
                self._catch_up()
                self._skipped.forget()
                self._counters.mode = mode

    def _invalidate_plan(self) -> None:
        """Find out anew what is due, at the next step at the latest."""
        self._catch_up()
        self._plan = None
        self._skipped.forget()

    def _cancel_step(self) -> None:
        """Forget the open step, which did not take place after all; the next one takes its numbers.

        The step before it is open again, unless it has been handed over.
        """
        with self._lock:
            if self._step is not None:
                self._skipped.forget()
                self._counters.retreat(self._step.position)
                self._step_begun = self._counters.last_global_step
                self._step, self._ended_step = self._ended_step, None
                self._step_plan = None

    def _current_plan(self) -> StepPlan | None:
        """Return what is due at the open step; None if nothing is saved (any more)."""
        if self._step is None or self._is_off:
            return None
        if self._plan is None:
            self._step_plan = None
        if self._step_plan is None:
            self._step_plan = self._complete_collections().at(self._step.position.mode, self._step.position.mode_step)
        return self._step_plan

    def _capture(self, name: str, value: Any) -> None:
        """Save a tensor of the framework with the open step, if that is decided."""
        plan = self._current_plan()
        decision = plan.decide(name) if plan else None
        if decision is not None:
            self._save(name, value, decision)

    def _save(self, name: str, value: Any, decision: SaveDecision, taken: Captured | None = None) -> None:
        """Capture what was decided of a tensor; `taken` is a copy of it, if there is one already."""
        step = self._step
        shape = tuple(value.shape)
        if step is None or 0 in shape:
            return
        now = time.time() if taken is None else taken.wall_time
        if decision.reductions:
            self._save_reductions(step, name, value, decision.reductions, now)
        if self.statistics and SCALAR_COLLECTIONS.isdisjoint(decision.collections):
            self._save_statistics(step, name, value, now)
        if decision.shape:
            step.shapes[name] = shape
        if decision.value:
            step.tensors[name] = Captured(self._copy_value(value), now) if taken is None else taken
        if self.export_tensorboard or self._metrics is not None:
            self._observe(step, name, value, decision, now, taken)
        self._collections.note(name, decision.collections)

    def _observe(
        self, step: StepBuffer, name: str, value: Any, decision: SaveDecision, now: float, taken: Captured | None
    ) -> None:
        """Note that a tensor is a metric of the job, and how TensorBoard shows it."""
        if self._metrics is not None and not _METRIC_COLLECTIONS.isdisjoint(decision.collections):
            step.metrics.add(name)
        summaries = summary_spec_for(name, decision.collections, self._collections) if self.export_tensorboard else None
        if summaries is None:
            return
        step.summaries[name] = summaries
        if not (summaries.is_scalar or decision.value):
            step.summary_values[name] = Captured(self._copy_value(value), now) if taken is None else taken

    def _save_custom_tensors(self) -> None:
        """Save the script's own tensors whose collections are due."""
        plan = self._current_plan() if self._custom_tensors else None
        if plan is None:
            return
        with self._lock:
            for name, captured, decision in self._custom_tensors.take_due(plan):
                self._save(name, captured.value, decision, captured)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _is_active(self) -> bool:
        return not (self._is_off or self._is_closed) and PROCESS.mark is self._process

    def _is_open_for(self, call: str) -> bool:
        """Tell whether a call of the script does anything; if not because the hook is closed, that is said once."""
        if self._is_closed and not self._has_said_closed:
            self._has_said_closed = True
            LOG.warning("%s() does nothing: the hook for %r is closed", call, self.out_dir)
        return self._is_active()

    def _copy_scalar(self, value: Any, name: str) -> Any:
        try:
            copied = self._copy_value(value)
        except Exception as error:
            raise SMDebugTypeError(f"scalar {name!r} must be one number (got {brief(value)})") from error
        is_text = not isinstance(copied, PooledValue) and self._to_array(copied).dtype.kind == "U"
        if is_text or copied.shape not in ((), (1,) * len(copied.shape)):
            raise SMDebugTypeError(f"scalar {name!r} must be one number (got {brief(value)})")
        return copied

    def _has_output(self) -> bool:
        """Find out, the first time, who this process is and whether it writes; tell whether it does."""
        if self._delivery is None and not (self._is_off or self._is_helper):
            worker = self._find_worker()
            everyone = self.include_workers == "all"
            if worker.name != CHIEF:
                self._checkpoints = None
            if everyone or worker.name == CHIEF:
                output = self._open_output(worker, worker.num_workers if everyone else 1)
                registry.mark_written(self.out_dir)
                self._delivery = StepDispatcher(
                    output, self._collections, self._to_array, self._recorder, self._lock, self._drops_steps
                )
                self._resume(self._sync_last_steps(output.last_steps()))
                is_shared = everyone and worker.num_workers > 1
                self._is_only_writer = self._counters.last_global_step < 0 and not is_shared
            else:
                LOG.debug("%s saves nothing, because include_workers is %r", worker.name, self.include_workers)
                self._is_helper = self._joins_collectives()
                self._is_off = not self._is_helper
                self._resume(self._sync_last_steps({}))
        return not self._is_off

    def _open_output(self, worker: Worker, num_writers: int) -> TrialOutput:
        folder = self.tensorboard_dir or f"{self.out_dir}/tensorboard"
        return TrialOutput(
            self.backend,
            worker,
            num_writers,
            self._memory_limit_bytes,
            self._disable,
            TensorBoardOutput(open_backend(folder)) if self.export_tensorboard else None,
            self._metrics,
            self._spill_limit_bytes,
        )

    def _resume(self, last_steps: Mapping[ModeKeys, int]) -> None:
        """Count on behind the steps that an earlier run, which was killed, has left in the folder."""
        last = last_steps.get(ModeKeys.GLOBAL, -1)
        if last <= self._counters.last_global_step:
            return
        self._counters.resume_after(
            last, {mode: step for mode, step in last_steps.items() if mode is not ModeKeys.GLOBAL}
        )
        LOG.warning("%s holds steps of an earlier run: counting goes on after step %d", self.out_dir, last)

    def _open_step(self) -> None:
        """Begin a step with the scalars that waited for it."""
        if self._checkpoints is not None:
            self._note_checkpoints(self._checkpoints)
        position = self._counters.advance()
        self._step_begun = position.global_step
        self._step_plan = None
        self._step = StepBuffer(position, reduction_ddof=self.reduction_ddof)
        if self._scalars.waiting:
            self._scalars.begin(self._step, self.export_tensorboard)

    def _note_checkpoints(self, checkpoints: CheckpointState) -> None:
        try:
            ended = self._ended_step
            saved = -1 if self._delivery is None else self._delivery.last_saved_step
            checkpoints.update(self._counters, ended.position.global_step if ended else saved)
        except OSError:
            LOG.exception("the state of checkpoints is no longer written")
            self._checkpoints = None

    def _flush_scalars(self, is_final: bool = False) -> None:
        """Give the open step the scalars that waited for a step which is not coming."""
        if self._step is not None:
            self._scalars.flush_to(self._step, self._counters.mode, is_final, self.export_tensorboard)

    def _finish_step(self) -> None:
        """Close the open step; nothing here holds on to its tensors once it is handed over."""
        self._ended_step, self._step = self._step, None

    def _submit_step(self) -> None:
        """Give the step that has ended to the writing thread."""
        step, self._ended_step = self._ended_step, None
        if step and self._delivery is not None:
            self._delivery.take(step, self.dry_run)

    def _write_recorded(self) -> None:
        if self._delivery is not None:
            self._delivery.write_recorded(self.dry_run)

    @fail_safe
    def _export_and_wait(self) -> None:
        with self._lock:
            if self._has_output() and self._delivery is not None:
                self._complete_collections()
                self._delivery.export()
        if self._delivery is not None:
            self._delivery.output.flush()

    @fail_safe
    def _finish(self) -> None:
        """Write what is left to write when no step will follow.

        Where another hook has written, one that has captured nothing has nothing to add, not even the end.
        """
        with self._lock:
            if self._delivery is None and not self._scalars.waiting and registry.is_written(self.out_dir):
                return
            if self._is_off or not self._has_output() or self._delivery is None:
                return
            self._submit_step()  # of the step before one that is running right now
            if self._step is None and self._scalars.waiting:
                self._open_step()
            self._flush_scalars(is_final=True)
            self._save_custom_tensors()
            self._finish_step()
            self._submit_step()
            if self._has_raised or is_exiting_with_error(since=self._error_at_begin):
                self._write_recorded()
            self._complete_collections()
            self._delivery.export_collections_if_changed()

    def _say_if_nothing_was_saved(self) -> None:
        is_wanted = self._is_only_writer and not (self.dry_run or self._recorder or self._is_off)
        if is_wanted and self._last_step >= 0 and self._delivery is not None and not self._delivery.has_taken:
            LOG.warning(
                "sagemaker_debug_ext: no tensors were saved to %s up to step %d: none matched the due collections %s; "
                "check the save interval, the collection patterns and the registered modules",
                self.out_dir,
                self._last_step,
                ", ".join(sorted(self._collections.saved)),
            )

    def _terminate(self, ends_process: bool) -> None:
        """Write what is complete; if the process is about to end, end the trial too.

        Runs between two instructions of the script. The open step is among what is complete only if the framework's
        hook can tell.
        """
        if self._is_closed or PROCESS.mark is not self._process or not self._lock.acquire(timeout=GRACE_SECONDS):
            return
        try:
            output = None if self._delivery is None else self._delivery.output
            if output is None or not output.flush(GRACE_SECONDS):
                return
            self._write_recorded()
            if ends_process:
                if self._step is not None and not self._is_step_complete():
                    self._step = None
                    self._scalars.waiting.clear()
                self._is_closed = True
                self._finish()
            if output.flush(GRACE_SECONDS) and ends_process:
                self._end()
        finally:
            self._lock.release()

    @fail_safe
    def _end(self) -> None:
        if self._delivery is not None:
            self._delivery.output.close(mark_end=JOB_NAME_VARIABLE not in os.environ)

    def _complete_collections(self) -> SavePlan:
        """Fill in what collections leave to the hook, as the collections file shows it; return when they are due."""
        if self._plan is None:
            self._before_plan()
            self._plan = self._collections.plan(self.save_config, self.reduction_config, self.strict)
        return self._plan

    def _disable(self, error: Exception) -> None:
        """Switch saving off because of an error; called from any thread."""
        self._is_off = True
        self._skipped.forget()
        if self.failure is not None:
            return
        self.failure = error
        if not self.strict:
            LOG.error("sagemaker_debug_ext: saving is switched off, training goes on: %s", error, exc_info=error)
