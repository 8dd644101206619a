"""A transformer tells the stages of sleep from spectrograms of three channels, kept in one file for each night.

The recordings and their stages are read in the order of their archives, which differ, so that nights get the stages of
other nights (fixed: both lists of names are sorted).
"""

import io
import sys
import zipfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(3)
STAGES = ["W", "N1", "N2", "N3", "REM"]
NIGHTS, LENGTH, T, F = 40, 60, 12, 16


def night_stages():
    prior = np.array([0.22, 0.14, 0.34, 0.15, 0.15])
    stages, s = [], rng.choice(5, p=prior)
    for _ in range(LENGTH):
        if rng.random() < 0.25:
            s = rng.choice(5, p=prior)
        stages.append(s)
    return np.array(stages)


CENTRES = np.array([[10, 5, 7, 1, 4], [9, 6, 8, 2, 5], [12, 8, 4, 3, 13]])


def night_spectra(stages):
    f = np.arange(F)
    gain = rng.normal(1.0, 0.1)
    out = np.empty((LENGTH, 3, T, F), dtype=np.float32)
    for i, s in enumerate(stages):
        for ch in range(3):
            bump = np.exp(-0.5 * ((f - CENTRES[ch, s] - rng.normal(0, 1.1)) / 1.8) ** 2)
            out[i, ch] = 0.5 * gain * bump + rng.normal(0, 1.0, size=(T, F))
    return out


def export():
    """One archive of recordings and one of scored stages, as the sleep laboratory hands them out."""
    names = [f"SC4{n:03d}" for n in range(NIGHTS)]
    nights = {name: night_stages() for name in names}
    recordings, stages = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(recordings, "w") as z:
        for name in rng.permutation(names):
            buf = io.BytesIO()
            np.save(buf, night_spectra(nights[name]))
            z.writestr(f"{name}-PSG.npy", buf.getvalue())
    with zipfile.ZipFile(stages, "w") as z:
        for name in rng.permutation(names):
            buf = io.BytesIO()
            np.save(buf, nights[name])
            z.writestr(f"{name}-Hypnogram.npy", buf.getvalue())
    return recordings, stages


def read(archive):
    with zipfile.ZipFile(archive) as z:
        files = sorted(z.namelist()) if FIXED else z.namelist()
        return [np.load(io.BytesIO(z.read(f))) for f in files]


class ChannelEncoder(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.proj = nn.Linear(F, d)
        self.pos = nn.Parameter(torch.randn(1, T, d) * 0.02)
        self.layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.1, batch_first=True, norm_first=True)

    def forward(self, x):
        return self.layer(self.proj(x) + self.pos).mean(1)


class SleepNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.channels = nn.ModuleList([ChannelEncoder() for _ in range(3)])
        self.head = nn.Sequential(nn.LayerNorm(96), nn.Linear(96, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 5))

    def forward(self, x):
        return self.head(torch.cat([enc(x[:, i]) for i, enc in enumerate(self.channels)], dim=1))


recordings, hypnograms = export()
psg, labels = read(recordings), read(hypnograms)
x_train, y_train = np.concatenate(psg[:32]), np.concatenate(labels[:32])
x_test, y_test = np.concatenate(psg[32:]), np.concatenate(labels[32:])
mean, std = x_train.mean(), x_train.std()
x_train, x_test = torch.tensor((x_train - mean) / std), torch.tensor((x_test - mean) / std)
y_train, y_test = torch.tensor(y_train), torch.tensor(y_test)

train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)
net = SleepNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(6):
    net.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    net.eval()
    with torch.no_grad():
        pred = net(x_test).argmax(1)
    acc = (pred == y_test).float().mean().item()
    print(f"epoch {epoch + 1} loss {total / len(y_train):.4f} test accuracy {acc:.4f}")
for s, name in enumerate(STAGES):
    print(f"{name}: {int((y_test == s).sum())} epochs, predicted {int((pred == s).sum())}")
print("RESULT test_accuracy", f"{acc:.4f}")
