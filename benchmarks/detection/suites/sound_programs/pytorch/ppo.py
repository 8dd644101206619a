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


class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
        self.critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    def act(self, s):
        d = Categorical(logits=self.actor(s))
        a = d.sample()
        return a, d.log_prob(a), self.critic(s)

    def evaluate(self, s, a):
        d = Categorical(logits=self.actor(s))
        return d.log_prob(a), self.critic(s).squeeze(-1), d.entropy()


ac = AC()
opt = torch.optim.Adam(ac.parameters(), 3e-3, eps=1e-5)
env = CartPole()
s = env.reset()
ep = 0
lens = []
for it in range(10):
    S, A, LP, V, R, D = [], [], [], [], [], []
    for _ in range(256):
        with torch.no_grad():
            a, lp, v = ac.act(torch.tensor(s))
        n, r, done = env.step(a.item())
        S.append(s)
        A.append(a)
        LP.append(lp)
        V.append(v.item())
        R.append(r)
        D.append(done)
        ep += 1
        s = n
        if done:
            lens.append(ep)
            ep = 0
            s = env.reset()
    with torch.no_grad():
        nv = ac.critic(torch.tensor(s)).item()
    adv, g = [0.0] * 256, 0.0
    for t in reversed(range(256)):
        nn_ = nv if t == 255 else V[t + 1]
        m = 1 - D[t]
        delta = R[t] + 0.99 * nn_ * m - V[t]
        g = delta + 0.99 * 0.95 * m * g
        adv[t] = g
    S, A, LP, adv = torch.tensor(S), torch.stack(A), torch.stack(LP), torch.tensor(adv)
    ret = adv + torch.tensor(V)
    for _ in range(4):
        for i in torch.randperm(256).split(64):
            lp, v, ent = ac.evaluate(S[i], A[i])
            ratio = (lp - LP[i]).exp()
            a = (adv[i] - adv[i].mean()) / (adv[i].std() + 1e-8)
            pl = -torch.min(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
            loss = pl + 0.5 * nn.functional.mse_loss(v, ret[i]) - 0.01 * ent.mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(ac.parameters(), 0.5)
            opt.step()
    print(it, sum(lens[-10:]) / max(1, len(lens[-10:])))
