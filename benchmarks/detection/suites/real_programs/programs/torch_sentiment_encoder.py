"""A small encoder like RoBERTa is fine-tuned in full to tell good film reviews from bad ones.

It is trained already to fill in masked words. AdamW's rate of 0.005 is far too high for it, and accuracy stays at a
half for all epochs (fixed: 0.0003).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)
VOCAB, LENGTH, MASK = 122, 16, 1
GOOD, BAD, NOT = np.arange(2, 22), np.arange(22, 42), 42
TOPICS = np.arange(43, VOCAB).reshape(-1)


def make_review():
    label = rng.integers(0, 2)
    topic = rng.integers(0, 6)
    words = TOPICS[(topic * 13 + rng.integers(0, 13, LENGTH)) % len(TOPICS)].copy()
    for p in rng.choice(LENGTH // 2 - 1, 5, replace=False) * 2 + 1:
        positive = label if rng.random() < 0.95 else 1 - label
        if rng.random() < 0.1:
            words[p], positive = NOT, 1 - positive
        words[p + 1] = rng.choice(GOOD if positive else BAD)
    return words, label


def make_set(n):
    pairs = [make_review() for _ in range(n)]
    return torch.tensor(np.stack([p[0] for p in pairs])), torch.tensor([int(p[1]) for p in pairs])


class Encoder(nn.Module):
    def __init__(self, dim=48, layers=4):
        super().__init__()
        self.words = nn.Embedding(VOCAB, dim)
        self.places = nn.Embedding(LENGTH, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.1, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, x):
        return self.layers(self.words(x) + self.places(torch.arange(x.shape[1])))


encoder = Encoder()
language_head = nn.Linear(48, VOCAB)
corpus, _ = make_set(3000)
pretrain = torch.optim.AdamW(list(encoder.parameters()) + list(language_head.parameters()), lr=5e-4)
for _ in range(250):
    x = corpus[torch.randint(0, len(corpus), (32,))]
    hidden = torch.rand(x.shape) < 0.15
    scores = language_head(encoder(x.masked_fill(hidden, MASK)))
    loss = nn.functional.cross_entropy(scores[hidden], x[hidden])
    pretrain.zero_grad()
    loss.backward()
    pretrain.step()
print(f"masked words: loss {loss.item():.3f}")

train_x, train_y = make_set(1760)
val_x, val_y = make_set(400)


class Classifier(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.dense = nn.Linear(48, 48)
        self.out = nn.Linear(48, 2)

    def forward(self, x):
        first = self.encoder(x)[:, 0]
        return self.out(torch.tanh(self.dense(first)))


model = Classifier(encoder)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4 if FIXED else 5e-3, weight_decay=0.1)
criterion = nn.CrossEntropyLoss()


def accuracy(x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


for epoch in range(4):
    model.train()
    order = torch.randperm(len(train_x))
    for start in range(0, len(order), 16):
        idx = order[start : start + 16]
        loss = criterion(model(train_x[idx]), train_y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    train_accuracy, val_accuracy = accuracy(train_x[:400], train_y[:400]), accuracy(val_x, val_y)
    print(f"Ep {epoch + 1} loss {loss.item():.3f} train accuracy {train_accuracy:.3f}", end=" ")
    print(f"validation accuracy {val_accuracy:.3f}")

print("RESULT val_accuracy", f"{accuracy(val_x, val_y):.4f}")
