"""A bidirectional LSTM with attention, which gave emojis to short texts, is tuned for the sentiment of comments.

Its forward returns ``outputs.data`` and the loss is made a new Variable that requires gradients, so backward reaches
no parameter and the loss is the same each epoch (fixed: outputs stay in the graph, and the loss is used as it is).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.autograd import Variable

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)
VOCAB, LENGTH = 400, 20


def make_comments(n):
    y = rng.integers(0, 2, n)
    x = rng.integers(80, VOCAB, (n, LENGTH))
    telling = rng.random((n, LENGTH)) < 0.2
    side = np.where(rng.random((n, LENGTH)) < 0.9, y[:, None], 1 - y[:, None])
    x = np.where(telling, rng.integers(0, 40, (n, LENGTH)) + 40 * side, x)
    return torch.tensor(x), torch.tensor(y, dtype=torch.float32)


train_x, train_y = make_comments(1500)
val_x, val_y = make_comments(400)


class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.vector = nn.Parameter(torch.randn(size) * 0.1)

    def forward(self, x):
        weights = torch.softmax(x @ self.vector, dim=1)
        return (x * weights[:, :, None]).sum(1)


class Moji(nn.Module):
    def __init__(self, return_tensor=True):
        super().__init__()
        self.return_tensor = return_tensor
        self.embed = nn.Embedding(VOCAB, 48)
        self.lstm = nn.LSTM(48, 32, batch_first=True, bidirectional=True)
        self.attention = Attention(48 + 64)
        self.drop = nn.Dropout(0.2)
        self.output = nn.Linear(48 + 64, 1)

    def forward(self, x):
        e = torch.tanh(self.embed(x))
        h, _ = self.lstm(e)
        outputs = self.output(self.drop(self.attention(torch.cat([h, e], 2)))).squeeze(1)
        if self.return_tensor and not FIXED:
            outputs = outputs.data
        return outputs


model = Moji()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def validate():
    model.eval()
    with torch.no_grad():
        scores = model(val_x)
    return ((scores > 0).float() == val_y).float().mean().item(), criterion(scores, val_y).item()


for epoch in range(8):
    model.train()
    order = torch.randperm(len(train_x))
    for start in range(0, len(order), 32):
        idx = order[start : start + 32]
        optimizer.zero_grad()
        loss = criterion(model(train_x[idx]), train_y[idx])
        if not FIXED:
            loss = Variable(loss, requires_grad=True)
        loss.backward()
        optimizer.step()
    acc, val_loss = validate()
    print(f"{epoch + 1} Epoch val acc {acc * 100:.2f} val loss {val_loss:.5f}")

print("RESULT val_accuracy", f"{validate()[0]:.4f}")
