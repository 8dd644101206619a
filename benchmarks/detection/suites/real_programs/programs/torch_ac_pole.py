"""An actor and a critic balance a pole on a cart.

``torch.tensor`` makes a new tensor of the log probabilities, so the actor gets no gradient (fixed: ``torch.stack``).
"""

import math
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
rng = np.random.RandomState(7)
torch.manual_seed(7)


class Pole:
    def reset(self):
        self.s = rng.uniform(-0.05, 0.05, 4)
        self.t = 0
        return self.s.astype("float32")

    def step(self, a):
        x, v, th, w = self.s
        force = 10.0 if a == 1 else -10.0
        c, s = math.cos(th), math.sin(th)
        tmp = (force + 0.05 * w * w * s) / 1.1
        thacc = (9.8 * s - c * tmp) / (0.5 * (4.0 / 3.0 - 0.1 * c * c / 1.1))
        xacc = tmp - 0.05 * thacc * c / 1.1
        self.s = np.array([x + 0.02 * v, v + 0.02 * xacc, th + 0.02 * w, w + 0.02 * thacc])
        self.t += 1
        fell = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095
        return self.s.astype("float32"), 1.0, fell or self.t >= 70


actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optim = torch.optim.Adam(list(actor.parameters()) + list(critic.parameters()), lr=0.01)
env = Pole()
gamma = 0.98
scores = []

for episode in range(115):
    state = env.reset()
    log_probs, values, rewards = [], [], []
    done = False
    while not done:
        st = torch.from_numpy(state)
        dist = torch.distributions.Categorical(logits=actor(st))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        values.append(critic(st).squeeze(-1))
        state, r, done = env.step(action.item())
        rewards.append(r)

    rets, g = [], 0.0
    for r in reversed(rewards):
        g = r + gamma * g
        rets.insert(0, g / 50)
    rets = torch.tensor(rets)

    log_probs = torch.stack(log_probs) if fixed else torch.tensor(log_probs)
    values = torch.stack(values)
    advs = rets - values.detach()
    if len(advs) > 1:
        advs = (advs - advs.mean()) / (advs.std() + 1e-6)
    policy_loss = -(log_probs * advs).mean()
    val_loss = functional.mse_loss(values, rets)
    loss = policy_loss + val_loss
    optim.zero_grad()
    loss.backward()
    optim.step()

    scores.append(sum(rewards))
    if episode % 25 == 24:
        print(f"episode {episode + 1} mean score {np.mean(scores[-25:]):.1f} value loss {val_loss.item():.4f}")

print("RESULT mean_score", f"{np.mean(scores[-20:]):.2f}")
