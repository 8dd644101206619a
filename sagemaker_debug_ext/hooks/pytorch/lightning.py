"""The hook as a callback of Lightning's `Trainer`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import torch
from lightning.pytorch import Callback
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from sagemaker_debug_ext.hooks.pytorch.hook import Hook
from sagemaker_debug_ext.hooks.pytorch.module_hooks import HookCallback
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

_LOSS: Final = "loss"
"""Name under which the loss of a batch is saved, and of the part of many modules that computes it."""


class DebuggerCallback(Callback):  # type: ignore[misc]
    """Captures what a `Trainer` trains: ``Trainer(..., callbacks=[DebuggerCallback()])``.

    A step is one batch, of training or of validation. Its loss is saved as ``loss_output_0``, what the module logs at
    the end of an epoch as scalars. If a part of the module that is called ``loss`` has another output, that is
    ``loss_output_0``, and the loss of the batch ``loss_output_1``. The hook is closed when fitting ends.

    Args:
        hook: The hook; one made from the hook configuration file when not given.

    Raises:
        FileNotFoundError: No hook is given, and there is no configuration file.
    """

    def __init__(self, hook: Hook | None = None) -> None:
        self.hook = Hook.create_from_json_file() if hook is None else hook
        self.hook.explicit_steps = True
        self._output_of_loss: Any = None
        self._handle: RemovableHandle | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """Register the module, once the trainer has tried out whether validation works: that makes no steps."""
        self.hook.register_module(pl_module)
        part = getattr(pl_module, _LOSS, None)
        if isinstance(part, nn.Module):
            self._handle = part.register_forward_hook(HookCallback(self._on_loss))

    def on_train_batch_start(self, trainer: Any, pl_module: Any, *_: Any) -> None:  # noqa: ARG002
        """Begin a step; the module is not called as such, only its `training_step`."""
        self._begin(pl_module, ModeKeys.TRAIN)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, *_: Any) -> None:  # noqa: ARG002
        """Save the loss and end the step. Stop training if a rule of a self-managed job asks for it."""
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        if isinstance(loss, Tensor) and not self._is_saved(loss):
            self.hook.record_tensor_value(_LOSS, loss)
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
        """Close the hook: write the rest, and detach from the module."""
        self.hook.close()
        if self._handle is not None:
            self._handle.remove()

    def _begin(self, module: Any, mode: ModeKeys) -> None:
        self._output_of_loss = None
        self.hook.set_mode(mode)
        self.hook.begin_step(module)

    def _on_loss(self, module: nn.Module, inputs: Any, output: Any) -> None:  # noqa: ARG002
        self._output_of_loss = output

    def _is_saved(self, loss: Tensor) -> bool:
        """Return whether the module's part ``loss`` has the same output, which is saved under the same name."""
        output = self._output_of_loss
        if not isinstance(output, Tensor) or output.shape != loss.shape:
            return False
        # The comparison waits for the device, so only steps that save the loss make it.
        is_due = self.hook.should_save_tensor_or_collection(f"{_LOSS}_output_0", CollectionKeys.LOSSES)
        return is_due and torch.equal(output.detach(), loss.detach())
