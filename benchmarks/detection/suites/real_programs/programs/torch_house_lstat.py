"""A line gives prices of houses by the share of poor households around.

Outputs of shape (N, 1) are compared with targets of shape (N,), each with each, so the line becomes the mean
(fixed: targets of shape (N, 1)).
"""

import sys

import numpy as np
import torch
from torch import nn, optim
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
lstat = rng.gamma(3.1, 4.1, 506).clip(1.7, 38)
medv_np = (34.5 - 0.95 * lstat + 6 * np.exp(-lstat / 6) + rng.normal(0, 5, 506)).clip(5, 50)
table = torch.tensor(np.stack([lstat, medv_np], 1), dtype=torch.float32)


class LinearRegressionModule(nn.Module):
    def __init__(self, num_features):
        super().__init__()
        self.register_parameter("weights", nn.Parameter(torch.rand((num_features, 1)) * 0.01))
        self.register_parameter("bias", nn.Parameter(torch.randn(1) * 0.01))

    def forward(self, inputs):
        return torch.matmul(inputs, self.weights) + self.bias


def train(inputs, targets, total_epoches=9000):
    mod = LinearRegressionModule(inputs.shape[1])
    optimizer = optim.AdamW(mod.parameters(), lr=0.01)
    for step in range(total_epoches):
        outputs = mod.forward(inputs)
        loss = functional.mse_loss(outputs, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 1000 == 0:
            print(f"step={step} loss={loss.item():.3f}")
    print(f"results: y = x * {mod.weights.item():.4f} + {mod.bias.item():.4f}")
    return mod


inputs = table[:, 0:1]
medv = table[:, 1:2] if fixed else table[:, 1]
mod = train(inputs, medv)
with torch.no_grad():
    pred = mod(inputs).numpy().ravel()
r2 = 1 - ((pred - table[:, 1].numpy()) ** 2).sum() / ((table[:, 1].numpy() - table[:, 1].numpy().mean()) ** 2).sum()
print("RESULT r2", round(float(r2), 4))
