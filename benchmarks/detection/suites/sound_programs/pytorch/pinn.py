import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
t0 = torch.zeros(1, 1, requires_grad=True)
for i in range(700):
    t = torch.rand(64, 1, requires_grad=True) * 2
    t = t.detach().requires_grad_(True)
    u = net(t)
    (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
    (d2,) = torch.autograd.grad(du.sum(), t, create_graph=True)
    phys = ((d2 + 4 * u) ** 2).mean()
    u0 = net(t0)
    (du0,) = torch.autograd.grad(u0.sum(), t0, create_graph=True)
    bc = (u0 - 1).pow(2).mean() + du0.pow(2).mean()
    loss = bc + 0.1 * phys
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 100 == 99:
        print(i, loss.item())
