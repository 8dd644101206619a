"""A convolutional and recurrent network with CTC reads strips of three handwritten digits.

It has only 15 strips to learn from, which it learns by heart: the loss gets low, but most new strips are read wrongly
(fixed: 4000 strips, and as many updates).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
rng = np.random.default_rng(0)
torch.manual_seed(0)

images, labels = load_digits(return_X_y=True)
images = images.reshape(-1, 8, 8).astype(np.float32) / 16
order = rng.permutation(len(images))
TRAIN, TEST = order[:1400], order[1400:]


def strips(rows, n):
    picked = rng.choice(rows, (n, 3))
    pictures = np.concatenate([images[picked[:, k]] for k in range(3)], axis=2)
    return torch.from_numpy(pictures)[:, None], torch.tensor(labels[picked] + 1)


class CRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d((2, 1)),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d((2, 2)),
        )
        self.rnn = nn.GRU(32 * 2, 32, bidirectional=True, batch_first=True)
        self.out = nn.Linear(64, 11)

    def forward(self, x):
        x = self.cnn(x)
        x = x.permute(0, 3, 1, 2).flatten(2)
        return self.out(self.rnn(x)[0]).log_softmax(2)


x_train, y_train = strips(TRAIN, 4000 if FIXED else 15)
x_test, y_test = strips(TEST, 500)
model = CRNN()
criterion = nn.CTCLoss(blank=0)
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)

for step in range(500):
    rows = torch.randint(0, len(x_train), (32,))
    log_probs = model(x_train[rows]).transpose(0, 1)
    loss = criterion(log_probs, y_train[rows], torch.full((32,), log_probs.size(0)), torch.full((32,), 3))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print("step", step + 1, "loss", round(loss.item(), 4))


def decode(path):
    read, last = [], 0
    for symbol in path:
        if symbol not in (last, 0):
            read.append(symbol)
        last = symbol
    return read


model.eval()
with torch.no_grad():
    paths = model(x_test).argmax(2).tolist()
right = sum(decode(p) == y for p, y in zip(paths, y_test.tolist(), strict=True))
print("RESULT test_accuracy", f"{right / len(y_test):.4f}")
