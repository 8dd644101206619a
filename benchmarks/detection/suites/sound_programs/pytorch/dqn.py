import math
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from collections import deque

import torch
from cart_pole import CartPole
from torch import nn, optim

torch.manual_seed(0)
random.seed(0)


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(4, 128)
        self.layer2 = nn.Linear(128, 128)
        self.layer3 = nn.Linear(128, 2)

    def forward(self, x):
        return self.layer3(torch.relu(self.layer2(torch.relu(self.layer1(x)))))


policy, target = DQN(), DQN()
target.load_state_dict(policy.state_dict())
opt = optim.AdamW(policy.parameters(), lr=3e-4, amsgrad=True)
mem = deque(maxlen=10000)
env = CartPole()
steps = 0
for ep in range(35):
    s = env.reset()
    done = False
    while not done:
        eps = 0.01 + 0.89 * math.exp(-steps / 1000)
        steps += 1
        if random.random() > eps:
            with torch.no_grad():
                a = policy(torch.tensor([s])).argmax(1).item()
        else:
            a = random.randrange(2)
        n, r, done = env.step(a)
        mem.append((s, a, n, r, done))
        s = n
        if len(mem) < 128:
            continue
        b = random.sample(mem, 128)
        S, A, N, R, D = (torch.tensor(z, dtype=torch.float32) for z in zip(*b))
        q = policy(S).gather(1, A.long()[:, None])
        with torch.no_grad():
            nxt = target(N).max(1).values * (1 - D)
        loss = nn.SmoothL1Loss()(q, (R + 0.99 * nxt)[:, None])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(policy.parameters(), 100)
        opt.step()
        ts, ps = target.state_dict(), policy.state_dict()
        for k in ps:
            ts[k] = ps[k] * 0.005 + ts[k] * 0.995
        target.load_state_dict(ts)
    if ep % 5 == 4:
        print(ep, env.t)
