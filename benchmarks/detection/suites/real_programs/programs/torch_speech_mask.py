"""A convolutional and recurrent network makes, from the spectrogram of two voices, the mask that leaves the first one.

The features of the convolution, (batch, channels, time, frequency), are brought to (batch, time, features) by ``view``
alone, so that each step gets pieces of other times (fixed: ``permute`` before the ``view``).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
TIME, FREQ = 20, 16


def voice(n, low, high, spacing):
    spectra = np.zeros((n, TIME, FREQ))
    bins = np.arange(FREQ)
    for i in range(n):
        pitch = rng.uniform(low, high)
        on = 0
        for step in range(TIME):
            if rng.rand() < 0.25:
                on = 1 - on
            pitch = np.clip(pitch + rng.normal(0, 0.4), low, high)
            for harmonic in range(3):
                spectra[i, step] += on * np.exp(-0.5 * (bins - pitch - harmonic * spacing) ** 2) / (1 + harmonic)
    return spectra


def mixtures(n):
    first, second = voice(n, 1, 5, 3), voice(n, 3, 8, 4)
    mix = first + second + rng.exponential(0.03, first.shape)
    mask = (first > second).astype("float32") * (first > 0.1)
    x = np.log(mix + 0.05)
    return torch.tensor((x + 2) / 1.2, dtype=torch.float32)[:, None], torch.tensor(mask, dtype=torch.float32)


train_x, train_y = mixtures(500)
val_x, val_y = mixtures(150)


class Separator(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
        )
        self.lstm = nn.LSTM(channels * FREQ, 48, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(96, FREQ)

    def forward(self, x):
        x = self.conv(x)
        batch, _, time, _ = x.shape
        if FIXED:
            x = x.permute(0, 2, 1, 3).contiguous()
        x = x.view(batch, time, -1)
        x, _ = self.lstm(x)
        return self.fc(x)


model = Separator()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(12):
    model.train()
    order = torch.randperm(len(train_x))
    total = 0.0
    for start in range(0, len(train_x), 16):
        index = order[start : start + 16]
        optimizer.zero_grad()
        loss = criterion(model(train_x[index]), train_y[index])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(index)
    model.eval()
    with torch.no_grad():
        guess = (model(val_x) > 0).float()
        f1 = (2 * (guess * val_y).sum() / (guess.sum() + val_y.sum())).item()
    print(f"epoch {epoch + 1}: loss {total / len(train_x):.4f}, val F1 {f1:.4f}")

print("RESULT val_mask_f1", f"{f1:.4f}")
