"""REINFORCE on batches of states: the policy normalises over the batch (fixed: softmax over the actions)."""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
rng = np.random.default_rng(1)
model = nn.Sequential(nn.Linear(4, 50), nn.LeakyReLU(), nn.Linear(50, 2), nn.Softmax(dim=-1 if fixed else 0))
optimizer = torch.optim.Adam(model.parameters(), lr=0.009)


def right_actions(states):
    return (states[:, 0] * states[:, 1] + states[:, 2] > 0).astype(int)


def act(state):
    probabilities = model(torch.from_numpy(state)).detach().numpy().astype(float)
    return rng.choice(2, p=probabilities / probabilities.sum())


def reward_of(states):
    actions = np.array([act(state) for state in states])
    return actions, (actions == right_actions(states)).astype("float32")


for _ in range(300):
    states = rng.normal(size=(32, 4)).astype("float32")
    actions, rewards = reward_of(states)
    returns = torch.from_numpy(rewards - 0.5)
    chosen = model(torch.from_numpy(states)).gather(1, torch.from_numpy(actions)[:, None]).squeeze()
    loss = -torch.sum(returns * torch.log(chosen))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("RESULT reward", float(reward_of(rng.normal(size=(1000, 4)).astype("float32"))[1].mean()))
