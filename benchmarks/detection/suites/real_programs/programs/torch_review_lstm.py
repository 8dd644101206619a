"""An LSTM tells good reviews from bad ones, each filled up with zeros to 256 words at its end.

The classifier takes the last hidden state, after up to two hundred fillers, in which nothing of the review is left,
and guesses (fixed: the sequences are packed, so that the last state is that after the last word).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)
VOCAB, MAX_LEN = 800, 256


def make_reviews(n):
    ids = np.zeros((n, MAX_LEN), dtype=np.int64)
    labels = rng.integers(0, 2, n)
    lengths = rng.integers(15, 90, n)
    for i in range(n):
        words = rng.integers(101, VOCAB, lengths[i])
        telling = rng.random(lengths[i]) < 0.15
        agrees = rng.random(lengths[i]) < 0.85
        sentiment = np.where(agrees, labels[i], 1 - labels[i])
        words = np.where(telling, rng.integers(1, 51, lengths[i]) + 50 * sentiment, words)
        ids[i, : lengths[i]] = words
    return torch.tensor(ids), torch.tensor(lengths), torch.tensor(labels, dtype=torch.float32)[:, None]


train_x, train_len, train_y = make_reviews(1600)
test_x, test_len, test_y = make_reviews(400)


class SentimentLSTM(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, 50, padding_idx=0)
        self.lstm = nn.LSTM(50, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x, lengths):
        x = self.embedding(x)
        if FIXED:
            x = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        _, (h_n, _) = self.lstm(x)
        return self.fc(h_n[-1])


model = SentimentLSTM()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def accuracy():
    model.eval()
    with torch.no_grad():
        pred = torch.sigmoid(model(test_x, test_len)) > 0.5
    return (pred.float() == test_y).float().mean().item()


for epoch in range(6):
    model.train()
    order = torch.randperm(len(train_x))
    total = 0.0
    for start in range(0, len(order), 64):
        idx = order[start : start + 64]
        loss = criterion(model(train_x[idx], train_len[idx]), train_y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    print(f"epoch {epoch + 1} train loss {total / len(order):.4f} test accuracy {accuracy():.4f}")

print("RESULT test_accuracy", f"{accuracy():.4f}")
