"""A policy learns from demonstrations to move a gripper to the red block by a picture of the table.

The table also has a green and a blue block. Pictures come as height x width x channel and are brought to channel x
height x width by ``reshape``, which scrambles rows and colours (fixed: ``permute``).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)
SIZE = 36


def make_demo():
    image = np.full((SIZE, SIZE, 3), 0.5) + rng.normal(0, 0.1, (SIZE, SIZE, 3))
    spots = []
    while len(spots) < 3:
        spot = rng.integers(3, SIZE - 3, 2)
        if all(np.abs(spot - s).max() > 6 for s in spots):
            spots.append(spot)
    for colour, (r, c) in enumerate(spots):
        block = np.full(3, 0.2)
        block[colour] = 0.8
        image[r - 2 : r + 3, c - 2 : c + 3] = block
    return image, spots[0] / (SIZE - 1) * 2 - 1


demos = [make_demo() for _ in range(600)]
images = torch.tensor(np.stack([d[0] for d in demos]), dtype=torch.float32)
actions = torch.tensor(np.stack([d[1] for d in demos]), dtype=torch.float32)
train_images, train_actions = images[:400], actions[:400]
test_images, test_actions = images[400:], actions[400:]


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.head = nn.Sequential(nn.Linear(32 * 81, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, obs):
        b, h, w, c = obs.shape
        obs = (obs - 0.5) / 0.25
        obs = obs.permute(0, 3, 1, 2).contiguous() if FIXED else obs.reshape(b, c, h, w)
        return self.head(self.encoder(obs))


policy = Policy()
optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3)
criterion = nn.MSELoss()


def test_error():
    policy.eval()
    with torch.no_grad():
        return criterion(policy(test_images), test_actions).item()


for epoch in range(30):
    policy.train()
    order = torch.randperm(len(train_images))
    total = 0.0
    for start in range(0, len(order), 32):
        idx = order[start : start + 32]
        loss = criterion(policy(train_images[idx]), train_actions[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} train {total / len(order):.4f} test {test_error():.4f}")

print("RESULT test_mse", f"{test_error():.4f}")
