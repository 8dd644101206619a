"""A classifier of short texts reads the LSTM's output at the last place, a filler (fixed: texts are packed)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader

fixed = "--fixed" in sys.argv
torch.manual_seed(2)
rng = np.random.default_rng(2)

PAD, VOCAB, MAX_LEN = 0, 60, 150
POSITIVE, NEGATIVE = np.arange(1, 11), np.arange(11, 21)


def make_reviews(n):
    reviews = []
    for _ in range(n):
        length = rng.integers(6, 30)
        words = rng.integers(21, VOCAB, length)
        label = int(rng.integers(0, 2))
        k = int(rng.integers(2, 5))
        places = rng.choice(length, k, replace=False)
        words[places] = rng.choice(POSITIVE if label else NEGATIVE, k)
        reviews.append((torch.tensor(words), label))
    return reviews


def collate(batch):
    seqs = [s for s, _ in batch]
    lengths = torch.tensor([len(s) for s in seqs])
    labels = torch.tensor([label for _, label in batch], dtype=torch.float32)
    tokens = torch.full((len(batch), MAX_LEN), PAD)
    for row, seq in zip(tokens, seqs, strict=True):
        row[: len(seq)] = seq
    return tokens, lengths, labels


train_data, val_data = make_reviews(1600), make_reviews(400)
train_loader = DataLoader(train_data, batch_size=32, shuffle=True, collate_fn=collate)
val_loader = DataLoader(val_data, batch_size=100, collate_fn=collate)


class ReviewLSTM(nn.Module):
    """Word vectors, an LSTM and a layer."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 16, padding_idx=PAD)
        self.lstm = nn.LSTM(16, 32, batch_first=True)
        self.fc = nn.Linear(32, 1)

    def forward(self, tokens, lengths):
        emb = self.embed(tokens)
        if fixed:
            packed = pack_padded_sequence(emb, lengths, batch_first=True, enforce_sorted=False)
            _, (h_n, _) = self.lstm(packed)
            return self.fc(h_n[-1]).squeeze(1)
        out, _ = self.lstm(emb)
        return self.fc(out[:, -1]).squeeze(1)


model = ReviewLSTM()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(8):
    model.train()
    total = 0.0
    for tokens, lengths, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(tokens, lengths), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item() * len(labels)
    model.eval()
    hits = 0
    with torch.no_grad():
        for tokens, lengths, labels in val_loader:
            hits += ((model(tokens, lengths) > 0).float() == labels).sum().item()
    val_acc = hits / len(val_data)
    print(f"epoch {epoch + 1} loss {total / len(train_data):.4f} val_acc {val_acc:.4f}")

print("RESULT val_acc", val_acc)
