"""A loop of one's own with accelerate."""

from __future__ import annotations

import pytest

accelerate = pytest.importorskip("accelerate")

import torch  # noqa: E402
from torch import nn  # noqa: E402

from sagemaker_debug_ext.trials import create_trial  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def train(hook):
    torch.manual_seed(0)
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.utils.data.DataLoader(torch.randn(16, 3), batch_size=2)
    model, optimizer, data = accelerator.prepare(model, optimizer, data)
    if hook is not None:
        hook.register_module(accelerator.unwrap_model(model))
    for batch in data:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch).square().mean())
            optimizer.step()
            optimizer.zero_grad()
        if hook is not None and accelerator.sync_gradients:
            hook.step()
    return accelerator.unwrap_model(model).state_dict()


def test_loop_when_gradients_accumulate_then_each_update_is_a_step(make_hook):
    """Steps are updates; training ends the same to the bit."""
    without = train(None)
    hook = make_hook(explicit_steps=True, detect_losses=True)
    attached = train(hook)
    hook.close()
    assert hook.failure is None
    assert all(torch.equal(tensor, attached[name]) for name, tensor in without.items())
    trial = create_trial(hook.out_dir)
    assert trial.steps() == [0, 1, 2, 3]
    assert {"Linear_weight", "gradient/Linear_weight", "loss_output_0", "loss_output_1"} <= set(trial.tensor_names())
