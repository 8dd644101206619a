"""A small residual network tells drawn faces of cats from those of dogs.

The pictures for training are turned upside down, cut to a small part and changed in their colours, so that little is
left of what tells the classes apart (fixed: they are only normalised).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
SIZE = 32


def draw_face(label):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    img = np.ones((SIZE, SIZE, 3)) * rng.uniform(60, 200, 3)
    skin = rng.uniform(30, 230, 3)
    cx, cy = 16 + rng.uniform(-2, 2), 18 + rng.uniform(-2, 2)
    rad = rng.uniform(7, 9)
    img[(xx - cx) ** 2 + (yy - cy) ** 2 < rad**2] = skin
    for side in (-1, 1):
        ex, ey = cx + side * rad * 0.75, cy - rad * 0.7
        if label == 0:
            ear = (np.abs(xx - ex) < (yy - (ey - 6)) * 0.5) & (yy > ey - 6) & (yy < ey + 2)
        else:
            ear = ((xx - ex - side * 2) / 2.2) ** 2 + ((yy - ey - 4) / 5.0) ** 2 < 1
        img[ear] = skin
        img[(xx - cx - side * 3) ** 2 + (yy - cy + 2) ** 2 < 1.6] = 20
    return np.clip(img + rng.normal(0, 15, img.shape), 0, 255).astype(np.uint8)


class FaceSet(Dataset):
    def __init__(self, n, transform):
        self.labels = rng.integers(0, 2, n)
        self.images = [draw_face(k) for k in self.labels]
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.transform(self.images[i]), int(self.labels[i])


class Block(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.conv1 = nn.Conv2d(c_in, c_out, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(c_out)
        self.conv2 = nn.Conv2d(c_out, c_out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(c_out)
        self.down = nn.Sequential(nn.Conv2d(c_in, c_out, 1, stride=2, bias=False), nn.BatchNorm2d(c_out))

    def forward(self, x):
        out = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(out + self.down(x))


def to_tensor(image):
    return torch.tensor(image, dtype=torch.float32).permute(2, 0, 1) / 255.0


def normalize(x):
    return (x - 0.5) / 0.5


def random_vertical_flip(x):
    return x.flip(1) if torch.rand(1).item() < 0.5 else x


def random_crop(x, size):
    top = torch.randint(x.shape[1] - size + 1, (1,)).item()
    left = torch.randint(x.shape[2] - size + 1, (1,)).item()
    return x[:, top : top + size, left : left + size]


def color_jitter(x, brightness, contrast):
    x = (x * (1 + brightness * (2 * torch.rand(1) - 1))).clamp(0, 1)
    mean = x.mean()
    x = ((x - mean) * (1 + contrast * (2 * torch.rand(1) - 1)) + mean).clamp(0, 1)
    return x[torch.randperm(3)]


def train_transform(image):
    x = to_tensor(image)
    if not FIXED:
        x = random_vertical_flip(x)
        x = random_crop(x, 13)
        x = color_jitter(x, brightness=0.5, contrast=0.5)
    return normalize(x)


def test_transform(image):
    return normalize(to_tensor(image))


train_set = FaceSet(1500, train_transform)
test_set = FaceSet(400, test_transform)
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
test_loader = DataLoader(test_set, batch_size=100)

net = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1, bias=False),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    Block(16, 32),
    Block(32, 32),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(32, 2),
)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(10):
    net.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    net.eval()
    with torch.no_grad():
        hits = sum((net(x).argmax(1) == y).sum().item() for x, y in test_loader)
    print(f"epoch {epoch + 1} loss {total / len(train_loader):.4f} test acc {hits / len(test_set):.4f}")
print("RESULT test_accuracy", f"{hits / len(test_set):.4f}")
