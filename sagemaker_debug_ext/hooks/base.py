"""`BaseHook`: what the hooks of all frameworks share.

A hook counts steps, decides what of each step to save, keeps it until the step is over, and hands it to a thread that
writes. A step is over when the next one begins or the hook is closed; only then is it written, once and whole.

Training comes first: whatever goes wrong in here is logged once and switches saving off, unless the hook is strict.
"""

from __future__ import annotations

import functools
import inspect
import logging
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, TypeVar

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.config.hook_options import (
    DEFAULT_MEMORY_LIMIT_BYTES,
    DEFAULT_SPILL_LIMIT_BYTES,
    HookOptions,
    to_names,
)
from sagemaker_debug_ext.config.reductions import ReductionConfig
from sagemaker_debug_ext.config.saving import SaveConfig, SaveConfigMode
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError, brief, meant_mode
from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.capture.collection_set import CollectionSet
from sagemaker_debug_ext.hooks.capture.pending import Scalar
from sagemaker_debug_ext.hooks.capture.save_plan import SaveDecision, SavePlan, StepPlan
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured, StepBuffer
from sagemaker_debug_ext.hooks.capture.step_tracker import StepTracker
from sagemaker_debug_ext.hooks.fail_safe import fail_safe, skip_value
from sagemaker_debug_ext.hooks.framework import FrameworkAdapter
from sagemaker_debug_ext.hooks.options.arguments import (
    complete_save_config,
    open_folder,
    open_out_dir,
    warn_about_workers,
)
from sagemaker_debug_ext.hooks.options.config_file import JOB_NAME_VARIABLE, HookConfiguration, read_configuration
from sagemaker_debug_ext.hooks.options.signature import reject_unknown_arguments, signature_of
from sagemaker_debug_ext.hooks.output.checkpoint_state import CheckpointState
from sagemaker_debug_ext.hooks.output.dispatcher import StepDispatcher
from sagemaker_debug_ext.hooks.output.flight_recorder import RecordingTrigger
from sagemaker_debug_ext.hooks.output.sagemaker_metrics import MetricsFile
from sagemaker_debug_ext.hooks.output.trial_output import CHIEF
from sagemaker_debug_ext.hooks.process.lifecycle import HookLifecycle
from sagemaker_debug_ext.hooks.process.sigterm import GRACE_SECONDS
from sagemaker_debug_ext.hooks.profiling import ProfilerCalls
from sagemaker_debug_ext.hooks.step_recorder import StepRecorder
from sagemaker_debug_ext.store.backends import Backend
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

LOG = logging.getLogger(__name__)

_SelfT = TypeVar("_SelfT", bound="BaseHook")


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

    Raises:
        SMDebugRuntimeError: `out_dir` holds a trial that has ended, or that another hook of this process writes.
        SMDebugTypeError: An argument has the wrong type.
        SMDebugValueError: An argument has no meaning.
    """

    __signature__: ClassVar[inspect.Signature]
    """The signature of the hook, including the arguments that a subclass passes on."""

    _is_helper = False
    """Whether this process saves nothing, but takes part in steps because other processes need it."""

    _is_only_writer = False
    """Whether this run started the trial and is the only one that saves to it."""

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
        )
        self.backend = open_out_dir(options.out_dir)
        self.out_dir = self.backend.url
        self.dry_run = options.dry_run
        self.strict = options.strict
        self.save_all = options.save_all
        self.include_workers = options.include_workers
        warn_about_workers(options.include_workers)
        self.export_tensorboard = options.writes_tensorboard
        self.tensorboard_dir = options.tensorboard_dir
        if options.tensorboard_dir is not None:
            open_folder(options.tensorboard_dir, "tensorboard_dir")
        self.statistics = options.statistics
        self.save_config = complete_save_config(options.save_config, self.default_save_interval)
        self.reduction_config = options.reduction_config
        self._options = options
        self._lock = threading.RLock()  # scalars and tensors may be saved from any thread
        self._collections = self._make_collections(options)
        self._steps = StepTracker(self._make_plan, self._before_end, self._lock, self.reduction_ddof)
        self._skipped = self._steps.skipped  # asked at every step: a further attribute look-up would show
        metrics, checkpoints = MetricsFile.find(os.environ), CheckpointState.find(os.environ)
        if checkpoints is not None:
            checkpoints.restore(self._steps.counters)
        self._recorder = StepRecorder(self, self._collections, options.memory_limit_bytes, metrics is not None)
        self._dispatcher = StepDispatcher(
            self.backend, options, self._collections, self._to_array, self._lock, metrics, checkpoints
        )
        self._lifecycle = HookLifecycle(self.out_dir, self._lock)
        registry.register(self, self.backend)
        registry.set_hook(self, BaseHook)
        self._lifecycle.attach(self.close, self._finish_early if options.handle_sigterm else None)
        self._trigger = RecordingTrigger(self.backend, self.write_recording) if options.flight_recorder else None

    def _make_collections(self, options: HookOptions) -> CollectionSet:
        collections = CollectionSet(
            self.collection_class,
            self.builtin_patterns,
            saved=(*self.default_collections, *options.include_collections),
            save_all=options.save_all,
        )
        if options.include_regex:
            collections.save(CollectionKeys.DEFAULT, options.include_regex)
        if options.save_all:
            collections.save(CollectionKeys.ALL, [".*"])
        return collections

    # --- creation -----------------------------------------------------------------------------------------------------

    @classmethod
    def create_from_json_file(cls: type[_SelfT], json_file_path: str | None = None) -> _SelfT:
        """Create a hook from a hook configuration file.

        Args:
            json_file_path: The file; None means the one that the environment variable ``SMDEBUG_CONFIG_FILE_PATH``
                names, or the place where SageMaker puts it.

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
        for settings in configuration.collections:
            settings.apply_to(hook.get_collection(settings.name))
        return hook

    # --- collections --------------------------------------------------------------------------------------------------

    def get_collection(self, name: str, create: bool = True) -> Collection:
        """Return a collection, by default creating one that does not exist.

        Raises:
            SMDebugValueError: No collection has that name, and `create` is false.
        """
        self._steps.invalidate_plan()
        return self._collections.get(name, create)

    def get_collections(self) -> dict[str, Collection]:
        """Return all collections by name."""
        self._steps.invalidate_plan()
        return {collection.name: collection for collection in self._collections}

    def add_collection(self, collection: Collection) -> None:
        """Add a collection, replacing one of the same name.

        Raises:
            SMDebugTypeError: The argument is not a `Collection`.
        """
        self._steps.invalidate_plan()
        self._collections.add(collection)

    def has_default_hook_configuration(self) -> bool:
        """Return whether exactly the framework's default collections are saved."""
        return self._collections.saved == set(self.default_collections)

    has_default_configuration = has_default_hook_configuration

    # --- called by the script -----------------------------------------------------------------------------------------

    @property
    def failure(self) -> Exception | None:
        """The first failure of the hook; None if there is none."""
        return self._lifecycle.failure

    @property
    def mode(self) -> ModeKeys:
        """Mode of the following steps."""
        return self._steps.counters.mode

    @property
    def step(self) -> int:
        """Global step of the last step begun; -1 before the first."""
        return self._steps.last_begun

    @property
    def num_dropped_steps(self) -> int:
        """How many steps were dropped because the memory limit was reached."""
        return self._dispatcher.num_dropped_steps

    def set_mode(self, mode: ModeKeys) -> None:
        """Set the mode of the following steps.

        Raises:
            SMDebugValueError: The argument is not a mode.
        """
        if not isinstance(mode, ModeKeys):
            raise SMDebugValueError(
                f"mode must be one of {', '.join(map(str, ModeKeys))} (got {mode!r}){meant_mode(mode)}"
            )
        self._steps.enter_mode(mode)

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
        copied = self._recorder.copy_scalar(value, name)
        captured = Captured(copied, time.time() if timestamp is None else float(timestamp))
        if not self._lifecycle.accepts("save_scalar"):
            return
        with self._lock:
            self._skipped.forget()
            scalar = Scalar(captured, self._steps.counters.mode, sm_metric)
            self._recorder.save_scalar(self._steps.open, f"scalar/{name}", scalar)

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
        names = to_names(
            [collections_to_write] if isinstance(collections_to_write, str) else collections_to_write,
            "collections_to_write",
        )
        if not self._lifecycle.accepts("save_tensor"):
            return
        captured: Captured | None = None
        with skip_value(tensor_name, functools.partial(LOG.warning, "tensor %r is not saved: %s")):
            captured = self._recorder.copy_tensor(tensor_value)
        if captured is None:
            return
        with self._lock:
            for name in names:
                if name not in self._collections:
                    self._steps.invalidate_plan()
                self._collections.get(name).add_tensor_name(tensor_name)
            self._skipped.forget()  # its collections may be due when none of those to be saved is
            self._recorder.tensors.add(tensor_name, captured, names)

    def should_save_tensor_or_collection(self, tensor_name: str, collection_name: str) -> bool:
        """Return whether the open step saves the tensor or the collection; false before the first step."""
        plan = self._current_plan()
        return plan is not None and (collection_name in plan.saved or plan.decide(tensor_name) is not None)

    @fail_safe
    def write_recording(self) -> None:
        """Write the steps that the flight recorder keeps, but not the open one; a no-op without a recorder."""
        if self._lifecycle.is_active():
            with self._lock:
                if not self._lifecycle.is_closed:  # by another thread while this one waited
                    self._dispatcher.write_recording(self.dry_run)

    def export_collections(self) -> None:
        """Write the collections file as it is now."""
        if self._lifecycle.is_active():
            self._export_and_wait()

    def close(self) -> None:
        """Flush pending steps, mark the trial as ended, and detach from the model.

        Inside a SageMaker job the platform marks the end. Closing twice is a no-op.
        """
        if not self._lifecycle.begin_close():
            return
        self._skipped.forget()
        registry.mark_closed(self, self.out_dir)
        if self._trigger is not None:
            self._trigger.close()
        self._detach()
        self._finish()
        self._warn_if_nothing_was_saved()
        self._end()
        self._lifecycle.detach()
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
        """End the open step and begin the next; return what is due at it, None if nothing.

        Args:
            submit: Whether the writing thread gets the ended step at once. If not, the framework's hook calls
                `_submit_step` after its own work, which then does not compete with that thread for the interpreter.
        """
        if self._skipped.begin():
            return None
        if not self._lifecycle.is_active():
            self._steps.discard()  # of a hook that was switched off
            if self.strict:
                self._lifecycle.raise_failure()
            return None
        steps, recorder = self._steps, self._recorder
        with self._lock:
            recorder.flush_scalars(steps.open, steps.counters.mode)
            steps.end()
            if submit:
                self._submit_step()
            if not self._has_output():
                return None
            step = self._open_step()
            self._save_custom_tensors()
            plan = self._current_plan()
            if not (plan or step or recorder.tensors) and self._dispatcher.checkpoints is None:
                steps.skip_until_due()
            return plan or None

    def _submit_step(self) -> None:
        """Submit the step that has ended."""
        step = self._steps.take_ended()
        if step:
            self._dispatcher.submit(step, self.dry_run)

    def _current_plan(self) -> StepPlan | None:
        """Return what is due at the open step; None if nothing is saved."""
        return None if self._lifecycle.is_off else self._steps.current_plan()

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
        plan = self._current_plan() if self._recorder.tensors else None
        step = self._steps.open
        if plan is not None and step is not None:
            with self._lock:
                self._recorder.save_pending(step, plan)

    def _disable(self, error: Exception) -> None:
        """Switch saving off because of an error; called from any thread."""
        self._lifecycle.switch_off(error, self.strict)
        self._skipped.forget()

    # --- inside -------------------------------------------------------------------------------------------------------

    def _make_plan(self) -> SavePlan:
        """Complete the settings of collections, as the collections file shows them, and return the save plan."""
        self._before_plan()
        return self._collections.plan(self.save_config, self.reduction_config, self.strict)

    def _open_step(self) -> StepBuffer:
        self._dispatcher.update_checkpoints(self._steps.counters, self._steps.ended)
        step = self._steps.begin()
        self._recorder.begin_step(step)
        return step

    def _has_output(self) -> bool:
        """Resolve this process's rank on first use, and return whether it writes."""
        if self._dispatcher.output is None and not (self._lifecycle.is_off or self._is_helper):
            self._open_output()
        return not self._lifecycle.is_off

    def _open_output(self) -> None:
        worker, all_write = self._find_worker(), self.include_workers == "all"
        if worker.name != CHIEF:
            self._dispatcher.checkpoints = None
        if not (all_write or worker.name == CHIEF):
            LOG.debug("%s saves nothing, because include_workers is %r", worker.name, self.include_workers)
            self._is_helper = self._joins_collectives()
            self._lifecycle.is_off = not self._is_helper
            self._resume(self._sync_last_steps({}))
            return
        folder = (self.tensorboard_dir or f"{self.out_dir}/tensorboard") if self.export_tensorboard else None
        last_steps = self._dispatcher.open(worker, worker.num_workers if all_write else 1, folder, self._disable)
        self._resume(self._sync_last_steps(last_steps))
        is_shared = all_write and worker.num_workers > 1
        self._is_only_writer = self._steps.counters.last_global_step < 0 and not is_shared

    def _resume(self, last_steps: Mapping[ModeKeys, int]) -> None:
        """Continue counting after the steps that an earlier run, which was killed, has left in the folder."""
        if self._continues_counting() and self._steps.resume_after(last_steps):
            last = last_steps[ModeKeys.GLOBAL]
            LOG.warning("%s holds steps of an earlier run: counting goes on after step %d", self.out_dir, last)

    @fail_safe
    def _export_and_wait(self) -> None:
        with self._lock:
            if self._has_output():
                self._steps.save_plan()
                self._dispatcher.export_collections()
        self._dispatcher.flush()

    @fail_safe
    def _finish(self) -> None:
        """Flush the last step and the pending scalars and tensors.

        A hook that has captured nothing leaves a folder alone that another hook has written.
        """
        steps, recorder = self._steps, self._recorder
        with self._lock:
            is_unused = self._dispatcher.output is None and not recorder.scalars.waiting
            if is_unused and registry.is_written(self.out_dir):
                return
            if self._lifecycle.is_off or not self._has_output() or self._dispatcher.output is None:
                return
            self._submit_step()  # the step before one that is running right now
            if steps.open is None and recorder.scalars.waiting:
                self._open_step()
            recorder.flush_scalars(steps.open, steps.counters.mode, is_final=True)
            self._save_custom_tensors()
            steps.end()
            self._submit_step()
            if self._lifecycle.has_error_exit():
                self._dispatcher.write_recording(self.dry_run)
            steps.save_plan()
            self._dispatcher.export_collections_if_changed()

    def _warn_if_nothing_was_saved(self) -> None:
        dispatcher, num_steps = self._dispatcher, self._steps.last_begun + 1
        is_intended = self.dry_run or dispatcher.flight_recorder is not None or self._lifecycle.is_off
        if self._is_only_writer and num_steps > 0 and not (is_intended or dispatcher.has_taken):
            LOG.warning(
                "sagemaker_debug_ext: no tensors were saved to %s in %d steps: none matched the due collections %s; "
                "check the save interval, the collection patterns and the registered modules",
                self.out_dir,
                num_steps,
                ", ".join(sorted(self._collections.saved)),
            )

    def _finish_early(self, ends_process: bool) -> None:
        """Write the complete steps at SIGTERM, and end the trial if the process is about to end.

        Runs between two instructions of the script, so that the open step may be incomplete.
        """
        if not self._dispatcher.flush(GRACE_SECONDS):
            return
        self._dispatcher.write_recording(self.dry_run)
        if ends_process:
            if self._steps.open is not None and not self._is_step_complete():
                self._steps.discard_open()
                self._recorder.scalars.waiting.clear()
            self._lifecycle.is_closed = True
            self._finish()
        if self._dispatcher.flush(GRACE_SECONDS) and ends_process:
            self._end()

    @fail_safe
    def _end(self) -> None:
        self._dispatcher.finish(mark_end=JOB_NAME_VARIABLE not in os.environ)
