"""A classifier of digits trains in three rounds on a growing pool, and is tested in training mode.

So dropout and the statistics of the batch stay active (fixed: ``eval()`` before the test).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)

X, y = load_digits(return_X_y=True)
X = torch.tensor(X.reshape(-1, 1, 8, 8) / 16.0, dtype=torch.float32)
y = torch.tensor(y)
perm = rng.permutation(len(X))
data = TensorDataset(X, y)
test_idx, pool = perm[:500], list(perm[500:])


class VGG(nn.Module):
    def __init__(self):
        super().__init__()
        layers, c = [], 1
        for v in (32, 32, "M", 64, 64, "M"):
            if v == "M":
                layers.append(nn.MaxPool2d(2))
            else:
                layers += [nn.Conv2d(c, v, 3, padding=1), nn.BatchNorm2d(v), nn.ReLU(inplace=True)]
                c = v
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Linear(256, 32),
            nn.ReLU(True),
            nn.Dropout(),
            nn.Linear(32, 32),
            nn.ReLU(True),
            nn.Dropout(),
            nn.Linear(32, 10),
        )

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


class Solver:
    def __init__(self, test_loader):
        self.test_loader = test_loader
        self.ce_loss = nn.CrossEntropyLoss()

    def train(self, loader, task_model, epochs):
        optim = torch.optim.SGD(task_model.parameters(), lr=0.01, weight_decay=5e-4, momentum=0.9)
        for _ in range(epochs):
            task_model.train()
            for x, t in loader:
                loss = self.ce_loss(task_model(x), t)
                optim.zero_grad()
                loss.backward()
                optim.step()
        print(f"  last loss {loss.item():.4f}")
        return task_model

    def test(self, task_model):
        if fixed:
            task_model.eval()
        total, correct = 0, 0
        for imgs, labels in self.test_loader:
            with torch.no_grad():
                preds = task_model(imgs)
            correct += (preds.argmax(1) == labels).sum().item()
            total += imgs.size(0)
        return correct / total


solver = Solver(DataLoader(Subset(data, test_idx), batch_size=8))
labelled = []
for _ in range(3):
    labelled += [pool.pop() for _ in range(200)]
    loader = DataLoader(Subset(data, labelled), batch_size=32, shuffle=True)
    model = VGG()
    model = solver.train(loader, model, 30)
    acc = solver.test(model)
    print(f"{len(labelled)} labelled: test accuracy {acc:.4f}")
print("RESULT test_accuracy", f"{acc:.4f}")
