"""A sentence classifier weighs two kinds of word vectors against each other, word by word (dynamic meta-embeddings).

The dropout of the embeddings is functional.dropout without the flag ``training``, so it also drops half of each vector
when the model is tested in eval mode (fixed: training=self.training).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
np.random.seed(0)
torch.manual_seed(0)
torch.set_num_threads(1)

WORDS, CLASSES, LENGTH = 300, 5, 10


def sentences(n, rng, lean):
    labels = rng.randint(0, CLASSES, size=n)
    tokens = np.stack([rng.choice(WORDS, size=LENGTH, p=lean[c]) for c in labels])
    return torch.from_numpy(tokens).long(), torch.from_numpy(labels).long()


class DME(nn.Module):
    def __init__(self, dim=24, emb_dropout=0.5):
        super().__init__()
        self.emb_dropout = emb_dropout
        self.glove = nn.Embedding(WORDS, 20)
        self.fasttext = nn.Embedding(WORDS, 30)
        self.project = nn.ModuleList([nn.Linear(20, dim), nn.Linear(30, dim)])
        self.attention = nn.Linear(dim, 1)
        self.hidden = nn.Linear(dim, 48)
        self.classifier = nn.Linear(48, CLASSES)

    def embed(self, words):
        vectors = torch.stack([p(e(words)) for p, e in zip(self.project, (self.glove, self.fasttext), strict=True)], 2)
        weights = torch.softmax(self.attention(vectors), 2)
        out = (weights * vectors).sum(2)
        if FIXED:
            return functional.dropout(out, p=self.emb_dropout, training=self.training)
        return functional.dropout(out, p=self.emb_dropout)

    def forward(self, words):
        x = self.embed(words).mean(1)
        return self.classifier(functional.relu(self.hidden(x)))


rng = np.random.RandomState(2)
lean = np.exp(rng.normal(0, 0.75, size=(CLASSES, WORDS)))
lean /= lean.sum(1, keepdims=True)
train_loader = DataLoader(TensorDataset(*sentences(6000, rng, lean)), batch_size=64, shuffle=True)
test_words, test_labels = sentences(2000, rng, lean)

model = DME()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(7):
    model.train()
    running = 0.0
    for words, label in train_loader:
        loss = functional.cross_entropy(model(words), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        logits = model(test_words)
        accuracy = (logits.argmax(1) == test_labels).float().mean().item()
    print("epoch", epoch + 1, "loss", round(running / len(train_loader), 4), "test accuracy", round(accuracy, 4))
print("RESULT test_accuracy", f"{accuracy:.4f}")
