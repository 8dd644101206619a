"""A GRU encoder and a GRU decoder with attention write a summary, the keywords of a text in their order.

``NLLLoss`` is given the probabilities of a softmax (fixed: ``log_softmax``).
"""

import sys

import torch
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(5)

VOCAB, KEYS, LENGTH, KEEP, DIM = 300, 60, 9, 3, 48
BOS = 0


def make(n):
    plain = torch.randint(1 + KEYS, VOCAB, (n, LENGTH))
    spots = torch.rand(n, LENGTH).argsort(1)[:, :KEEP].sort(1).values
    keys = torch.randint(1, 1 + KEYS, (n, KEEP))
    text = plain.scatter(1, spots, keys)
    return text, keys


x_train, y_train = make(6000)
x_test, y_test = make(500)


class Summarizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.encoder = nn.GRU(DIM, DIM, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * DIM, DIM)
        self.decoder = nn.GRU(DIM, DIM, batch_first=True)
        self.query = nn.Linear(DIM, 2 * DIM)
        self.out = nn.Linear(3 * DIM, VOCAB)

    def forward(self, text, previous):
        states, h = self.encoder(self.embed(text))
        h = torch.tanh(self.bridge(torch.cat([h[0], h[1]], 1))).unsqueeze(0)
        d, _ = self.decoder(self.embed(previous), h)
        attention = torch.softmax(self.query(d) @ states.transpose(1, 2), -1)
        x = self.out(torch.cat([d, attention @ states], -1))
        if FIXED:
            return functional.log_softmax(x, dim=-1)
        return functional.softmax(x, dim=-1)


def shifted(y):
    return torch.cat([torch.full((len(y), 1), BOS), y[:, :-1]], 1)


model = Summarizer()
criterion = nn.NLLLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.004)

for epoch in range(6):
    order = torch.randperm(len(x_train))
    total = 0.0
    for i in range(0, len(order), 60):
        idx = order[i : i + 60]
        optimizer.zero_grad()
        scores = model(x_train[idx], shifted(y_train[idx]))
        loss = criterion(scores.reshape(-1, VOCAB), y_train[idx].reshape(-1))
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch + 1} loss {total / 100:.4f}")

model.eval()
with torch.no_grad():
    words = torch.full((len(x_test), 1), BOS)
    for _ in range(KEEP):
        words = torch.cat([words, model(x_test, words)[:, -1:].argmax(-1)], 1)
    acc = (words[:, 1:] == y_test).float().mean().item()
print("RESULT test_token_accuracy", f"{acc:.4f}")
