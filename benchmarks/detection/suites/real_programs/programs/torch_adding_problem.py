"""An LSTM learns the adding problem, the sum of the two marked numbers of a sequence.

The batches are laid out as (batch, time, feature), but nn.LSTM expects (time, batch, feature) by default, so that the
recurrence runs over the samples of the batch (fixed: the first two axes are swapped before the LSTM).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(3)
np.random.seed(3)

TIME_STEPS = 20
BATCH_SIZE = 50
HIDDEN = 64
ITERATIONS = 1600


def get_batch(batch_size=BATCH_SIZE):
    values = torch.rand(batch_size, TIME_STEPS)
    marks = torch.zeros(batch_size, TIME_STEPS)
    half = TIME_STEPS // 2
    for i in range(batch_size):
        marks[i, np.random.randint(half)] = 1
        marks[i, np.random.randint(half, TIME_STEPS)] = 1
    inputs = torch.stack((values, marks), dim=-1)
    targets = (values * marks).sum(dim=1)
    return inputs, targets


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(2, HIDDEN)
        self.lin = nn.Linear(HIDDEN, 1)

    def forward(self, x):
        if FIXED:
            y, _ = self.lstm(x.transpose(0, 1))
            return self.lin(y[-1]).squeeze(1)
        y, _ = self.lstm(x)
        return self.lin(y[:, -1]).squeeze(1)


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.002)

losses = []
for step in range(1, ITERATIONS + 1):
    data, target = get_batch()
    optimizer.zero_grad()
    out = model(data)
    loss = functional.mse_loss(out, target)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())
    if step % 200 == 0:
        print(f"MSE after {step} iterations: {np.mean(losses[-200:]):.5f}")

model.eval()
with torch.no_grad():
    errors = [functional.mse_loss(model(x), t).item() for x, t in (get_batch() for _ in range(20))]
print("RESULT test_mse", f"{np.mean(errors):.5f}")
