"""A dueling DQN on the cart-pole counts on a future after the pole has fallen, so a fall costs nothing.

The targets leave out the flag of the end (fixed: the value of the next state times one minus the flag).
"""

import math
import random
import sys
from collections import deque

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
random.seed(3)
torch.manual_seed(3)
rng = np.random.default_rng(3)


class CartPole:
    """classic control, at most 200 steps, reward 1 for each step"""

    def reset(self):
        self.s = rng.uniform(-0.05, 0.05, 4)
        self.t = 0
        return self.s.astype(np.float32)

    def step(self, action):
        x, xd, th, thd = self.s
        force = 10.0 if action == 1 else -10.0
        c, sn = math.cos(th), math.sin(th)
        temp = (force + 0.05 * thd**2 * sn) / 1.1
        tha = (9.8 * sn - c * temp) / (0.5 * (4 / 3 - 0.1 * c**2 / 1.1))
        xa = temp - 0.05 * tha * c / 1.1
        self.s = np.array([x + 0.02 * xd, xd + 0.02 * xa, th + 0.02 * thd, thd + 0.02 * tha])
        self.t += 1
        fallen = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 12 * math.pi / 180
        return self.s.astype(np.float32), 1.0, fallen, self.t >= 200


class DuelingDQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.feature = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.value = nn.Linear(64, 1)
        self.advantage = nn.Linear(64, 2)

    def forward(self, s):
        f = self.feature(s)
        a = self.advantage(f)
        return self.value(f) + a - a.mean(1, keepdim=True)


class Agent:
    def __init__(self, gamma=0.99, lr=5e-4):
        self.model, self.target = DuelingDQN(), DuelingDQN()
        self.target.load_state_dict(self.model.state_dict())
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.buffer = deque(maxlen=10000)
        self.gamma, self.steps = gamma, 0

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(2)
        with torch.no_grad():
            return int(self.model(torch.from_numpy(s)[None]).argmax())

    def compute_loss(self, batch):
        states, actions, rewards, next_states, dones = zip(*batch, strict=True)
        states = torch.from_numpy(np.stack(states))
        actions = torch.tensor(actions)[:, None]
        rewards = torch.tensor(rewards)
        next_states = torch.from_numpy(np.stack(next_states))
        dones = torch.tensor(dones, dtype=torch.float32)
        curr = self.model(states).gather(1, actions).squeeze(1)
        with torch.no_grad():
            next_q = self.target(next_states).max(1).values
        expected = rewards + (1 - dones) * self.gamma * next_q if fixed else rewards + self.gamma * next_q
        return nn.functional.smooth_l1_loss(curr, expected)

    def update(self, size):
        loss = self.compute_loss(random.sample(self.buffer, size))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        if self.steps % 300 == 0:
            self.target.load_state_dict(self.model.state_dict())
        return loss.item()


env, agent = CartPole(), Agent()
total, episode, scores, loss = 0, 0, [], 0.0
while total < 16000:
    s, score = env.reset(), 0
    over = False
    while not over:
        a = agent.act(s, max(0.02, 1 - total / 3000))
        s2, r, done, late = env.step(a)
        agent.buffer.append((s, a, r, s2, done))
        s, score, total = s2, score + r, total + 1
        over = done or late
        if len(agent.buffer) > 500:
            loss = agent.update(64)
    scores.append(score)
    episode += 1
    if episode % 40 == 0:
        print(f"episode {episode}: mean of the last 20 {np.mean(scores[-20:]):.1f}, loss {loss:.4f}")

tests = []
for _ in range(20):
    s, over, score = env.reset(), False, 0
    while not over:
        s, r, done, late = env.step(agent.act(s, 0.0))
        score, over = score + r, done or late
    tests.append(score)
print("RESULT test_reward", f"{np.mean(tests):.2f}")
