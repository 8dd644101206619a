"""PPO in a grid world multiplies ratios (N,) by advantages (N, 1), each with each (fixed: advantages flattened)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)

SIZE, LIMIT = 7, 40
GOAL = (5, 5)
PITS = {(2, 3), (3, 3), (4, 3), (5, 2), (1, 5)}
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]


class Grid:
    def reset(self):
        while True:
            self.pos = (int(rng.integers(SIZE)), int(rng.integers(SIZE)))
            if self.pos != GOAL and self.pos not in PITS:
                break
        self.t = 0
        return self.obs()

    def obs(self):
        v = np.zeros(2 * SIZE, np.float32)
        v[self.pos[0]] = v[SIZE + self.pos[1]] = 1
        return v

    def step(self, a):
        self.t += 1
        r, c = self.pos[0] + MOVES[a][0], self.pos[1] + MOVES[a][1]
        reward, done = -0.1, False
        if 0 <= r < SIZE and 0 <= c < SIZE:
            self.pos = (r, c)
        else:
            reward -= 0.2
        if self.pos == GOAL:
            reward, done = 6.0, True
        elif self.pos in PITS:
            reward, done = -5.0, True
        return self.obs(), reward, done or self.t >= LIMIT


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * SIZE, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4))

    def forward(self, s):
        return Categorical(logits=self.net(s))


class Value(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * SIZE, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, s):
        return self.net(s)


def estimate_advantages(rewards, masks, values, gamma=0.99, tau=0.95):
    deltas = torch.zeros_like(rewards)
    advantages = torch.zeros_like(rewards)
    previous_value, previous_advantage = 0.0, 0.0
    for i in reversed(range(rewards.size(0))):
        deltas[i] = rewards[i] + gamma * previous_value * masks[i] - values[i]
        advantages[i] = deltas[i] + gamma * tau * previous_advantage * masks[i]
        previous_value, previous_advantage = values[i, 0], advantages[i, 0]
    returns = values + advantages
    advantages = (advantages - advantages.mean()) / advantages.std()
    return advantages, returns


policy, value = Policy(), Value()
opt_p = torch.optim.Adam(policy.parameters(), lr=1e-3)
opt_v = torch.optim.Adam(value.parameters(), lr=3e-3)
env = Grid()
EPS = 0.2
history = []

for it in range(1, 26):
    S, A, R, M, episodes, score = [], [], [], [], [], 0.0
    s, done = env.reset(), False
    while len(S) < 1500 or not done:
        with torch.no_grad():
            a = policy(torch.from_numpy(s)).sample().item()
        s2, r, done = env.step(a)
        S.append(s), A.append(a), R.append([r]), M.append([0.0 if done else 1.0])
        score += r
        s = s2
        if done:
            episodes.append(score)
            score, s = 0.0, env.reset()
    states, actions = torch.from_numpy(np.stack(S)), torch.tensor(A)
    rewards, masks = torch.tensor(R), torch.tensor(M)
    with torch.no_grad():
        values = value(states)
        old_log = policy(states).log_prob(actions)
    advantages, returns = estimate_advantages(rewards, masks, values)
    for _ in range(6):
        order = torch.randperm(len(states))
        for k in range(0, len(order), 250):
            b = order[k : k + 250]
            v_loss = functional.mse_loss(value(states[b]), returns[b])
            opt_v.zero_grad()
            v_loss.backward()
            opt_v.step()

            dist = policy(states[b])
            ratio = torch.exp(dist.log_prob(actions[b]) - old_log[b])
            adv = advantages[b].reshape(-1) if fixed else advantages[b]
            surr1 = ratio * adv
            surr2 = torch.clamp(ratio, 1 - EPS, 1 + EPS) * adv
            p_loss = -torch.min(surr1, surr2).mean()
            opt_p.zero_grad()
            p_loss.backward()
            opt_p.step()
    history.append(np.mean(episodes))
    if it % 5 == 0:
        print(f"iter {it}: average reward {history[-1]:.3f}, value loss {v_loss.item():.3f}")

print("RESULT average_reward", f"{np.mean(history[-3:]):.4f}")
