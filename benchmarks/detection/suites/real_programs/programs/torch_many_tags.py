"""A text classifier gives documents their tags out of 300, with one sigmoid for each tag.

Nearly always only one tag is right. Among 299 zeros for each one the loss is least with zeros everywhere, and after
some training it predicts no tag at all (fixed: a ``pos_weight`` in BCEWithLogitsLoss).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)
TAGS, VOCAB, LENGTH = 300, 1200, 12


keywords = rng.integers(0, VOCAB, (TAGS, 4))


def make_documents(n):
    words = rng.integers(0, VOCAB, (n, LENGTH))
    tags = np.zeros((n, TAGS), dtype=np.float32)
    for i in range(n):
        tag = rng.integers(0, TAGS)
        tags[i, tag] = 1
        places = rng.choice(LENGTH, 5, replace=False)
        words[i, places] = rng.choice(keywords[tag], 5)
    return torch.tensor(words), torch.tensor(tags)


train_x, train_y = make_documents(6000)
test_x, test_y = make_documents(1000)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 64)
        layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.out = nn.Linear(64, TAGS)

    def forward(self, x):
        return self.out(self.encoder(self.embed(x)).mean(1))


model = Tagger()
criterion = nn.BCEWithLogitsLoss(pos_weight=torch.full((TAGS,), 30.0)) if FIXED else nn.BCEWithLogitsLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)


def f1():
    model.eval()
    with torch.no_grad():
        pred = (torch.sigmoid(model(test_x)) > 0.5).float()
    hit = (pred * test_y).sum()
    return (2 * hit / (pred.sum() + test_y.sum())).item()


for epoch in range(10):
    model.train()
    order = torch.randperm(len(train_x))
    total = 0.0
    for start in range(0, len(order), 64):
        idx = order[start : start + 64]
        loss = criterion(model(train_x[idx]), train_y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    print(f"epoch {epoch + 1} loss {total / len(order):.5f} F1 {f1():.4f}")

print("RESULT test_f1", f"{f1():.4f}")
