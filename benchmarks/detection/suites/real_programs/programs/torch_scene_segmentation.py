"""Training pixels lie at -128 to 135, those of tests are divided by 255, too (fixed: both only centred)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)
N_CLASS = 4
COLORS = np.array([[90, 120, 160], [200, 60, 50], [60, 180, 70], [230, 220, 90]])
MEAN_BGR = np.array([128.0, 125.0, 120.0])


def draw_scene():
    label = np.zeros((24, 24), dtype=np.int64)
    for cls in rng.permutation([1, 2, 3]):
        h, w = rng.integers(6, 13, 2)
        r, c = rng.integers(0, 24 - h), rng.integers(0, 24 - w)
        label[r : r + h, c : c + w] = cls
    image = COLORS[label] + rng.normal(0, 30, (24, 24, 3)) + rng.normal(0, 12, 3)
    return image.clip(0, 255).astype(np.uint8), label


class SceneDataset(Dataset):
    """Pictures of three boxes, and the class of each pixel."""

    def __init__(self, n):
        self.items = [draw_scene() for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        img, lbl = self.items[i]
        img = img[:, :, ::-1].astype(np.float64)
        img -= MEAN_BGR
        img = img.transpose(2, 0, 1)
        return torch.from_numpy(img.copy()).float(), torch.from_numpy(lbl)


class FCN(nn.Module):
    """Three convolutions, and class scores at two resolutions."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.conv3 = nn.Conv2d(32, 32, 3, padding=1)
        self.score = nn.Conv2d(32, N_CLASS, 1)
        self.score_skip = nn.Conv2d(16, N_CLASS, 1)

    def forward(self, x):
        h1 = functional.relu(self.conv1(x))
        h = functional.relu(self.conv2(functional.max_pool2d(h1, 2)))
        h = functional.relu(self.conv3(h))
        h = functional.interpolate(self.score(h), size=x.shape[2:], mode="bilinear", align_corners=False)
        return h + self.score_skip(h1)


def load_image(img):
    scale = 1 if fixed else 255
    img = img[:, :, ::-1].astype(np.float64) / scale
    img -= MEAN_BGR / scale
    return torch.from_numpy(img.transpose(2, 0, 1).copy()).float().unsqueeze(0)


train_loader = DataLoader(SceneDataset(300), batch_size=10, shuffle=True)
model = FCN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(8):
    model.train()
    total = 0.0
    for data, target in train_loader:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(train_loader):.4f}")

model.eval()
correct = count = 0
with torch.no_grad():
    for img, lbl in [draw_scene() for _ in range(60)]:
        pred = model(load_image(img)).argmax(1)[0].numpy()
        correct += (pred == lbl).sum()
        count += lbl.size
print(f"pixel accuracy on single images: {correct / count:.3f}")

print("RESULT pixel_acc", correct / count)
