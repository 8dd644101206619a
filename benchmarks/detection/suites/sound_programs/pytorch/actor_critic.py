import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import torch
import torch.nn.functional as F
from cart_pole import CartPole
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(543)
random.seed(543)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 128)
        self.action_head = nn.Linear(128, 2)
        self.value_head = nn.Linear(128, 1)

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


env = CartPole()
model = Policy()
opt = torch.optim.Adam(model.parameters(), lr=3e-2)
run = 10
for ep in range(60):
    s = env.reset()
    saved, rewards = [], []
    done = False
    while not done:
        probs, v = model(torch.tensor(s))
        m = Categorical(probs)
        a = m.sample()
        saved.append((m.log_prob(a), v))
        s, r, done = env.step(a.item())
        rewards.append(r)
    R, rets = 0, []
    for r in rewards[::-1]:
        R = r + 0.99 * R
        rets.insert(0, R)
    rets = torch.tensor(rets)
    rets = (rets - rets.mean()) / (rets.std() + 1e-6)
    pl = [-lp * (R - v.item()) for (lp, v), R in zip(saved, rets)]
    vl = [F.smooth_l1_loss(v, R.view(1)) for (_, v), R in zip(saved, rets)]
    opt.zero_grad()
    loss = torch.stack(pl).sum() + torch.stack(vl).sum()
    loss.backward()
    opt.step()
    run = 0.05 * sum(rewards) + 0.95 * run
    if ep % 10 == 9:
        print(ep, sum(rewards), run)
