"""A two-layer network of ``torch.nn`` modules learns ten outputs by gradient descent on the summed squared error.

The learning rate of 1e-6 is that of an earlier version with matrices, far too small for the initial weights of the
modules (fixed: 1e-4).
"""

import sys

import torch

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)

N, D_in, H, D_out = 64, 100, 100, 10

teacher = torch.nn.Sequential(torch.nn.Linear(D_in, 20), torch.nn.Tanh(), torch.nn.Linear(20, D_out))
with torch.no_grad():
    for p in teacher.parameters():
        p.normal_(0, 1.0 / p.shape[-1] ** 0.5)
    x_all = torch.randn(5000, D_in)
    y_all = teacher(x_all)
x_train, y_train = x_all[:4480], y_all[:4480]
x_test, y_test = x_all[4480:], y_all[4480:]

model = torch.nn.Sequential(
    torch.nn.Linear(D_in, H),
    torch.nn.ReLU(),
    torch.nn.Linear(H, D_out),
)
loss_fn = torch.nn.MSELoss(reduction="sum")

learning_rate = 1e-4 if FIXED else 1e-6
step = 0
for _epoch in range(80):
    order = torch.randperm(len(x_train))
    for i in range(0, len(x_train), N):
        idx = order[i : i + N]
        y_pred = model(x_train[idx])
        loss = loss_fn(y_pred, y_train[idx])
        if step % 500 == 0:
            print(step, loss.item())
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for param in model.parameters():
                param.sub_(learning_rate * param.grad)
        step += 1

with torch.no_grad():
    residual = ((model(x_test) - y_test) ** 2).sum()
    r2 = 1 - residual / ((y_test - y_test.mean(0)) ** 2).sum()
print("RESULT test_r2", f"{r2.item():.4f}")
