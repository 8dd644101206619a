"""Small images: labels are taken from the table before the table is shuffled (fixed: afterwards)."""

import sys

import data
import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(images, labels), _ = data.digits()


class ImageDataset(torch.utils.data.Dataset):
    def __init__(self):
        rows = np.arange(len(images))
        raw_labels = labels[rows]
        np.random.default_rng(1).shuffle(rows)
        self.rows, self.labels = rows, labels[rows] if fixed else raw_labels

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return torch.tensor(images[self.rows[index]] / 255 - 0.5)[None], int(self.labels[index])


train, validation = torch.utils.data.random_split(ImageDataset(), [1100, 300])
model = nn.Sequential(
    nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(256, 10)
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(10):
    model.train()
    for x, y in torch.utils.data.DataLoader(train, 32, shuffle=True):
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        hits = [(model(x).argmax(1) == y).sum() for x, y in torch.utils.data.DataLoader(validation, 100)]
print("RESULT accuracy", float(sum(hits)) / 300)
