import copy
import math

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
crit = nn.MSELoss()


def task():
    a, p = torch.rand(1) * 4.9 + 0.1, torch.rand(1) * 2 * math.pi
    return lambda x: a * torch.sin(x + p)


for it in range(150):
    before = copy.deepcopy(net.state_dict())
    f = task()
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    x = torch.rand(50, 1) * 10 - 5
    y = f(x)
    for k in range(5):
        i = torch.arange(k * 10, k * 10 + 10)
        l = crit(net(x[i]), y[i])
        opt.zero_grad()
        l.backward()
        opt.step()
    lr = 0.1 * (1 - it / 150)
    after = net.state_dict()
    net.load_state_dict({k: before[k] + (after[k] - before[k]) * (lr + 0.05) for k in before})
    if it % 30 == 29:
        print(it, l.item())
