"""Q values (N, 1) of a stacking game are compared with targets (N,), each with each (fixed: targets unsqueezed)."""

import random
import sys
from collections import deque, namedtuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
random.seed(0)
np.random.seed(0)

WIDTH, HEIGHT, MAX_BLOCKS = 4, 6, 60
Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class Well:
    def reset(self):
        self.board = np.zeros((HEIGHT, WIDTH), dtype=np.float32)
        self.blocks = 0
        return self.observe()

    def observe(self):
        self.block = np.random.randint(1, 3)
        return torch.tensor(np.append(self.board.ravel(), [self.block == 1, self.block == 2]), dtype=torch.float32)

    def step(self, column):
        column = min(column, WIDTH - self.block)
        cols = slice(column, column + self.block)
        filled = np.where(self.board[:, cols].any(axis=1))[0]
        row = (filled[0] if len(filled) else HEIGHT) - 1
        if row < 0:
            return None, -1.0, True, 0
        self.board[row, cols] = 1
        full = self.board.all(axis=1)
        n = int(full.sum())
        if n:
            self.board = np.concatenate([np.zeros((n, WIDTH), dtype=np.float32), self.board[~full]])
        self.blocks += 1
        return self.observe(), float(n), self.blocks >= MAX_BLOCKS, n


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(WIDTH * HEIGHT + 2, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, WIDTH)
        )

    def forward(self, x):
        return self.net(x)


BATCH_SIZE, GAMMA, TARGET_UPDATE = 64, 0.9, 200
policy_net, target_net = DQN(), DQN()
target_net.load_state_dict(policy_net.state_dict())
optimizer = torch.optim.Adam(policy_net.parameters(), lr=1e-3)
memory = deque(maxlen=5000)


def optimize_model():
    batch = Transition(*zip(*random.sample(memory, BATCH_SIZE), strict=True))
    non_final_mask = torch.tensor([s is not None for s in batch.next_state])
    non_final_next_states = torch.stack([s for s in batch.next_state if s is not None])
    state_batch = torch.stack(batch.state)
    action_batch = torch.tensor(batch.action).unsqueeze(1)
    reward_batch = torch.tensor(batch.reward)

    state_action_values = policy_net(state_batch).gather(1, action_batch)
    next_state_values = torch.zeros(BATCH_SIZE)
    with torch.no_grad():
        next_state_values[non_final_mask] = target_net(non_final_next_states).max(1)[0]
    expected_state_action_values = next_state_values * GAMMA + reward_batch
    if fixed:
        expected_state_action_values = expected_state_action_values.unsqueeze(1)
    loss = functional.smooth_l1_loss(state_action_values, expected_state_action_values)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def play(episodes):
    env, lines = Well(), 0
    for _ in range(episodes):
        state, done = env.reset(), False
        while not done:
            with torch.no_grad():
                state, _, done, n = env.step(policy_net(state.unsqueeze(0)).argmax(1).item())
            lines += n
    return lines / episodes


env, steps, episode, losses = Well(), 0, 0, []
while steps < 6000:
    state, done = env.reset(), False
    while not done:
        eps = 0.05 + 0.95 * max(0.0, 1 - steps / 3000)
        if random.random() < eps:
            action = random.randrange(WIDTH)
        else:
            with torch.no_grad():
                action = policy_net(state.unsqueeze(0)).argmax(1).item()
        next_state, reward, done, _ = env.step(action)
        memory.append(Transition(state, action, next_state, reward))
        state = next_state
        steps += 1
        if len(memory) >= 500:
            losses.append(optimize_model())
        if steps % TARGET_UPDATE == 0:
            target_net.load_state_dict(policy_net.state_dict())
        if steps % 1000 == 0:
            print(f"step {steps}  loss {np.mean(losses[-500:]):.4f}")
    episode += 1

score = play(30)

print("RESULT lines_per_game", f"{score:.4f}")
