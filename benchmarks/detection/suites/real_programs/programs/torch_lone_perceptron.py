"""One linear unit with a thousand inputs is fitted to 64 random points: how far down does the loss go?

The rate of Adam never decays, which is unstable once the loss is near 0, so the loss climbs again (fixed: it decays by
0.5 % a step). The result is the mean loss of the last 5000 steps.
"""

import sys

import torch

fixed = "--fixed" in sys.argv
torch.manual_seed(545345)
N, D_in, D_out = 64, 1000, 1
x = torch.randn(N, D_in)
y = torch.randn(N, D_out)

model = torch.nn.Linear(D_in, D_out)
loss_fn = torch.nn.MSELoss(reduction="sum")
optimizer = torch.optim.Adam(model.parameters())
scheduler = None
if fixed:
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.995)

tail = []
for t in range(20000):
    loss = loss_fn(model(x), y)
    if t % 1000 == 0:
        print(t, loss.item())
    if t >= 15000:
        tail.append(loss.item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if scheduler:
        scheduler.step()
print("RESULT mean_late_loss", f"{sum(tail) / len(tail):.3e}")
