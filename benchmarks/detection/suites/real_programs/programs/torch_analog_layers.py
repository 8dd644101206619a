"""A stack of layers, as for an analog chip, learns from readings of sensors.

The gradients are never reset, and add up over the epochs (fixed: ``zero_grad`` in each step).
"""

import sys

import torch
from torch.nn import Linear, Sequential, Sigmoid
from torch.nn.functional import mse_loss
from torch.optim import SGD

fixed = "--fixed" in sys.argv
torch.manual_seed(11)

# four sensor readings, two quantities to be predicted
x = torch.rand(300, 4)
mix = torch.tensor([[0.8, -0.6], [-0.5, 0.9], [0.7, 0.4], [-0.9, 0.3]])
y = torch.tanh((x - 0.5) @ mix * 2) * 0.5 + 0.5 + 0.03 * torch.randn(300, 2)
x_test, y_test = x[240:], y[240:]
x, y = x[:240], y[:240]

model = Sequential(
    Linear(4, 12),
    Sigmoid(),
    Linear(12, 8),
    Sigmoid(),
    Linear(8, 2),
)

opt = SGD(model.parameters(), lr=0.5)

for epoch in range(1500):
    if fixed:
        opt.zero_grad()
    pred = model(x)
    loss = mse_loss(pred, y)
    loss.backward()
    opt.step()
    if epoch % 50 == 0:
        print(f"{epoch} - Loss: {loss.item():.6f}")

with torch.no_grad():
    err = mse_loss(model(x_test), y_test).item()
r2 = 1 - err / y_test.var(0, unbiased=False).mean().item()
print("RESULT test_r2", f"{r2:.4f}")
