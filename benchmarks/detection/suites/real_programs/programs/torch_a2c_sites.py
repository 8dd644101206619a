"""An agent with actor and critic chooses machines for building sites of different sizes.

Returns [N] less values [N, 1] are advantages [N, N], which mix the samples in the loss (fixed: squeezed values).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
np.random.seed(1)
torch.manual_seed(1)

GAMMA = 0.5
BATCH_SIZE = 64
ENTROPY_BETA = 0.01
REWARD_STEPS = 1
N_ENVS = 16


class SiteEnv:
    """A site has a size for an episode; each day has weather and soil; three machines."""

    def reset(self):
        self.size = np.random.uniform(0, 30)
        self.day = 0
        return self._obs()

    def _obs(self):
        self.soil = np.random.uniform(-1, 1, 2)
        return np.array([self.size / 15 - 1, self.soil[0], self.soil[1]], dtype=np.float32)

    def step(self, action):
        best = 0 if self.soil[0] > 0.3 else (1 if self.soil[1] > 0 else 2)
        right = action == best
        reward = self.size + (0.5 if right else -0.5) + 0.1 * np.random.randn()
        self.day += 1
        return self._obs(), reward, self.day >= 15, right


class AgentNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 3))
        self.value = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.policy(x), self.value(x)


envs = [SiteEnv() for _ in range(N_ENVS)]
obs = [e.reset() for e in envs]
net = AgentNet()
optimizer = torch.optim.Adam(net.parameters(), lr=0.005)
history = []
batch = []
updates = 0

while updates < 700:
    with torch.no_grad():
        logits, _ = net(torch.from_numpy(np.stack(obs)))
        acts = torch.distributions.Categorical(logits=logits).sample().numpy()
    for i, env in enumerate(envs):
        nxt, r, done, right = env.step(int(acts[i]))
        history.append(right)
        batch.append((obs[i], int(acts[i]), r, nxt, done))
        obs[i] = env.reset() if done else nxt
    if len(batch) < BATCH_SIZE:
        continue

    states_v = torch.from_numpy(np.stack([b[0] for b in batch]))
    actions_t = torch.tensor([b[1] for b in batch])
    rewards_v = torch.tensor([b[2] for b in batch], dtype=torch.float32)
    next_v = torch.from_numpy(np.stack([b[3] for b in batch]))
    not_done = torch.tensor([0.0 if b[4] else 1.0 for b in batch])
    batch.clear()
    with torch.no_grad():
        vals_ref_v = rewards_v + GAMMA * not_done * net(next_v)[1].squeeze(-1)

    optimizer.zero_grad()
    logits_v, value_v = net(states_v)
    loss_value_v = functional.mse_loss(value_v.squeeze(-1), vals_ref_v)

    log_prob_v = functional.log_softmax(logits_v, dim=1)
    adv_v = vals_ref_v - (value_v.squeeze(-1) if fixed else value_v).detach()
    log_prob_actions_v = adv_v * log_prob_v[range(BATCH_SIZE), actions_t]
    loss_policy_v = -log_prob_actions_v.mean()
    prob_v = functional.softmax(logits_v, dim=1)
    entropy_loss_v = ENTROPY_BETA * (prob_v * log_prob_v).sum(dim=1).mean()

    loss_v = loss_policy_v + entropy_loss_v + loss_value_v
    loss_v.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    updates += 1
    if updates % 100 == 0:
        print(f"update {updates} value loss {loss_value_v.item():.3f} right machine {np.mean(history[-2000:]):.3f}")

print("RESULT right_machine", f"{np.mean(history[-3000:]):.4f}")
