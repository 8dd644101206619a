"""A network takes the noise out of pictures of stars, with a loss of pixels and of Sobel edges.

Where a picture is flat, the gradient of the square root at 0 is not finite (fixed: a small number below the root).
"""

import math
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
np.random.seed(2)
torch.manual_seed(2)


class Sobel(nn.Module):
    def __init__(self):
        super().__init__()
        gx = torch.tensor([[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]])
        self.register_buffer("kernel", torch.stack([gx, gx.t()]).unsqueeze(1))

    def forward(self, img):
        x = functional.conv2d(img, self.kernel, padding=1)
        x = torch.mul(x, x)
        x = torch.sum(x, dim=1, keepdim=True)
        if fixed:
            return torch.sqrt(x + 1e-6)
        return torch.sqrt(x)


def pictures(n, size=28):
    yy, xx = np.mgrid[0:size, 0:size]
    out = np.zeros((n, 1, size, size), dtype="float32")
    for i in range(n):
        for _ in range(np.random.randint(3, 8)):
            a, b = np.random.uniform(3, size - 3, 2)
            s = np.random.uniform(0.8, 2.0)
            out[i, 0] += np.random.uniform(0.4, 1) * np.exp(-((yy - a) ** 2 + (xx - b) ** 2) / (2 * s * s))
    return torch.from_numpy(np.clip(out, 0, 1))


clean = pictures(360)
noisy = clean + 0.2 * torch.randn_like(clean)
clean_val, noisy_val = clean[300:], noisy[300:]
clean, noisy = clean[:300], noisy[:300]

net = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(12, 12, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(12, 1, 3, padding=1),
    nn.ReLU(),
)
nn.init.constant_(net[4].bias, 0.1)
sobel = Sobel()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)

for epoch in range(8):
    perm = torch.randperm(len(clean))
    total = 0.0
    for k in range(0, len(clean), 20):
        idx = perm[k : k + 20]
        out = net(noisy[idx])
        loss = functional.mse_loss(out, clean[idx]) + 0.05 * functional.l1_loss(sobel(out), sobel(clean[idx]))
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    with torch.no_grad():
        val = functional.mse_loss(net(noisy_val), clean_val).item()
    print(f"epoch {epoch} loss {total / 15:.5f} val mse {val:.5f}")

psnr = float("nan") if math.isnan(val) else -10 * math.log10(val)
print("RESULT val_psnr", f"{psnr:.3f}")
