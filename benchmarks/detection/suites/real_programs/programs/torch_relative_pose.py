"""A convolutional network estimates how an object moves and grows between two views.

The outputs have the shape (N, 3, 1, 1) and the labels (N, 3), and the L1 loss broadcasts them, so that each output is
compared with the labels of all samples (fixed: outputs of shape (N, 3)).
"""

import sys
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
warnings.filterwarnings("ignore")
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
SIZE = 24
yy, xx = np.mgrid[0:SIZE, 0:SIZE]


def render(cx, cy, s):
    g = np.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / (2 * s**2))
    return g + rng.normal(0, 0.05, (SIZE, SIZE))


def make_pairs(n):
    images, poses = [], []
    for _ in range(n):
        cx, cy = rng.uniform(9, 15, 2)
        s = rng.uniform(2, 3.5)
        t = rng.uniform(-1, 1, 3)
        a = render(cx, cy, s)
        b = render(cx + 4 * t[0], cy + 4 * t[1], s * (1 + 0.4 * t[2]))
        images.append(np.stack([a, b]))
        poses.append(t)
    return torch.tensor(np.array(images), dtype=torch.float32), torch.tensor(np.array(poses), dtype=torch.float32)


class RelPoseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(2, 16, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 64, 6),
            nn.ReLU(),
        )
        self.trans = nn.Conv2d(64, 3, 1)

    def forward(self, pair):
        return self.trans(self.encoder(pair))


x_train, t_train = make_pairs(2000)
x_test, t_test = make_pairs(400)
loader = DataLoader(TensorDataset(x_train, t_train), batch_size=32, shuffle=True)

model = RelPoseNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(12):
    model.train()
    total = 0.0
    for pair, translation in loader:
        trans = model(pair)
        if FIXED:
            trans = trans.squeeze(3).squeeze(2)
        loss = functional.l1_loss(trans, translation)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch + 1:2d} translation loss {total / len(loader):.4f}")

model.eval()
with torch.no_grad():
    pred = model(x_test).flatten(1)
errors = (pred - t_test).abs().mean(0)
print("error per component", errors.numpy().round(3))
print("RESULT test_l1", f"{errors.mean().item():.4f}")
