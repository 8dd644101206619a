"""Steps by hand on two tensors whose gradients are never reset (fixed: set to zero after each step)."""

import sys

import torch

fixed = "--fixed" in sys.argv
torch.manual_seed(10)

lr = 0.05
x = torch.rand(20, 1) * 10
y = 2 * x + (5 + torch.randn(20, 1))

w = torch.randn(1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)

for iteration in range(1000):
    y_pred = torch.add(torch.mul(w, x), b)
    loss = (0.5 * (y - y_pred) ** 2).mean()
    loss.backward()

    w.data.sub_(lr * w.grad)
    b.data.sub_(lr * b.grad)
    if fixed:
        w.grad.zero_()
        b.grad.zero_()

    if iteration % 100 == 0:
        print(f"iteration {iteration}: loss {loss.item():.4f}  w {w.item():.3f}  b {b.item():.3f}")

with torch.no_grad():
    final = (0.5 * (y - (w * x + b)) ** 2).mean()
print(f"final loss {final.item():.4f}  w {w.item():.3f}  b {b.item():.3f}")

print("RESULT loss", final.item())
