"""`InnerNames`: names of smdebug's hooks that are not public but that published examples use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sagemaker_debug_ext.hooks.capture.collection_set import CollectionSet
from sagemaker_debug_ext.hooks.capture.save_plan import SaveDecision
from sagemaker_debug_ext.hooks.capture.step_tracker import StepTracker
from sagemaker_debug_ext.hooks.fail_safe import fail_safe, script_query
from sagemaker_debug_ext.hooks.process.lifecycle import HookLifecycle
from sagemaker_debug_ext.hooks.step_recorder import StepRecorder
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

_WHOLE_VALUE: Final = SaveDecision((CollectionKeys.DEFAULT,), value=True, shape=False, reductions=())


class InnerNames:
    """Attributes and methods of smdebug's hooks under their names there. The hook sets the attributes."""

    _collections: CollectionSet
    _lifecycle: HookLifecycle
    _recorder: StepRecorder
    _steps: StepTracker
    _disable: Callable[[Exception], None]
    strict: bool
    close: Callable[[], None]
    _find_worker: Callable[[], Any]

    @property
    def collection_manager(self) -> CollectionSet:
        """The collections of the hook, with the methods `get`, `add` and `get_collections`."""
        self._steps.invalidate_plan()
        return self._collections

    @property
    @script_query(lambda _: {ModeKeys.GLOBAL: -1})
    def mode_steps(self) -> dict[ModeKeys, int]:
        """Mode → last step begun in it; -1 for GLOBAL before the first step."""
        return self._steps.last_mode_steps()

    @fail_safe
    def _write_raw_tensor_simple(
        self,
        tensor_name: str,
        tensor_value: Any,
        tensor_ref: object = None,  # noqa: ARG002 - smdebug's signature
        timestamp: float | None = None,  # noqa: ARG002 - likewise
    ) -> None:
        """Save a tensor with the open step, whether or not a collection asks for it."""
        step = self._steps.open
        if step is not None:
            self._recorder.save(step, tensor_name, tensor_value, _WHOLE_VALUE)

    def _get_worker_name(self) -> str:
        """Return the name of this process among those of the job."""
        name: str = self._find_worker().name
        return name

    def _cleanup(self) -> None:
        """Close the hook."""
        self.close()
