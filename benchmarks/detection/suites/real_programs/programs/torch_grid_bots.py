"""REINFORCE trains bots to move on a 25x25 grid and acquire targets.

The learning rate of 0.03 is far too large for the noisy policy gradient: within a few updates the policy becomes
nearly the same for every state and the bots run into a wall (fixed: 0.001).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(4)
rng = np.random.RandomState(4)

SIZE, STEPS, BOTS = 25, 20, 16
dirs = np.array([(dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if (dx, dy) != (0, 0)])
N_ACTIONS = 17


class Grid:
    def reset(self):
        self.bot = rng.randint(0, SIZE, (BOTS, 2))
        self.target = self.place(self.bot)
        return self.state()

    def place(self, bot):
        return np.clip(bot + rng.randint(-5, 6, bot.shape), 0, SIZE - 1)

    def state(self):
        d = self.target - self.bot
        near = (np.abs(d).max(1, keepdims=True) <= 1).astype(float)
        x = np.concatenate([d / 5, np.sign(d), near, self.bot / (SIZE - 1) * 2 - 1], 1)
        return torch.tensor(x, dtype=torch.float32)

    def step(self, action):
        reward = np.zeros(BOTS)
        for b, a in enumerate(action):
            old = np.abs(self.target[b] - self.bot[b]).sum()
            if 1 <= a <= 8:
                new = self.bot[b] + dirs[a - 1]
                if new.min() < 0 or new.max() >= SIZE:
                    reward[b] = -0.5
                else:
                    self.bot[b] = new
                    now = np.abs(self.target[b] - new).sum()
                    reward[b] = 1 if now < old else -1
            elif a > 8:
                if (self.bot[b] + dirs[a - 9] == self.target[b]).all():
                    reward[b] = 10
                    self.target[b] = self.place(self.bot[b : b + 1])[0]
                else:
                    reward[b] = -0.5
        return self.state(), reward


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1 = nn.Linear(7, 64)
        self.linear2 = nn.Linear(64, 64)
        self.linear_final = nn.Linear(64, N_ACTIONS)

    def forward(self, x):
        x = functional.relu(self.linear1(x))
        x = functional.relu(self.linear2(x))
        return functional.softmax(self.linear_final(x), dim=1)


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=0.001 if FIXED else 0.03)
env = Grid()
gamma = 0.6
history = []

for episode in range(450):
    state = env.reset()
    logps, rewards = [], []
    for _ in range(STEPS):
        dist = Categorical(policy(state))
        action = dist.sample()
        logps.append(dist.log_prob(action))
        state, reward = env.step(action.numpy())
        rewards.append(reward)
    returns, R = [], np.zeros(BOTS)
    for r in rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(np.stack(returns), dtype=torch.float32)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = -(torch.stack(logps) * returns).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(np.sum(rewards) / BOTS)
    if (episode + 1) % 50 == 0:
        print(f"episode {episode + 1} reward {np.mean(history[-50:]):.3f}")

print("RESULT episode_reward", f"{np.mean(history[-50:]):.4f}")
