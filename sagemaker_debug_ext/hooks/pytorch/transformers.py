"""The hook as a callback of Hugging Face's `Trainer`."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from transformers import TrainerCallback

from sagemaker_debug_ext.hooks.pytorch.hook import Hook


class _LossFindingHook(Hook):
    """A hook that finds losses by what ``backward`` is called on: the trainer's models compute theirs inside."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, detect_losses=True, **kwargs)


class DebuggerCallback(TrainerCallback):  # type: ignore[misc]
    """Captures what a `Trainer` trains: ``Trainer(..., callbacks=[DebuggerCallback()])``.

    A step is one update of the weights, however many batches its gradients are made of; in evaluation it is a batch.
    The mode follows the model. What the trainer logs is saved as scalars, and the hook is closed when training ends.

    Args:
        hook: The hook; make it with ``detect_losses=True`` if losses are to be saved. When not given, one that does
            so is made from the hook configuration file.

    Raises:
        FileNotFoundError: No hook is given, and there is no configuration file.
    """

    def __init__(self, hook: Hook | None = None) -> None:
        self.hook = _LossFindingHook.create_from_json_file() if hook is None else hook
        self.hook.explicit_steps = True
        self.hook.mode_follows_model = True
        self._is_registered = False

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Register the model as it was given to the trainer, without what wraps it."""
        if not self._is_registered:
            self._is_registered = True
            self.hook.register_module(kwargs["model"])

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """End the step: the weights have been updated. Stop training if a rule of a self-managed job asks for it."""
        self.hook.step()
        if self.hook.should_stop:
            control.should_training_stop = True

    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """End the step: a batch has been evaluated."""
        self.hook.step()

    def on_log(
        self,
        args: Any,  # noqa: ARG002
        state: Any,  # noqa: ARG002
        control: Any,  # noqa: ARG002
        logs: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Save the logged numbers."""
        for name, value in (logs or {}).items():
            if isinstance(value, Real):
                self.hook.save_scalar(name, value)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """Close the hook: write the rest, and detach from the model."""
        self.hook.close()
