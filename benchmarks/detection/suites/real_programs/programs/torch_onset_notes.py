"""A recurrent network for transcribing singing marks the frames of a mel spectrogram in which a note begins.

The onset loss of a segment is divided by the sum of its onset weights. A segment without an onset makes that 0 / 0,
and one such segment turns all the weights into NaN (fixed: a small epsilon in the denominator).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(5)
rng = np.random.RandomState(5)

N_MEL, FRAMES = 32, 60


def sing():
    x = 0.35 * rng.randn(FRAMES, N_MEL)
    onset = np.zeros(FRAMES)
    t = rng.randint(0, 70)
    while t < FRAMES:
        length = rng.randint(8, 25)
        pitch = rng.uniform(4, 27)
        end = min(FRAMES, t + length)
        shape = np.exp(-0.5 * ((np.arange(N_MEL) - pitch) / 1.3) ** 2)
        x[t:end] += 1.6 * shape[None] * np.exp(-np.arange(end - t) / 20)[:, None]
        onset[t] = 1
        t = end + rng.choice([0, 0, 4, 30])
    return x.astype("float32"), onset.astype("float32")


def make(n):
    pairs = [sing() for _ in range(n)]
    return torch.tensor(np.stack([p[0] for p in pairs])), torch.tensor(np.stack([p[1] for p in pairs]))


x_train, onset_train = make(300)
x_test, onset_test = make(80)


class Transcriber(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(N_MEL, 48, 5, padding=2), nn.ReLU())
        self.lstm = nn.LSTM(48, 32, batch_first=True, bidirectional=True)
        self.onset = nn.Linear(64, 1)

    def forward(self, x):
        h = self.conv(x.transpose(1, 2)).transpose(1, 2)
        return self.onset(self.lstm(h)[0]).squeeze(-1)


model = Transcriber()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
onset_criterion = nn.BCEWithLogitsLoss(reduction="none")

for epoch in range(6):
    model.train()
    total = 0.0
    for i in torch.randperm(len(x_train)).tolist():
        onset_prob = onset_train[i : i + 1]
        onset_logits = model(x_train[i : i + 1])
        loss_frames = onset_criterion(onset_logits, onset_prob)
        on_weight = onset_prob
        off_weight = 1 - onset_prob
        if FIXED:
            on_loss = torch.dot(loss_frames[0], on_weight[0]) / (torch.sum(on_weight) + 1e-5)
        else:
            on_loss = torch.dot(loss_frames[0], on_weight[0]) / torch.sum(on_weight)
        off_loss = torch.dot(loss_frames[0], off_weight[0]) / torch.sum(off_weight)
        loss = 0.3 * on_loss + off_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch + 1} loss {total / len(x_train):.4f}")

model.eval()
with torch.no_grad():
    found = model(x_test) > 0
tp = (found & (onset_test > 0)).sum().item()
f1 = 2 * tp / max(1, found.sum().item() + (onset_test > 0).sum().item())
print("RESULT onset_f1", f"{f1:.4f}")
