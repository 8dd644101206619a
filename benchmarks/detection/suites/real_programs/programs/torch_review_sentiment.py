"""A GRU without ``batch_first`` takes the reviews of a batch for time steps (fixed: with it)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)

MAXFEATURES, MAXLEN = 400, 30
EMBEDSIZE, NUMHIDDEN = 24, 32
BATCHSIZE, EPOCHS = 64, 5

good, bad = np.arange(10, 40), np.arange(40, 70)


def reviews(n):
    x = np.zeros((n, MAXLEN), dtype=np.int64)
    y = rng.integers(0, 2, size=n)
    for i in range(n):
        length = rng.integers(12, MAXLEN + 1)
        words = rng.integers(70, MAXFEATURES, size=length)
        marked = rng.random(length) < 0.25
        own, other = (good, bad) if y[i] == 1 else (bad, good)
        mostly = rng.random(length) < 0.9
        words[marked & mostly] = rng.choice(own, size=(marked & mostly).sum())
        words[marked & ~mostly] = rng.choice(other, size=(marked & ~mostly).sum())
        x[i, MAXLEN - length :] = words
    return torch.tensor(x), torch.tensor(y)


train_x, train_y = reviews(3200)
test_x, test_y = reviews(640)
train_loader = DataLoader(TensorDataset(train_x, train_y), batch_size=BATCHSIZE, shuffle=True)
test_loader = DataLoader(TensorDataset(test_x, test_y), batch_size=BATCHSIZE)


class SymbolModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(num_embeddings=MAXFEATURES, embedding_dim=EMBEDSIZE)
        self.gru = nn.GRU(
            input_size=EMBEDSIZE, hidden_size=NUMHIDDEN, num_layers=1, batch_first=fixed, bidirectional=False
        )
        self.l_out = nn.Linear(in_features=NUMHIDDEN, out_features=2)

    def forward(self, x):
        x = self.embedding(x)
        x, _ = self.gru(x)
        x = x[:, -1, :]
        return self.l_out(x)


model = SymbolModule()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for data, target in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(data), target)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(target)
    model.eval()
    hits = 0
    with torch.no_grad():
        for data, target in test_loader:
            hits += (model(data).argmax(1) == target).sum().item()
    print(f"epoch {epoch}: train loss {total / len(train_y):.4f}  test accuracy {hits / len(test_y):.3f}")

print("RESULT test_acc", hits / len(test_y))
