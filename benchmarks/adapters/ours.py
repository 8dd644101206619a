"""Puts this package behind the training benchmark."""

from __future__ import annotations

from typing import Any

import sagemaker_debug_ext.pytorch as smd

NAME = "sagemaker_debug_ext"


def attach(out_dir: str, interval: int, collections: list[str], reductions: list[str], model: Any, loss: Any) -> Any:
    """Return a hook that is attached to a model and its loss."""
    config = None
    if reductions:
        norms = [name for name in reductions if name in ("l1", "l2")]
        config = smd.ReductionConfig(reductions=[name for name in reductions if name not in norms], norms=norms)
    hook = smd.Hook(
        out_dir,
        save_config=smd.SaveConfig(save_interval=interval),
        include_collections=collections,
        reduction_config=config,
    )
    hook.register_module(model)
    hook.register_loss(loss)
    hook.set_mode(smd.modes.TRAIN)
    return hook


def wait(hook: Any) -> None:
    """Wait until all that the hook was given is written."""
    hook._dispatcher.output.flush()  # noqa: SLF001 - scripts have no reason to wait, and so no way to
