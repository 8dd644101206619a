"""PPO on cart-pole (own copy of the classic environment, vectorised over 16 copies), with GAE."""

import math

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)


class CartPoles:
    def __init__(self, n):
        self.n = n
        self.s = torch.empty(n, 4).uniform_(-0.05, 0.05)
        self.t = torch.zeros(n)

    def step(self, a):
        x, xd, th, thd = self.s.unbind(1)
        force = torch.where(a == 1, 10.0, -10.0)
        c, s = th.cos(), th.sin()
        tmp = (force + 0.05 * thd**2 * s) / 1.1
        tha = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c**2 / 1.1))
        xa = tmp - 0.05 * tha * c / 1.1
        self.s = torch.stack([x + 0.02 * xd, xd + 0.02 * xa, th + 0.02 * thd, thd + 0.02 * tha], 1)
        self.t += 1
        fail = (self.s[:, 0].abs() > 2.4) | (self.s[:, 2].abs() > 12 * math.pi / 180)
        trunc = (self.t >= 500) & ~fail
        last = self.s.clone()
        length = self.t.clone()
        done = fail | trunc
        self.s[done] = torch.empty(int(done.sum()), 4).uniform_(-0.05, 0.05)
        self.t[done] = 0
        return self.s.clone(), last, fail, trunc, length[done]


def ortho(l, g):
    nn.init.orthogonal_(l.weight, g)
    nn.init.zeros_(l.bias)
    return l


actor = nn.Sequential(
    ortho(nn.Linear(4, 64), 2**0.5),
    nn.Tanh(),
    ortho(nn.Linear(64, 64), 2**0.5),
    nn.Tanh(),
    ortho(nn.Linear(64, 2), 0.01),
)
critic = nn.Sequential(
    ortho(nn.Linear(4, 64), 2**0.5),
    nn.Tanh(),
    ortho(nn.Linear(64, 64), 2**0.5),
    nn.Tanh(),
    ortho(nn.Linear(64, 1), 1.0),
)
params = list(actor.parameters()) + list(critic.parameters())
opt = torch.optim.Adam(params, lr=1e-3, eps=1e-5)
N, H, GAMMA, LAM, CLIP, UPDATES = 16, 64, 0.99, 0.95, 0.2, 60
env = CartPoles(N)
obs = env.s.clone()
for upd in range(UPDATES):
    for g in opt.param_groups:
        g["lr"] = 1e-3 * (1 - upd / UPDATES)
    O, A, LP, V, NV, D = [], [], [], [], [], []
    lengths = []
    with torch.no_grad():
        for _ in range(H):
            dist = Categorical(logits=actor(obs))
            a = dist.sample()
            nxt, last, fail, trunc, ln = env.step(a)
            O.append(obs)
            A.append(a)
            LP.append(dist.log_prob(a))
            V.append(critic(obs).squeeze(1))
            NV.append(critic(last).squeeze(1) * (~fail).float())
            D.append((fail | trunc).float())
            lengths.append(ln)
            obs = nxt
        adv, run = [], torch.zeros(N)  # the reward of 1 per step is scaled by 0.1
        for t in reversed(range(H)):
            delta = 0.1 + GAMMA * NV[t] - V[t]
            run = delta + GAMMA * LAM * (1 - D[t]) * run
            adv.insert(0, run)
    O, A, LP, V, adv = (torch.cat(z) for z in (O, A, LP, V, adv))
    ret = adv + V
    for _ in range(4):
        for idx in torch.randperm(N * H).split(256):
            dist = Categorical(logits=actor(O[idx]))
            ratio = (dist.log_prob(A[idx]) - LP[idx]).exp()
            ad = adv[idx]
            ad = (ad - ad.mean()) / (ad.std() + 1e-8)
            pg = -torch.min(ratio * ad, ratio.clamp(1 - CLIP, 1 + CLIP) * ad).mean()
            vf = 0.5 * (critic(O[idx]).squeeze(1) - ret[idx]).pow(2).mean()
            loss = pg + 0.5 * vf - 0.01 * dist.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(params, 0.5)
            opt.step()
    ln = torch.cat(lengths)
    if (upd + 1) % 5 == 0:
        print(
            f"update {upd + 1} episodes {len(ln)} mean length {ln.mean().item() if len(ln) else float('nan'):.1f} "
            f"vf {vf.item():.3f}"
        )

# greedy evaluation, 32 fresh episodes
env = CartPoles(32)
o, final = env.s.clone(), torch.zeros(32)
with torch.no_grad():
    for t in range(500):
        alive = final == 0
        o, _, fail, trunc, _ = env.step(actor(o).argmax(1))
        final[alive & (fail | trunc)] = t + 1
print(f"RESULT mean_return {final.mean().item():.2f}")
