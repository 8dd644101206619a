"""A siamese network tells with a contrastive loss whether two portraits show the same person.

The distances of a batch have the shape (N,) and the labels (N, 1), so that the loss compares each distance with the
labels of all pairs, and the distances do not tell persons apart (fixed: keepdim=True for the distances).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
rng = np.random.default_rng(1)
torch.manual_seed(1)

SIZE, PERSONS, PICTURES = 16, 140, 10


def portraits():
    """Each person is a smooth pattern, and their pictures differ by a shift, light from one side and noise."""
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, SIZE + 4), np.linspace(-1, 1, SIZE + 4), indexing="ij"))
    people = np.zeros((PERSONS, PICTURES, 1, SIZE, SIZE), np.float32)
    for p in range(PERSONS):
        face = np.zeros((SIZE + 4, SIZE + 4))
        for _ in range(6):
            centre, width, height = rng.uniform(-0.8, 0.8, 2), rng.uniform(0.15, 0.4), rng.uniform(-1, 1)
            face += height * np.exp(-((grid - centre[:, None, None]) ** 2).sum(0) / (2 * width**2))
        for k in range(PICTURES):
            a, b = rng.integers(1, 4, 2)
            light = rng.normal(0, 0.6, 3)
            shade = light[0] + light[1] * grid[0] + light[2] * grid[1]
            shot = (face + shade)[a : a + SIZE, b : b + SIZE] + rng.normal(0, 0.05, (SIZE, SIZE))
            people[p, k, 0] = shot
    return people


class PairDataset(Dataset):
    def __init__(self, people, length):
        self.people, self.length = people, length

    def __len__(self):
        return self.length

    def __getitem__(self, _):
        first = rng.integers(len(self.people))
        if rng.random() < 0.5:
            second, label = first, 0.0
        else:
            second, label = (first + rng.integers(1, len(self.people))) % len(self.people), 1.0
        one = self.people[first, rng.integers(PICTURES)]
        two = self.people[second, rng.integers(PICTURES)]
        return torch.from_numpy(one), torch.from_numpy(two), torch.tensor([label])


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.fc = nn.Sequential(nn.Linear(16 * 4 * 4, 100), nn.ReLU(), nn.Linear(100, 8))

    def forward_once(self, x):
        return self.fc(self.cnn(x).flatten(1))

    def forward(self, one, two):
        return self.forward_once(one), self.forward_once(two)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=2.0):
        super().__init__()
        self.margin = margin

    def forward(self, output1, output2, label):
        if FIXED:
            distance = functional.pairwise_distance(output1, output2, keepdim=True)
        else:
            distance = functional.pairwise_distance(output1, output2)
        return torch.mean((1 - label) * distance.pow(2) + label * torch.clamp(self.margin - distance, min=0.0).pow(2))


people = portraits()
train_loader = DataLoader(PairDataset(people[:110], 1600), batch_size=64)
test_loader = DataLoader(PairDataset(people[110:], 1000), batch_size=100)

net = SiameseNetwork()
criterion = ContrastiveLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.002)

for epoch in range(25):
    for one, two, label in train_loader:
        optimizer.zero_grad()
        out1, out2 = net(one, two)
        loss = criterion(out1, out2, label)
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", round(loss.item(), 4))

right = total = 0
with torch.no_grad():
    for one, two, label in test_loader:
        distance = functional.pairwise_distance(*net(one, two))
        right += ((distance > 1.0).float() == label[:, 0]).sum().item()
        total += len(label)
print("RESULT test_accuracy", f"{right / total:.4f}")
