"""A network deforms a template mesh after two silhouettes, with a penalty on angles between neighbouring faces.

The template has faces without area at its poles, where the root in the length of a normal has an infinite slope, so
gradients are NaN (fixed: a small number under the root).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(3)
rng = np.random.default_rng(3)

RINGS, SEGMENTS, SIZE = 7, 10, 16
theta = np.linspace(0, np.pi, RINGS)
phi = np.arange(SEGMENTS) * 2 * np.pi / SEGMENTS
ring = np.sin(theta)
ring[[0, -1]] = 0.0
template = np.stack(
    [ring[:, None] * np.cos(phi), ring[:, None] * np.sin(phi), np.repeat(np.cos(theta)[:, None], SEGMENTS, 1)], -1
).reshape(-1, 3)


def vertex(r, s):
    return r * SEGMENTS + s % SEGMENTS


# both triangles at an edge: A and B are on the edge, C and D opposite to it
edge2verts = [
    (vertex(r, s), vertex(r + 1, s + 1), vertex(r, s + 1), vertex(r + 1, s))
    for r in range(RINGS - 1)
    for s in range(SEGMENTS)
]
edge2verts = torch.tensor(edge2verts)


def make_birds(n):
    grid = (np.arange(SIZE) + 0.5) / SIZE * 4 - 2
    u, v = np.meshgrid(grid, grid)
    radii = rng.uniform(0.5, 1.5, (n, 3))
    pics = np.empty((n, 2, SIZE, SIZE))
    for i, (a, b, c) in enumerate(radii):
        pics[i, 0] = (u / a) ** 2 + (v / c) ** 2 < 1
        pics[i, 1] = (u / b) ** 2 + (v / c) ** 2 < 1
    verts = template[None] * radii[:, None]
    return torch.tensor(pics, dtype=torch.float32), torch.tensor(verts, dtype=torch.float32)


def normalize(n):
    squared = (n**2).sum(2, keepdim=True)
    length = torch.sqrt(squared + 1e-8) if FIXED else torch.sqrt(squared)
    return n / length.clamp(min=1e-12)


def triangle_loss(verts):
    a, b, c, d = (verts[:, edge2verts[:, i]] for i in range(4))
    n1 = normalize(torch.cross(d - a, b - a, dim=2))
    n2 = normalize(torch.cross(b - a, c - a, dim=2))
    return ((1 - (n1 * n2).sum(2)) ** 2).mean()


class MeshNet(nn.Module):
    def __init__(self, mean_shape):
        super().__init__()
        self.register_buffer("mean_v", torch.tensor(mean_shape, dtype=torch.float32))
        self.encoder = nn.Sequential(
            nn.Conv2d(2, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(16 * 4 * 4, 64),
            nn.ReLU(),
        )
        self.shape_predictor = nn.Linear(64, mean_shape.size)
        nn.init.zeros_(self.shape_predictor.weight)
        nn.init.zeros_(self.shape_predictor.bias)

    def forward(self, pics):
        delta_v = self.shape_predictor(self.encoder(pics)).view(len(pics), -1, 3)
        return self.mean_v + delta_v, delta_v


x_train, v_train = make_birds(1200)
x_test, v_test = make_birds(300)
model = MeshNet(template)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(x_train, v_train), batch_size=32, shuffle=True)
for epoch in range(12):
    sums = np.zeros(2)
    for pics, verts in loader:
        pred, delta_v = model(pics)
        kp_loss = ((pred - verts) ** 2).mean()
        tri_loss = triangle_loss(pred)
        loss = 10 * kp_loss + 0.01 * tri_loss + 0.001 * (delta_v**2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sums += kp_loss.item(), tri_loss.item()
    with torch.no_grad():
        error = (model(x_test)[0] - v_test).norm(dim=2).mean().item()
    print(
        f"epoch {epoch + 1:2d}  keypoint loss {sums[0] / len(loader):.5f}  triangle loss {sums[1] / len(loader):.5f}"
        f"  test error {error:.4f}"
    )
print("RESULT test_vertex_error", f"{error:.4f}")
