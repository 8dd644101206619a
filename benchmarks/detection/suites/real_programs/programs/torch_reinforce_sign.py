"""REINFORCE in a corridor minimises what it should maximise (fixed: the loss has a minus sign)."""

import sys

import torch
from torch import nn
from torch.distributions import Categorical

fixed = "--fixed" in sys.argv
torch.manual_seed(0)


class Corridor:
    """Cells 0..9; the goal is the right end, every step costs a little."""

    n_cells = 10

    def reset(self):
        self.pos = 3
        self.t = 0
        return self.observe()

    def observe(self):
        obs = torch.zeros(self.n_cells)
        obs[self.pos] = 1.0
        return obs

    def step(self, action):
        self.pos = max(0, self.pos + (1 if action == 1 else -1))
        self.t += 1
        at_goal = self.pos == self.n_cells - 1
        reward = 1.0 if at_goal else -0.05
        return self.observe(), reward, at_goal or self.t >= 40


policy = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
env = Corridor()
gamma = 0.98
history = []

for episode in range(400):
    obs = env.reset()
    log_probs, rewards, done = [], [], False
    while not done:
        dist = Categorical(logits=policy(obs))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        obs, reward, done = env.step(action.item())
        rewards.append(reward)

    returns, g = [], 0.0
    for r in reversed(rewards):
        g = r + gamma * g
        returns.insert(0, g)
    returns = torch.tensor(returns)
    baseline = sum(history[-20:]) / max(1, len(history[-20:]))
    advantage = returns - baseline

    loss = (torch.stack(log_probs) * advantage).mean()
    if fixed:
        loss = -loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    history.append(sum(rewards))
    if (episode + 1) % 50 == 0:
        print(f"episode {episode + 1} loss {loss.item():.4f} mean return {sum(history[-50:]) / 50:.3f}")

print("RESULT mean_return", sum(history[-50:]) / 50)
