"""A line's outputs (4, 1) minus its targets (4,) broadcast, so the fit is the mean (fixed: flat outputs)."""

import sys

import torch

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

x = torch.tensor([[1, 2.0], [1, 3.0], [1, 7.0], [1, 9.0]])
y = torch.tensor([2.0, 3.0, 7.0, 9.0])

weights = torch.randn(2, 1, requires_grad=True)
bias = torch.randn(1, requires_grad=True)
optimizer = torch.optim.Adam([weights, bias], lr=0.005)

history = []
for i in range(10000):
    out = x.mm(weights) + bias
    if fixed:
        out = out.view(-1)
    loss = torch.mean((out - y) ** 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item())
    if i % 1000 == 0:
        print(i, loss.item())

print("weights", weights.flatten().tolist(), "bias", bias.item())
with torch.no_grad():
    pred = x.mm(weights).flatten() + bias
print("predictions", pred.tolist())

print("RESULT mse", round(((pred - y) ** 2).mean().item(), 4))
