"""A network predicts a decay time from noisy counts, with a logarithm between its layers.

The logarithm is taken of activations behind a ReLU, many of which are 0, so everything becomes NaN (fixed: a small
number is added under the logarithm).
"""

import sys

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)


def make(n, seed):
    g = torch.Generator().manual_seed(seed)
    tau = 0.5 + 2.5 * torch.rand(n, 1, generator=g)
    amp = 0.5 + torch.rand(n, 1, generator=g)
    t = torch.linspace(0.1, 4, 20).unsqueeze(0)
    signal = amp * torch.exp(-t / tau) + 0.01 * torch.randn(n, 20, generator=g)
    return signal, torch.log(tau)


class LogNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(20, 32)
        self.hidden = nn.Linear(32, 32)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        t = self.mix(x)
        t = functional.relu(t)
        t = torch.log(t + 1e-2 if fixed else t)
        t = functional.relu(self.hidden(t))
        return self.out(t)


x_train, y_train = make(2000, 1)
x_val, y_val = make(500, 2)
loader = DataLoader(
    TensorDataset(x_train, y_train), batch_size=64, shuffle=True, generator=torch.Generator().manual_seed(0)
)
model = LogNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()

for epoch in range(60):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    model.eval()
    with torch.no_grad():
        val = criterion(model(x_val), y_val).item()
    if epoch % 10 == 9 or epoch == 0:
        print(f"epoch {epoch} train {total / len(x_train):.5f} val {val:.5f}")
print("RESULT val_mse", f"{val:.5f}")
