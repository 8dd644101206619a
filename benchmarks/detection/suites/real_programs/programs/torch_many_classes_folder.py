"""A CNN tells 20 classes of small colour pictures apart.

The training loader does not shuffle the pictures, which come sorted by class (fixed: it does).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(2)
rng = np.random.RandomState(2)
CLASSES = 20
prototypes = rng.rand(CLASSES, 3, 6, 6).astype(np.float32)


class Folder(Dataset):
    """Pictures as ImageFolder lists them."""

    def __init__(self, per_class):
        self.items = []
        for c in range(CLASSES):
            for _ in range(per_class):
                img = np.kron(prototypes[c], np.ones((1, 4, 4), np.float32))
                img = np.roll(img, (rng.randint(-3, 4), rng.randint(-3, 4)), axis=(1, 2))
                img = img * rng.uniform(0.7, 1.2) + 0.15 * rng.randn(*img.shape)
                self.items.append((np.clip(img, 0, 1).astype(np.float32), c))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        img, c = self.items[i]
        return (torch.from_numpy(img) - 0.5) / 0.25, c


train_data, valid_data = Folder(80), Folder(20)
trainloader = DataLoader(train_data, batch_size=32, shuffle=fixed)
validloader = DataLoader(valid_data, batch_size=32)

model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(32 * 36, 128),
    nn.ReLU(),
    nn.Linear(128, CLASSES),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

for epoch in range(10):
    model.train()
    running = 0.0
    for images, labels in trainloader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    hits = 0
    with torch.no_grad():
        for images, labels in validloader:
            hits += (model(images).argmax(1) == labels).sum().item()
    print(f"epoch {epoch + 1} train loss {running / len(trainloader):.3f} valid acc {hits / len(valid_data):.3f}")
print("RESULT valid_accuracy", f"{hits / len(valid_data):.4f}")
