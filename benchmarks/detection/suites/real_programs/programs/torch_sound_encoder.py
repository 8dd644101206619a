"""A pre-trained encoder of spectrograms gets a linear head on its frozen features, and then all of it is fine-tuned.

``set_trainable`` changes only parameters that require a gradient, so what was frozen once stays frozen and the
fine-tuning moves the head alone (fixed: without that condition).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(42)
rng = np.random.default_rng(42)

MELS, FRAMES, KINDS = 16, 16, 8


def make_sounds(n):
    kind = rng.integers(0, KINDS, n)
    loud = rng.integers(0, 2, n)
    f, t = np.mgrid[0:MELS, 0:FRAMES]
    spec = rng.normal(0, 1.0, (n, 1, MELS, FRAMES))
    for i in range(n):
        slope = (kind[i] % 4 - 1.5) * 0.6
        start = rng.uniform(4, 12)
        track = (start + slope * (t - FRAMES / 2)) % MELS
        width = 0.8 if kind[i] < 4 else 2.0
        spec[i, 0] += (1.5 + loud[i]) * np.exp(-(((f - track) / width) ** 2))
        spec[i, 0] += 0.8 * loud[i]
    return torch.tensor(spec, dtype=torch.float32), torch.tensor(kind), torch.tensor(loud)


class AudioEncoder(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        layers, channels = [], 1
        for _ in range(2):
            layers += [nn.Conv2d(channels, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)]
            channels = 16
        self.features = nn.Sequential(*layers)
        self.fc = nn.Sequential(nn.Linear(16 * (MELS // 4), d), nn.ReLU(), nn.Linear(d, d), nn.ReLU())

    def set_trainable(self, trainable=False):
        for p in self.parameters():
            if FIXED or p.requires_grad:
                p.requires_grad = trainable

    def forward(self, x):
        x = self.features(x).permute(0, 3, 2, 1)
        x = self.fc(x.reshape(x.shape[0], x.shape[1], -1))
        return x.max(dim=1).values + x.mean(dim=1)


def fit(encoder, head, x, y, epochs, lr):
    optimizer = torch.optim.Adam(list(encoder.parameters()) + list(head.parameters()), lr=lr)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        encoder.train()
        losses = []
        for xb, yb in DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True):
            optimizer.zero_grad()
            loss = criterion(head(encoder(xb)), yb)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"  epoch {epoch + 1}  loss {np.mean(losses):.4f}")


def accuracy(encoder, head, x, y):
    encoder.eval()
    with torch.no_grad():
        return (head(encoder(x)).argmax(1) == y).float().mean().item()


x_train, kind_train, loud_train = make_sounds(1500)
x_test, kind_test, loud_test = make_sounds(500)
encoder = AudioEncoder()
print("pre-training")
fit(encoder, nn.Linear(32, 2), x_train, loud_train, 2, 1e-3)

head = nn.Linear(32, KINDS)
encoder.set_trainable(False)
print("linear evaluation")
fit(encoder, head, x_train, kind_train, 4, 1e-3)
print(f"linear accuracy {accuracy(encoder, head, x_test, kind_test):.4f}")

encoder.set_trainable(True)
print("fine-tuning")
fit(encoder, head, x_train, kind_train, 10, 1e-3)
print("RESULT test_accuracy", f"{accuracy(encoder, head, x_test, kind_test):.4f}")
