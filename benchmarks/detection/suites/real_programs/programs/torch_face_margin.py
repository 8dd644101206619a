"""A sine is the root of 1 - cosine ** 2, whose slope at 0 is infinite (fixed: of 1e-6 or more)."""

import math
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)

PEOPLE = 6
faces = np.zeros((PEOPLE, 1, 16, 16))
for k in range(PEOPLE):
    small = rng.normal(0, 1, (4, 4))
    faces[k, 0] = np.kron(small, np.ones((4, 4)))


def photos(n):
    who = rng.integers(0, PEOPLE, n)
    img = 0.35 * faces[who] + rng.normal(0, 0.15, (n, 1, 1, 1)) + rng.normal(0, 0.25, (n, 1, 16, 16))
    return torch.tensor(img, dtype=torch.float32), torch.tensor(who)


class FaceNet(nn.Module):
    """Two convolutions with batch normalisation, and an embedding."""

    def __init__(self, embedding_size):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1),
            nn.BatchNorm2d(16),
            nn.PReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.BatchNorm2d(32),
            nn.PReLU(),
            nn.Flatten(),
            nn.Linear(32 * 16, embedding_size),
            nn.BatchNorm1d(embedding_size),
        )

    def forward(self, x):
        return self.body(x)


class ArcMarginProduct(nn.Module):
    """Angles between embeddings and the directions of people, with a margin for the right one."""

    def __init__(self, in_features, out_features, s=16.0, m=0.3):
        super().__init__()
        self.s = s
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        nn.init.xavier_uniform_(self.weight)
        self.cos_m, self.sin_m = math.cos(m), math.sin(m)
        self.th = math.cos(math.pi - m)
        self.mm = math.sin(math.pi - m) * m

    def forward(self, embedding, label):
        cosine = functional.linear(functional.normalize(embedding), functional.normalize(self.weight))
        sine = torch.sqrt((1.0 - torch.pow(cosine, 2)).clamp(1e-6 if fixed else 0, 1))
        phi = cosine * self.cos_m - sine * self.sin_m
        phi = torch.where(cosine > self.th, phi, cosine - self.mm)
        one_hot = functional.one_hot(label, cosine.shape[1]).float()
        return self.s * (one_hot * phi + (1.0 - one_hot) * cosine)


x_train, y_train = photos(1200)
x_test, y_test = photos(300)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True, drop_last=True)

model, metric_fc = FaceNet(2), ArcMarginProduct(2, PEOPLE)
optimizer = torch.optim.SGD(
    [{"params": model.parameters()}, {"params": metric_fc.parameters()}], lr=0.05, momentum=0.9, weight_decay=5e-4
)
criterion = nn.CrossEntropyLoss()

for epoch in range(12):
    model.train()
    total = 0.0
    for data, label in loader:
        output = metric_fc(model(data), label)
        loss = criterion(output, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        cosine = functional.linear(functional.normalize(model(x_test)), functional.normalize(metric_fc.weight))
        accuracy = (cosine.argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}, test accuracy {accuracy:.3f}")

print("RESULT test_acc", accuracy)
