"""Two linear layers without an activation between them are one (fixed: a relu between them)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)

N, STEPS = 3000, 12
FEATURES, ASV_DIM = 16, 3

features = rng.normal(size=(N, FEATURES)).astype(np.float32)
lane_bend = 0.15 * np.tanh(features[:, 0] + 0.5 * features[:, 1])
speed = rng.uniform(0, 1, size=N)
accel = rng.normal(0, 0.2, size=N)
yaw_rate = rng.normal(0, 0.25, size=N)

future = np.zeros((N, STEPS, 2), dtype=np.float32)
px, py, heading, v = np.zeros(N), np.zeros(N), np.zeros(N), 2 * speed
for t in range(STEPS):
    heading = heading + 0.5 * (yaw_rate + lane_bend)
    v = np.clip(v + 0.5 * accel, 0, 4)
    px = px + 0.5 * v * np.sin(heading)
    py = py + 0.5 * v * np.cos(heading)
    future[:, t, 0], future[:, t, 1] = px, py

asv = np.stack([(speed - 0.5) / 0.29, accel / 0.2, yaw_rate / 0.25], axis=1).astype(np.float32)
x_img, x_asv, y = torch.tensor(features), torch.tensor(asv), torch.tensor(future.reshape(N, -1))
train = TensorDataset(x_img[:2400], x_asv[:2400], y[:2400])
train_loader = DataLoader(train, batch_size=32, shuffle=True)


class TrajectoryHead(nn.Module):
    def __init__(self, n_hidden=128):
        super().__init__()
        self.fc1 = nn.Linear(FEATURES + ASV_DIM, n_hidden)
        self.fc2 = nn.Linear(n_hidden, STEPS * 2)

    def forward(self, image_features, agent_state_vector):
        x = torch.cat([image_features, agent_state_vector], dim=1)
        x = torch.relu(self.fc1(x)) if fixed else self.fc1(x)
        return self.fc2(x)


model = TrajectoryHead()
criterion = nn.SmoothL1Loss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def ade(img, state, target):
    model.eval()
    with torch.no_grad():
        diff = (model(img, state) - target).reshape(-1, STEPS, 2)
    return diff.norm(dim=-1).mean().item()


for epoch in range(40):
    model.train()
    total = 0.0
    for img, state, target in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(img, state), target)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(target)
    if (epoch + 1) % 5 == 0:
        error = ade(x_img[2400:], x_asv[2400:], y[2400:])
        print(f"epoch {epoch + 1}: train loss {total / 2400:.4f}  val ADE {error:.3f} m")

print("RESULT val_distance", error)
