"""Hooks for trainers."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import sagemaker_debug_ext.pytorch as smd  # noqa: E402

torch.set_num_threads(1)


@pytest.fixture
def make_hook(tmp_path, monkeypatch):
    """Make a hook that saves every step of everything named."""
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")
    monkeypatch.delenv("TRAINING_JOB_NAME", raising=False)
    made = []

    def make(**arguments):
        arguments.setdefault("include_collections", ["weights", "gradients"])
        hook = smd.Hook(tmp_path / "out", save_config=smd.SaveConfig(save_interval=1), strict=True, **arguments)
        made.append(hook)
        return hook

    yield make
    for hook in made:
        hook.strict = False
        hook.close()
    smd.del_hook()
