"""A reader of short words trains by RMSprop with a learning rate of 1 (fixed: of 0.0005)."""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
LETTERS, H, W = 8, 8, 32
font = (rng.rand(LETTERS + 1, H, 5) > 0.5).astype(np.float32)


def make_words(n):
    x = np.zeros((n, 1, H, W), dtype=np.float32)
    words = []
    for i in range(n):
        word = rng.randint(1, LETTERS + 1, rng.randint(2, 5))  # 0 is the blank
        pos = rng.randint(0, 3)
        for c in word:
            x[i, 0, :, pos : pos + 5] = font[c]
            pos += 6 + rng.randint(0, 2)
        words.append(word)
    x += 0.15 * rng.randn(*x.shape).astype(np.float32)
    return torch.tensor((x - 0.5) / 0.5), words


class CRNN(nn.Module):
    def __init__(self, nh=32):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 16, 3, 1, 1),
            nn.ReLU(True),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(16, 32, 3, 1, 1),
            nn.BatchNorm2d(32),
            nn.ReLU(True),
            nn.Conv2d(32, 32, (4, 1)),
            nn.ReLU(True),
        )
        self.rnn = nn.LSTM(32, nh, bidirectional=True)
        self.embedding = nn.Linear(2 * nh, LETTERS + 1)

    def forward(self, x):
        f = self.cnn(x).squeeze(2).permute(2, 0, 1)  # time, batch, features
        return self.embedding(self.rnn(f)[0])


def decode(logits):
    return [[c for k, c in enumerate(seq) if c and (k == 0 or c != seq[k - 1])] for seq in logits.argmax(2).T.tolist()]


train_x, train_w = make_words(1200)
val_x, val_w = make_words(200)
crnn = CRNN()
criterion = nn.CTCLoss()
lr = 0.0005 if fixed else 1.0
optimizer = torch.optim.RMSprop(crnn.parameters(), lr=lr)

for epoch in range(12):
    crnn.train()
    total = 0.0
    for idx in torch.randperm(len(train_x)).split(16):
        words = [train_w[i] for i in idx]
        preds = crnn(train_x[idx])
        cost = criterion(
            preds.log_softmax(2),
            torch.tensor(np.concatenate(words)),
            torch.full((len(idx),), preds.size(0)),
            torch.tensor([len(w) for w in words]),
        )
        crnn.zero_grad()
        cost.backward()
        optimizer.step()
        total += cost.item() * len(idx)
    crnn.eval()
    with torch.no_grad():
        out = decode(crnn(val_x))
    acc = np.mean([o == list(w) for o, w in zip(out, val_w, strict=True)])
    print(f"[{epoch}] Loss: {total / len(train_x):f}  accuracy: {acc:f}   {val_w[0].tolist()} => {out[0]}")

print("RESULT word_accuracy", f"{acc:.4f}")
