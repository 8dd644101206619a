"""``model.train()`` stands before the epochs, so dropout ends with the first evaluation (fixed: in each epoch)."""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)

PAD, START, END = 0, 1, 2
TOPICS, WORDS = 5, 6
FIRST_ASK, FIRST_FILL = 3, 3 + TOPICS * WORDS
FIRST_REPLY = FIRST_FILL + 40
VOCAB = FIRST_REPLY + TOPICS * 3


def make_dialogues(n):
    # two short user turns with filler words, the shop's reply depends on the topics of both
    context, reply = [], []
    for _ in range(n):
        topics = rng.integers(0, TOPICS, 2)
        turns = []
        for t in topics:
            turn = rng.integers(FIRST_FILL, FIRST_REPLY, 6)
            where = rng.choice(6, 2, replace=False)
            turn[where] = FIRST_ASK + t * WORDS + rng.integers(0, WORDS, 2)
            turns.append(turn)
        answer = [FIRST_REPLY + t * 3 + rng.integers(0, 3) for t in topics]
        context.append(turns)
        reply.append([START, *answer, END])
    return torch.tensor(np.array(context)), torch.tensor(np.array(reply))


class HRED(nn.Module):
    """A recurrent encoder of turns, one of dialogues, and a decoder of replies, with dropout between them."""

    def __init__(self, emb=32, hidden=64, dropout=0.4):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, emb, padding_idx=PAD)
        self.encoder = nn.GRU(emb, hidden, batch_first=True)
        self.context = nn.GRU(hidden, hidden, batch_first=True)
        self.decoder = nn.GRU(emb, hidden, batch_first=True)
        self.out = nn.Linear(hidden, VOCAB)
        self.dropout = nn.Dropout(dropout)

    def forward(self, turns, dec_input):
        b, n, length = turns.shape
        emb = self.dropout(self.embedding(turns.reshape(b * n, length)))
        _, h = self.encoder(emb)
        _, c = self.context(self.dropout(h[0].reshape(b, n, -1)))
        out, _ = self.decoder(self.dropout(self.embedding(dec_input)), self.dropout(c))
        return self.out(self.dropout(out))


train_data = make_dialogues(800)
valid_data = make_dialogues(500)
model = HRED()
criterion = nn.CrossEntropyLoss(ignore_index=PAD)
optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
batch_size = 50


def evaluate(data):
    model.eval()
    turns, reply = data
    with torch.no_grad():
        logits = model(turns, reply[:, :-1])
        return criterion(logits.reshape(-1, VOCAB), reply[:, 1:].reshape(-1)).item()


if not fixed:
    model.train()
for epoch in range(30):
    if fixed:
        model.train()
    total = 0.0
    order = torch.randperm(len(train_data[0]))
    for idx in order.split(batch_size):
        turns, reply = train_data[0][idx], train_data[1][idx]
        optimizer.zero_grad()
        logits = model(turns, reply[:, :-1])
        loss = criterion(logits.reshape(-1, VOCAB), reply[:, 1:].reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item() * len(idx)
    train_loss = total / len(order)
    valid_loss = evaluate(valid_data)
    valid = f"valid loss {valid_loss:.4f}, valid perplexity {np.exp(valid_loss):.3f}"
    print(f"Epoch [{epoch + 1}] train loss {train_loss:.4f}, {valid}")

print("RESULT val_loss", valid_loss)
