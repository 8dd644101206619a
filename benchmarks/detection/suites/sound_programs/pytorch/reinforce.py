import random
import sys
from pathlib import Path

import torch
from torch import nn
from torch.distributions import Categorical

sys.path.insert(0, str(Path(__file__).parents[1]))
from cart_pole import CartPole

torch.manual_seed(1)
random.seed(1)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 128)
        self.dropout = nn.Dropout(0.6)
        self.affine2 = nn.Linear(128, 2)

    def forward(self, x):
        return torch.softmax(self.affine2(torch.relu(self.dropout(self.affine1(x)))), 1)


p = Policy()
opt = torch.optim.Adam(p.parameters(), 1e-2)
env = CartPole()
run = 10
for ep in range(80):
    s = env.reset()
    lps, rs = [], []
    done = False
    while not done:
        m = Categorical(p(torch.tensor([s])))
        a = m.sample()
        lps.append(m.log_prob(a))
        s, r, done = env.step(a.item())
        rs.append(r)
    R, ret = 0, []
    for r in rs[::-1]:
        R = r + 0.99 * R
        ret.insert(0, R)
    ret = torch.tensor(ret)
    ret = (ret - ret.mean()) / (ret.std() + 1e-6)
    loss = torch.cat([-l * g for l, g in zip(lps, ret)]).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    run = 0.05 * sum(rs) + 0.95 * run
    if ep % 10 == 9:
        print(ep, sum(rs), run)
