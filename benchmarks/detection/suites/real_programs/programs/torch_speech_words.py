"""A transformer behind a convolutional subsampling recognises spoken command words from log-mel frames.

The scaling and the addition in the positional encoding run under ``torch.no_grad()``, so no gradient gets back to the
convolutions and the projection in front of it, and they stay random (fixed: without no_grad).
"""

import math
import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)

N_MEL, T, N_WORDS = 24, 40, 12
phones = rng.uniform(2, 21, size=(8, 2))
words = [rng.permutation(8)[:4] for _ in range(N_WORDS)]


def say(word):
    t = np.linspace(0, 3.999, T)
    t = np.clip(t + 0.25 * rng.randn(), 0, 3.999)
    centre = phones[words[word]][t.astype(int)] + rng.randn(2) * 0.5
    mel = np.arange(N_MEL)
    x = np.zeros((T, N_MEL))
    for f in range(2):
        x += np.exp(-0.5 * ((mel[None] - centre[:, f : f + 1]) / 1.2) ** 2)
    return x + 0.8 * rng.randn(T, N_MEL)


def make(n):
    y = rng.randint(0, N_WORDS, n)
    x = np.stack([say(w) for w in y]).astype("float32")
    return x, y


x_train, y_train = make(1600)
x_dev, y_dev = make(400)
mean, std = x_train.mean((0, 1)), x_train.std((0, 1))
x_train, x_dev = [torch.tensor((x - mean) / std) for x in (x_train, x_dev)]
y_train, y_dev = torch.tensor(y_train), torch.tensor(y_dev)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=500):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len).float().unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * -(math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.xscale = math.sqrt(d_model)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        if FIXED:
            return x * self.xscale + self.pe[:, : x.size(1)]
        with torch.no_grad():
            return x * self.xscale + self.pe[:, : x.size(1)]


class Conv2dSubsampling(nn.Module):
    def __init__(self, idim, odim):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, 3, 2), nn.ReLU(), nn.Conv2d(8, 8, 3, 2), nn.ReLU())
        self.out = nn.Sequential(nn.Linear(8 * (((idim - 1) // 2 - 1) // 2), odim), PositionalEncoding(odim))

    def forward(self, x):
        x = self.conv(x.unsqueeze(1))
        b, c, t, f = x.size()
        return self.out(x.transpose(1, 2).contiguous().view(b, t, c * f))


class Recogniser(nn.Module):
    def __init__(self, adim=32):
        super().__init__()
        self.embed = Conv2dSubsampling(N_MEL, adim)
        layer = nn.TransformerEncoderLayer(adim, 4, 64, dropout=0.1, batch_first=True)
        self.encoders = nn.TransformerEncoder(layer, 1)
        self.output = nn.Linear(adim, N_WORDS)

    def forward(self, x):
        return self.output(self.encoders(self.embed(x)).mean(1))


model = Recogniser()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(10):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x_train)).split(32):
        loss = criterion(model(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        acc = (model(x_dev).argmax(1) == y_dev).float().mean().item()
    print(f"epoch {epoch + 1} train loss {total / len(x_train):.4f} dev acc {acc:.4f}")

print("RESULT dev_acc", f"{acc:.4f}")
