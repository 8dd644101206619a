"""`ScriptCalls`: the methods that a training script calls to choose what a hook saves, and to save custom values."""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.config.hook_options import to_names
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError, brief, meant_mode
from sagemaker_debug_ext.hooks.capture.collection_set import CollectionSet
from sagemaker_debug_ext.hooks.capture.counters import SkippedSteps
from sagemaker_debug_ext.hooks.capture.pending import SCALAR_PREFIX, Scalar
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured
from sagemaker_debug_ext.hooks.capture.step_tracker import StepTracker
from sagemaker_debug_ext.hooks.fail_safe import script_call, script_query, skip_value
from sagemaker_debug_ext.hooks.process.lifecycle import HookLifecycle
from sagemaker_debug_ext.hooks.process.watcher import WatcherProcess
from sagemaker_debug_ext.hooks.step_recorder import StepRecorder
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

LOG = logging.getLogger(__name__)


class ScriptCalls:
    """The methods for scripts, as in `smdebug`: modes, collections, and custom scalars and tensors.

    The hook sets the attributes.
    """

    default_collections: ClassVar[tuple[str, ...]]
    collection_class: ClassVar[type[Collection]]
    strict: bool
    _collections: CollectionSet
    _disable: Callable[[Exception], None]
    _lifecycle: HookLifecycle
    _lock: threading.RLock
    _recorder: StepRecorder
    _skipped: SkippedSteps
    _steps: StepTracker
    _watcher: WatcherProcess

    @property
    def should_stop(self) -> bool:
        """Whether a rule of a self-managed job has asked to stop training; a custom training loop has to check it."""
        return self._watcher.should_stop

    @script_query(lambda hook, name, create=True: hook.collection_class(name))  # noqa: ARG005 - that of the method
    def get_collection(self, name: str, create: bool = True) -> Collection:
        """Return a collection, by default creating one that does not exist.

        Raises:
            SMDebugTypeError: The name is not a text.
            SMDebugValueError: No collection has that name, and `create` is false.
        """
        if not isinstance(name, str):
            raise SMDebugTypeError(f"name must be a text (got {brief(name)})")
        self._steps.invalidate_plan()
        return self._collections.get(name, create)

    @script_query(lambda _: dict[str, Collection]())
    def get_collections(self) -> dict[str, Collection]:
        """Return all collections by name."""
        self._steps.invalidate_plan()
        return self._collections.get_collections()

    @property
    def include_collections(self) -> list[str]:
        """Names of the collections that are saved by default or that the script asks for, sorted."""
        return self._collections.asked

    @script_call
    def add_collection(self, collection: Collection) -> None:
        """Add a collection, replacing one of the same name.

        Raises:
            SMDebugTypeError: The argument is not a `Collection`.
        """
        self._steps.invalidate_plan()
        self._collections.add(collection)

    @script_query(lambda _: False)
    def has_default_hook_configuration(self) -> bool:
        """Return whether exactly the framework's default collections are saved."""
        return self._collections.saved == set(self.default_collections)

    has_default_configuration = has_default_hook_configuration

    @property
    def mode(self) -> ModeKeys:
        """Mode of the following steps."""
        return self._steps.counters.mode

    @property
    @script_query(lambda _: -1)
    def step(self) -> int:
        """Global step of the last step begun; -1 before the first."""
        return self._steps.last_begun

    @script_call
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

    @script_call
    def save_scalar(
        self,
        name: str,
        value: Any,
        sm_metric: bool = False,
        timestamp: float | None = None,
    ) -> None:
        """Save a number as ``scalar/<name>`` at every call, independent of the save intervals.

        The number belongs to the open step. If no step is open, or if the mode has changed since it began, the number
        belongs to the next step. If the next step has another mode or never comes, the number belongs to the open step,
        or to step 0 if there is none. Of several values in one step, the last one counts.

        Args:
            name: Name of the number.
            value: A number, or an array or tensor with one element.
            sm_metric: Whether to report the number to SageMaker as a metric of the job.
            timestamp: Time of the value in seconds since the epoch; the current time by default.

        Raises:
            SMDebugTypeError: The name is not a text, the value is not exactly one number, or the timestamp is none.
        """
        if not isinstance(name, str):
            raise SMDebugTypeError(f"name must be a text (got {brief(name)})")
        copied = self._recorder.copy_scalar(value, name)
        captured = Captured(copied, time.time() if timestamp is None else _to_seconds(timestamp))
        if not self._lifecycle.accepts("save_scalar"):
            return
        with self._lock:
            self._skipped.forget()
            scalar = Scalar(captured, self._steps.counters.mode, sm_metric)
            self._recorder.save_scalar(self._steps.open, SCALAR_PREFIX + name, scalar)

    @script_call
    def save_tensor(
        self, tensor_name: str, tensor_value: Any, collections_to_write: str | Sequence[str] = CollectionKeys.DEFAULT
    ) -> None:
        """Save a custom tensor as a member of collections.

        The tensor is saved with the open step, or with the first later one, at which one of the collections is due and
        the framework captures a tensor. A value given before the forward or backward pass of a step belongs to that
        step, and a value given after both belongs to the next saved step. Until then, a later value of the same name
        replaces it. If more than `memory_limit_bytes` are waiting, the oldest values are dropped.

        A value that cannot be saved is skipped with a warning.

        Args:
            tensor_name: Name of the tensor.
            tensor_value: An array, tensor, number, text, or list of numbers or texts; it is copied.
            collections_to_write: One or several names of collections; missing collections are created.

        Raises:
            SMDebugTypeError: `tensor_name` is not a text, or a name of a collection is not a text.
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
            self._skipped.forget()  # because its collections may be due at steps that are being skipped
            self._recorder.tensors.add(tensor_name, captured, names)


def _to_seconds(timestamp: Any) -> float:
    try:
        return float(timestamp)
    except (TypeError, ValueError):
        raise SMDebugTypeError(f"timestamp must be a number of seconds (got {brief(timestamp)})") from None
