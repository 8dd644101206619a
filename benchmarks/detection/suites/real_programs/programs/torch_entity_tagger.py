"""The group of the output layer is filled, but not given to the optimizer (fixed: appended)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(3)
rng = np.random.default_rng(3)

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"]
VOCAB, LENGTH = 200, 12
START = {20: (1, 2), 21: (1, 2), 22: (3, 4), 23: (3, 4), 24: (5, 6), 25: (5, 6)}


def sentence():
    words, tags = [], []
    while len(words) < LENGTH:
        if rng.random() < 0.25:
            first = int(rng.integers(20, 26))
            begin, inside = START[first]
            words.append(first)
            tags.append(begin)
            for _ in range(rng.integers(0, 3)):
                words.append(int(rng.integers(100, 140)))
                tags.append(inside)
        else:
            words.append(int(rng.integers(30, 100)))
            tags.append(0)
    return words[:LENGTH], tags[:LENGTH]


data = [sentence() for _ in range(1500)]
x = torch.tensor([w for w, _ in data])
y = torch.tensor([t for _, t in data])
train_loader = DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=16, shuffle=True)
dev_x, dev_y = x[1200:], y[1200:]


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder_emb = nn.Embedding(VOCAB, 48)
        self.encoder_lstm = nn.LSTM(48, 64, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(128, len(TAGS))

    def forward(self, tokens):
        out, _ = self.encoder_lstm(self.encoder_emb(tokens))
        return self.fc(out)


model = Tagger()

parameters = []
params = {"lr": 2e-4, "weight_decay": 1e-2, "params": []}
for name, param in model.named_parameters():
    if "encoder" in name:
        params["params"].append(param)
parameters.append(params)

params = {"lr": 5e-3, "weight_decay": 1e-2, "params": []}
for name, param in model.named_parameters():
    if name.startswith("fc"):
        params["params"].append(param)
if fixed:
    parameters.append(params)

optimizer = torch.optim.AdamW(parameters)
criterion = nn.CrossEntropyLoss()

for epoch in range(10):
    model.train()
    total = 0.0
    for tokens, tags in train_loader:
        optimizer.zero_grad()
        logits = model(tokens)
        loss = criterion(logits.reshape(-1, len(TAGS)), tags.reshape(-1))
        loss.backward()
        optimizer.step()
        total += loss.item() * len(tokens)
    model.eval()
    with torch.no_grad():
        pred = model(dev_x).argmax(-1)
    entity = dev_y > 0
    recall = (pred[entity] == dev_y[entity]).float().mean().item()
    acc = (pred == dev_y).float().mean().item()
    print(f"epoch {epoch + 1}: train loss {total / 1200:.4f}  dev acc {acc:.3f}  entity recall {recall:.3f}")

print("RESULT val_recall", recall)
