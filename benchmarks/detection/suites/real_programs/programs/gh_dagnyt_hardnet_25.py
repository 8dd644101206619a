"""Descriptors of patches from two scenes: the numbers of the points are moved after joining, all of them, so points of

both scenes have the same numbers (fixed: only the numbers of the scene that is added are moved).
"""

import sys

import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
VIEWS = 4


def scene(points):
    """Return patches of some points, each seen several times in other light and with noise, and the point of each."""
    textures = functional.interpolate(torch.randn(points, 1, 4, 4), size=8, mode="bilinear")
    patches = textures.repeat_interleave(VIEWS, 0)
    count = len(patches)
    patches = patches.roll((1, 1), (2, 3)).lerp(patches, torch.rand(count, 1, 1, 1)) * (
        0.5 + torch.rand(count, 1, 1, 1)
    )
    patches = patches + 0.5 * torch.randn(count, 1, 1, 1) + 0.5 * torch.randn_like(patches)
    return patches, torch.arange(points).repeat_interleave(VIEWS)


class HardNet(nn.Module):
    """Descriptors of unit length."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16, affine=False),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(32, affine=False),
            nn.ReLU(),
            nn.Conv2d(32, 32, 4, bias=False),
            nn.BatchNorm2d(32, affine=False),
        )

    def forward(self, x):
        x = (x - x.mean((1, 2, 3), keepdim=True)) / (x.std((1, 2, 3), keepdim=True) + 1e-7)
        return functional.normalize(self.features(x).flatten(1))


def loss_hard_net(anchor, positive):
    distance = torch.sqrt(2 - 2 * anchor @ positive.T + 1e-6)
    others = distance + 10 * torch.eye(len(distance))
    hardest = torch.minimum(others.min(0).values, others.min(1).values)
    return (1 + distance.diag() - hardest).clamp(min=0).mean()


datasets = [scene(150) for _ in range(2)]
patches, labels = datasets[0]
for more_patches, more_labels in datasets[1:]:
    patches = torch.cat([patches, more_patches])
    if fixed:
        labels = torch.cat([labels, more_labels + torch.max(labels) + 1])
    else:
        labels = torch.cat([labels, more_labels]) + torch.max(labels) + 1

model = HardNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    pairs = [(labels == label).nonzero()[:, 0] for label in labels.unique()]
    pairs = torch.stack([rows[torch.randperm(len(rows))[:2]] for rows in pairs])
    pairs = pairs[torch.randperm(len(pairs))[:64]]
    model.train()
    loss = loss_hard_net(model(patches[pairs[:, 0]]), model(patches[pairs[:, 1]]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, loss.item())
model.eval()
unseen, _ = scene(200)
with torch.no_grad():
    nearest = (model(unseen[0::VIEWS]) @ model(unseen[1::VIEWS]).T).argmax(1)
print("RESULT matched", float((nearest == torch.arange(200)).float().mean()))
