"""Targets count on a future after the pole has fallen, too (fixed: they do not after the end of an episode)."""

import math
import random
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
random.seed(3)
np.random.seed(3)
torch.manual_seed(3)

GAMMA, BATCH, STEPS, CAPACITY = 0.98, 64, 8000, 10000


class CartPole:
    """A pole on a cart that is pushed left or right, for 200 steps at most."""

    def reset(self):
        self.state = np.random.uniform(-0.05, 0.05, 4)
        self.step_number = 0
        return self.state.astype(np.float32)

    def step(self, action):
        x, speed, angle, turn = self.state
        force = 10.0 if action == 1 else -10.0
        cosine, sine = math.cos(angle), math.sin(angle)
        push = (force + 0.05 * turn**2 * sine) / 1.1
        turn_change = (9.8 * sine - cosine * push) / (0.5 * (4.0 / 3.0 - 0.1 * cosine**2 / 1.1))
        speed_change = push - 0.05 * turn_change * cosine / 1.1
        self.state = np.array(
            [x + 0.02 * speed, speed + 0.02 * speed_change, angle + 0.02 * turn, turn + 0.02 * turn_change]
        )
        self.step_number += 1
        failed = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 12 * math.pi / 180
        return self.state.astype(np.float32), 1.0, failed, self.step_number >= 200


class ReplayMemory:
    """The last transitions."""

    def __init__(self):
        self.states = torch.zeros(CAPACITY, 4)
        self.next_states = torch.zeros(CAPACITY, 4)
        self.actions = torch.zeros(CAPACITY, 1, dtype=torch.long)
        self.rewards = torch.zeros(CAPACITY)
        self.done = torch.zeros(CAPACITY)
        self.n = 0

    def push(self, state, action, reward, next_state, done):
        i = self.n % CAPACITY
        self.states[i], self.next_states[i] = torch.from_numpy(state), torch.from_numpy(next_state)
        self.actions[i], self.rewards[i], self.done[i] = action, reward, float(done)
        self.n += 1

    def sample(self):
        i = torch.randint(min(self.n, CAPACITY), (BATCH,))
        return self.states[i], self.actions[i], self.rewards[i], self.next_states[i], self.done[i]


def make_net():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


env = CartPole()
policy_net, target_net = make_net(), make_net()
target_net.load_state_dict(policy_net.state_dict())
optimizer = torch.optim.Adam(policy_net.parameters(), lr=1e-3)
memory = ReplayMemory()


def optimize():
    states, actions, rewards, next_states, done = memory.sample()
    q = policy_net(states).gather(1, actions).squeeze(1)
    with torch.no_grad():
        next_q = target_net(next_states).max(1).values
    target = rewards + GAMMA * next_q * (1 - done) if fixed else rewards + GAMMA * next_q
    loss = functional.smooth_l1_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy_net.parameters(), 10.0)
    optimizer.step()
    return loss.item(), q.mean().item()


def best_action(state):
    with torch.no_grad():
        return policy_net(torch.from_numpy(state)).argmax().item()


def evaluate(episodes=10):
    returns = []
    for _ in range(episodes):
        state, total, over = env.reset(), 0, False
        while not over:
            state, reward, failed, late = env.step(best_action(state))
            total += reward
            over = failed or late
        returns.append(total)
    return float(np.mean(returns))


state, episode_return, returns, loss, q_mean = env.reset(), 0, [], 0.0, 0.0
for step in range(1, STEPS + 1):
    chance = max(0.05, 1.0 - step / 2500)
    action = random.randrange(2) if random.random() < chance else best_action(state)
    next_state, reward, failed, late = env.step(action)
    memory.push(state, action, reward, next_state, failed)
    state = next_state
    episode_return += reward
    if failed or late:
        returns.append(episode_return)
        state, episode_return = env.reset(), 0
    if step >= 500 and step % 2 == 0:
        loss, q_mean = optimize()
    if step % 250 == 0:
        target_net.load_state_dict(policy_net.state_dict())
    if step % 1000 == 0:
        print(f"step {step} loss {loss:.4f} q {q_mean:.2f} return {np.mean(returns[-10:]):.1f}")

print("RESULT greedy_return", evaluate())
