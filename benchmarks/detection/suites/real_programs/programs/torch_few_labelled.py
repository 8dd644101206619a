"""A transformer that classifies texts is trained on a small labelled pool.

It is validated several times within an epoch. The validation puts the model into evaluation mode and nothing puts it
back before the next epoch, so most of the training runs without dropout (fixed: ``model.train()`` after each
validation).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(1)
rng = np.random.RandomState(1)

VOCAB, LENGTH, CLASSES = 600, 20, 4
topic = rng.dirichlet(np.full(VOCAB, 0.08), CLASSES)
common = rng.dirichlet(np.full(VOCAB, 0.5))


def make(n):
    y = rng.randint(0, CLASSES, n)
    x = np.stack([rng.choice(VOCAB, LENGTH, p=0.22 * topic[c] + 0.78 * common) for c in y])
    return torch.tensor(x), torch.tensor(y)


x_train, y_train = make(1600)
x_valid, y_valid = make(300)
x_test, y_test = make(1000)


class Classifier(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, dim)
        self.position = nn.Parameter(torch.randn(LENGTH, dim) * 0.02)
        self.dropout = nn.Dropout(0.5)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.3, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.classifier = nn.Linear(dim, CLASSES)
        nn.init.normal_(self.embedding.weight, 0, 0.3)

    def forward(self, x):
        h = self.encoder(self.dropout(self.embedding(x) + self.position))
        return self.classifier(self.dropout(h.mean(1)))


model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
criterion = nn.CrossEntropyLoss()
validations_per_epoch = 6


def validate(x, y):
    model.eval()
    with torch.no_grad():
        out = model(x)
    return criterion(out, y).item(), (out.argmax(1) == y).float().mean().item()


def train_loop_process_batches(batches):
    total, n = 0.0, 0
    for idx in batches:
        optimizer.zero_grad()
        loss = criterion(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
        n += len(idx)
    return total / n


for epoch in range(13):
    model.train()
    batches = torch.randperm(len(x_train)).split(32)
    per_part = len(batches) // validations_per_epoch
    for part in range(validations_per_epoch):
        train_loss = train_loop_process_batches(batches[part * per_part : (part + 1) * per_part])
        valid_loss, valid_acc = validate(x_valid, y_valid)
        if FIXED:
            model.train()
    print(f"epoch {epoch} train loss {train_loss:.4f} valid loss {valid_loss:.4f} acc {valid_acc:.4f}")

test_loss, test_acc = validate(x_test, y_test)
print("test acc", round(test_acc, 4))
print("RESULT test_loss", f"{test_loss:.4f}")
