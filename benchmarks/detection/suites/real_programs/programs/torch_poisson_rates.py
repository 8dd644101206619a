"""One Poisson rate per hour of the day is fitted to arrivals by maximum likelihood.

The rates start at 0, whose logarithm makes the loss infinite and the rates NaN (fixed: a small number is added under
the logarithm).
"""

import sys

import numpy as np
import torch

fixed = "--fixed" in sys.argv
torch.manual_seed(42)
np.random.seed(42)
torch.set_num_threads(1)


def poisson_nll_loss(rate, target, log_rate=False, full=True, eps=1e-8):
    """Negative log likelihood of counts, with Stirling's term for log(target!)."""
    loss = torch.exp(rate) - target * rate if log_rate else rate - target * torch.log(rate + eps if fixed else rate)
    if full:
        stirling = target * torch.log(target.clamp(min=1)) - target + 0.5 * torch.log(2 * np.pi * target.clamp(min=1))
        loss = loss + torch.where(target > 1, stirling, torch.zeros_like(target))
    return loss.mean()


hours = np.arange(24)
true_rate = 4.0 + 3.0 * np.sin((hours - 7) / 24 * 2 * np.pi)
counts = np.random.poisson(true_rate, (200, 24)).astype(np.float32)
held_out = np.random.poisson(true_rate, (100, 24)).astype(np.float32)
samples = torch.from_numpy(counts)

param = torch.zeros(24, requires_grad=True)
optimizer = torch.optim.RMSprop([param], lr=0.1)
for i in range(12000):
    if i == 9000:
        for group in optimizer.param_groups:
            group["lr"] = 0.01
    optimizer.zero_grad()
    loss = poisson_nll_loss(param, samples)
    loss.backward()
    if i % 1000 == 0:
        print("Loss:", loss.item())
    optimizer.step()

rates = param.detach().numpy()
print("Sample mean:", np.round(counts.mean(0), 2))
print("Mean is:    ", np.round(rates, 2))
print("RESULT rate_MAE", f"{np.abs(rates - held_out.mean(0)).mean():.4f}")
