"""A network for ``CrossEntropyLoss`` ends in a softmax (fixed: in logits)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)

ACTIONS = ["left", "right", "up", "down", "grow", "shrink", "blink", "stay", "diag_up", "diag_down", "shake"]
MOVES = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1), "diag_up": (1, -1), "diag_down": (1, 1)}
FRAMES, SIZE = 6, 12


def make_clip(action):
    grid_y, grid_x = np.mgrid[0:SIZE, 0:SIZE]
    cx, cy, r = rng.uniform(4, 7), rng.uniform(4, 7), rng.uniform(1.8, 2.4)
    dx, dy = MOVES.get(action, (0, 0))
    clip = np.zeros((FRAMES, 1, SIZE, SIZE), dtype=np.float32)
    for t in range(FRAMES):
        s = t - 2
        x, y, rad, gain = cx + dx * s, cy + dy * s, r, 1.0
        if action == "grow":
            rad += 0.4 * t
        if action == "shrink":
            rad = max(0.6, rad - 0.3 * t)
        if action == "blink":
            gain = float(t % 2)
        if action == "shake":
            x += 2 * (t % 2) - 1
        clip[t, 0] = gain * np.exp(-((grid_x - x) ** 2 + (grid_y - y) ** 2) / (2 * (rad / 1.5) ** 2))
    return clip + rng.normal(0, 0.05, size=clip.shape).astype(np.float32)


labels = rng.integers(0, len(ACTIONS), size=1500)
clips = np.stack([make_clip(ACTIONS[k]) for k in labels])
x, y = torch.tensor(clips), torch.tensor(labels)
train_loader = DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=32, shuffle=True)
test_x, test_y = x[1200:], y[1200:]


class ConvLstm(nn.Module):
    def __init__(self, latent_dim, hidden, num_class):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(16 * 3 * 3, latent_dim),
        )
        self.lstm = nn.LSTM(latent_dim, hidden, batch_first=True)
        logits = nn.Linear(hidden, num_class)
        self.output_layer = logits if fixed else nn.Sequential(logits, nn.Softmax(dim=-1))

    def forward(self, clip):
        b, t = clip.shape[:2]
        feats = self.conv(clip.reshape(b * t, 1, SIZE, SIZE)).reshape(b, t, -1)
        out, _ = self.lstm(feats)
        return self.output_layer(out[:, -1])


model = ConvLstm(32, 48, len(ACTIONS))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(8):
    model.train()
    total = 0.0
    for clip, target in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(clip), target)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(target)
    model.eval()
    with torch.no_grad():
        acc = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch + 1}: train loss {total / 1200:.4f}  test acc {acc:.3f}")

print("RESULT test_acc", acc)
