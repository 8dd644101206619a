"""A text classifier sums the embeddings of the words of a document and has one hidden layer of sigmoids.

The embedding keeps its default initialisation, a normal distribution of deviation 1, whose sums saturate the hidden
units (fixed: a small uniform range, as in linear layers).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(2)
rng = np.random.RandomState(2)

vocab, length, topics, dim = 2000, 300, 4, 100
base = rng.dirichlet(np.full(vocab, 0.3))
texts, labels = [], []
themes = [rng.choice(vocab, 100, replace=False) for _ in range(topics)]
for n in range(2400):
    t = n % topics
    words = rng.choice(vocab, length, p=base)
    spots = rng.rand(length) < 0.06
    words[spots] = rng.choice(themes[t], spots.sum())
    texts.append(words)
    labels.append(t)
texts = torch.tensor(np.array(texts))
labels = torch.tensor(labels)
order = torch.tensor(rng.permutation(len(texts)))
texts, labels = texts[order], labels[order]
train = DataLoader(TensorDataset(texts[:1920], labels[:1920]), batch_size=32, shuffle=True)
x_test, y_test = texts[1920:], labels[1920:]


class Topics(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.hidden = nn.Linear(dim, 64)
        self.out = nn.Linear(64, topics)
        if FIXED:
            bound = 1.0 / dim**0.5
            self.embedding.weight.data.uniform_(-bound, bound)

    def forward(self, words):
        x = self.embedding(words).sum(1)
        x = torch.sigmoid(self.hidden(x))
        return self.out(x)


model = Topics()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(12):
    total, right = 0.0, 0
    for words, target in train:
        optimizer.zero_grad()
        scores = model(words)
        loss = criterion(scores, target)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(words)
        right += (scores.argmax(1) == target).sum().item()
    print(f"epoch {epoch + 1} loss {total / 1920:.4f} accuracy {right / 1920:.3f}")

with torch.no_grad():
    acc = (model(x_test).argmax(1) == y_test).float().mean().item()
print("RESULT test_accuracy", f"{acc:.4f}")
