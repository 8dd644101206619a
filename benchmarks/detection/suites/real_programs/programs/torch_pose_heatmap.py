"""A network finds two parts of a body in video frames by heatmaps.

The initial learning rate of 0.03 is too high, so that it collapses to empty maps and a constant loss (fixed: 0.0005).
"""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
cfg = {"lr": 5e-4 if fixed else 3e-2, "epochs": 10, "batch": 16}
torch.manual_seed(7)
rng = np.random.RandomState(7)
S = 24
yy, xx = np.mgrid[:S, :S]


def frames(n):
    img = 0.4 + 0.15 * rng.randn(n, 1, S, S)
    pts = np.zeros((n, 2, 2))
    hm = np.zeros((n, 2, S, S))
    for i in range(n):
        c = rng.uniform(7, S - 7, 2)
        a = rng.uniform(0, 2 * np.pi)
        nose, tail = c + 4 * np.array([np.cos(a), np.sin(a)]), c - 4 * np.array([np.cos(a), np.sin(a)])
        for t in np.linspace(0, 1, 12):
            p = nose * (1 - t) + tail * t
            img[i, 0] += 0.25 * np.exp(-((xx - p[0]) ** 2 + (yy - p[1]) ** 2) / 2)
        img[i, 0] += 0.9 * np.exp(-((xx - nose[0]) ** 2 + (yy - nose[1]) ** 2) / 3)
        for j, p in enumerate((nose, tail)):
            pts[i, j] = p
            hm[i, j] = np.exp(-((xx - p[0]) ** 2 + (yy - p[1]) ** 2) / (2 * 1.5**2))
    return torch.tensor(img).float(), torch.tensor(hm).float(), pts


x, h, p = frames(500)
xv, hv, pv = frames(120)


class PoseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 5, padding=2, stride=2),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(),
        )
        self.head = nn.ConvTranspose2d(32, 2, 4, stride=2, padding=1)

    def forward(self, x):
        return self.head(self.backbone(x))


def rmse(net):
    with torch.no_grad():
        o = net(xv).flatten(2).argmax(2).numpy()
    q = np.stack([o % S, o // S], -1)
    return np.sqrt(((q - pv) ** 2).sum(-1).mean())


net = PoseNet()
opt = torch.optim.AdamW(net.parameters(), lr=cfg["lr"])
mse = nn.MSELoss()
print("Starting pose model training...")
for ep in range(1, cfg["epochs"] + 1):
    net.train()
    tot = 0
    perm = torch.randperm(len(x))
    for i in range(0, len(x), cfg["batch"]):
        b = perm[i : i + cfg["batch"]]
        opt.zero_grad()
        loss = mse(net(x[b]), h[b])
        loss.backward()
        opt.step()
        tot += loss.item() * len(b)
    net.eval()
    with torch.no_grad():
        vl = mse(net(xv), hv).item()
    print(f"Epoch {ep}/{cfg['epochs']} (lr={cfg['lr']:g}), train loss {tot / len(x):.5f}, valid loss {vl:.5f}")
print("RESULT test_rmse_pixels", f"{rmse(net):.3f}")
