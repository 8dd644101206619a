"""Naming the movement in short videos: images to features, then an LSTM that takes (time, batch) but gets (batch, time)

(fixed: both axes are swapped before the LSTM and back after it).
"""

import sys

import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
SIZE, FRAMES = 8, 6


def videos(count):
    """Return videos of a square that goes left or right from anywhere, and which of both it does."""
    labels = torch.randint(2, (count,))
    clips = 0.1 * torch.randn(count, FRAMES, 1, SIZE, SIZE)
    for clip, label in zip(clips, labels, strict=True):
        row, column = torch.randint(SIZE, (2,)).tolist()
        for frame in range(FRAMES):
            left = column + (-frame, frame)[label]
            rows, columns = (torch.arange(start, start + 3) % SIZE for start in (row, left))
            clip[frame, 0, rows[:, None], columns] += 1
    return clips, labels


class EncoderCNN(nn.Module):
    """Features of each frame."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.fc = nn.Linear(8 * 16, 32)

    def forward(self, x):
        frames = functional.relu(self.conv(x.flatten(0, 1))).flatten(1)
        return functional.relu(self.fc(frames)).view(*x.shape[:2], -1)


class DecoderRNN(nn.Module):
    """Classes of a sequence of features."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(32, 48)
        self.fc1 = nn.Linear(48, 32)
        self.fc2 = nn.Linear(32, 2)

    def forward(self, x):
        if fixed:
            x = x.transpose(0, 1)
        out, _ = self.lstm(x)
        if fixed:
            out = out.transpose(0, 1)
        return self.fc2(functional.relu(self.fc1(out[:, -1])))


def evaluate():
    encoder.eval()
    decoder.eval()
    with torch.no_grad():
        hits = [(decoder(encoder(x_test[rows])).argmax(1) == y_test[rows]) for rows in torch.arange(256).split(64)]
    return float(torch.cat(hits).float().mean())


(x, y), (x_test, y_test) = videos(1280), videos(256)
encoder, decoder = EncoderCNN(), DecoderRNN()
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=5e-3)
for epoch in range(12):
    encoder.train()
    decoder.train()
    for batch in torch.randperm(len(x)).split(64):
        optimizer.zero_grad()
        loss = functional.cross_entropy(decoder(encoder(x[batch])), y[batch])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), evaluate())
print("RESULT accuracy", evaluate())
