"""The hook as a callback of Lightning's `Trainer`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lightning.pytorch import Callback
from torch import Tensor

from sagemaker_debug_ext.hooks.pytorch.hook import Hook
from sagemaker_debug_ext.vocabulary import ModeKeys


class DebuggerCallback(Callback):  # type: ignore[misc]
    """Captures what a `Trainer` trains: ``Trainer(..., callbacks=[DebuggerCallback()])``.

    A step is one batch, of training or of validation. Its loss is saved as ``loss_output_0``, what the module logs at
    the end of an epoch as scalars. The hook is closed when fitting ends.

    Args:
        hook: The hook; one made from the hook configuration file when not given.

    Raises:
        FileNotFoundError: No hook is given, and there is no configuration file.
    """

    def __init__(self, hook: Hook | None = None) -> None:
        self.hook = Hook.create_from_json_file() if hook is None else hook
        self.hook.explicit_steps = True

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """Register the module, once the trainer has tried out whether validation works: that makes no steps."""
        self.hook.register_module(pl_module)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, *_: Any) -> None:  # noqa: ARG002
        """Begin a step; the module is not called as such, only its `training_step`."""
        self._begin(pl_module, ModeKeys.TRAIN)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, *_: Any) -> None:  # noqa: ARG002
        """Save the loss and end the step. Stop training if a rule of a self-managed job asks for it."""
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        if isinstance(loss, Tensor):
            self.hook.record_tensor_value("loss", loss)
        self.hook.step()
        if self.hook.should_stop:
            trainer.should_stop = True

    def on_validation_batch_start(self, trainer: Any, pl_module: Any, *_: Any) -> None:
        """Begin a step, unless the trainer only tries out whether validation works."""
        if not trainer.sanity_checking:
            self._begin(pl_module, ModeKeys.EVAL)

    def on_validation_batch_end(self, trainer: Any, *_: Any) -> None:
        """End the step."""
        if not trainer.sanity_checking:
            self.hook.step()

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """Save what the module has logged."""
        for name, value in trainer.logged_metrics.items():
            self.hook.save_scalar(name, value)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """Write what is left, and leave the module as it was."""
        self.hook.close()

    def _begin(self, module: Any, mode: ModeKeys) -> None:
        self.hook.set_mode(mode)
        self.hook.begin_step(module)
