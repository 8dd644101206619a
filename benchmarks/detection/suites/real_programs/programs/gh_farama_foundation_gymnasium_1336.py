"""REINFORCE on a point that is pushed to the middle: returns multiply the mean of all log probabilities of an episode

(fixed: each return multiplies the log probability of its own action).
"""

import sys

import torch
from torch import nn
from torch.distributions.normal import Normal

fixed = "--fixed" in sys.argv
torch.manual_seed(1)


class PointEnv:
    """A point on a line: a push moves it, and costs as much as it is away from the middle."""

    def reset(self):
        self.position, self.time = torch.rand(1) * 2 - 1, 0
        return self.position.clone()

    def step(self, action):
        self.position = (self.position + 0.5 * action.clamp(-2, 2)).clamp(-2, 2)
        self.time += 1
        return self.position.clone(), -float(self.position.abs()), self.time == 20


class PolicyNetwork(nn.Module):
    """Mean and deviation of the action."""

    def __init__(self):
        super().__init__()
        self.shared_net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 32), nn.Tanh())
        self.policy_mean_net = nn.Sequential(nn.Linear(32, 1))
        self.policy_stddev_net = nn.Sequential(nn.Linear(32, 1))

    def forward(self, x):
        shared_features = self.shared_net(x)
        stddev = torch.log(1 + torch.exp(self.policy_stddev_net(shared_features)))
        return self.policy_mean_net(shared_features), stddev


class Reinforce:
    """The agent."""

    def __init__(self):
        self.gamma, self.eps = 0.5, 1e-6
        self.probs, self.rewards = [], []
        self.net = PolicyNetwork()
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=1e-2)

    def sample_action(self, state):
        mean, stddev = self.net(state)
        distribution = Normal(mean + self.eps, stddev + self.eps)
        action = distribution.sample()
        self.probs.append(distribution.log_prob(action).sum())
        return action

    def update(self):
        running_g, gs = 0.0, []
        for reward in self.rewards[::-1]:
            running_g = reward + self.gamma * running_g
            gs.insert(0, running_g)
        deltas, log_probs = torch.tensor(gs), torch.stack(self.probs)
        if not fixed:
            log_probs = log_probs.mean()
        loss = -torch.sum(log_probs * deltas)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.probs, self.rewards = [], []


env, agent, totals = PointEnv(), Reinforce(), []
for episode in range(200):
    obs, done = env.reset(), False
    while not done:
        obs, reward, done = env.step(agent.sample_action(obs))
        agent.rewards.append(reward)
    totals.append(sum(agent.rewards))
    agent.update()
    if episode % 25 == 24:
        print(episode, sum(totals[-25:]) / 25)
print("RESULT reward", sum(totals[-50:]) / 50)
