"""A small recurrent language model learns made-up text by SGD.

Its gradients blow up, and the loss with them (fixed: gradient clipping).
"""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(5)
rng = np.random.RandomState(5)
VOCAB = 30
transitions = rng.dirichlet(np.full(VOCAB, 0.08), (VOCAB, 5))


def text(n):
    out, prev, old = [], 0, 0
    for _ in range(n):
        token = rng.choice(VOCAB, p=transitions[prev, old % 5])
        old, prev = prev, token
        out.append(token)
    return torch.tensor(out)


BATCH, BPTT = 20, 35
train = text(28000)[: 28000 // BATCH * BATCH].view(BATCH, -1).t().contiguous()
valid = text(4000).view(BATCH, -1).t().contiguous()


class RNNModel(nn.Module):
    def __init__(self, emb=48, hid=96):
        super().__init__()
        self.encoder = nn.Embedding(VOCAB, emb)
        self.rnn = nn.RNN(emb, hid, 2, nonlinearity="relu")
        self.decoder = nn.Linear(hid, VOCAB)
        for name, w in self.rnn.named_parameters():
            if "weight_hh" in name:
                nn.init.orthogonal_(w)

    def forward(self, x, h):
        out, h = self.rnn(self.encoder(x), h)
        return self.decoder(out), h


model = RNNModel()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=10)


def evaluate():
    model.eval()
    h, total, n = None, 0, 0
    with torch.no_grad():
        for i in range(0, valid.size(0) - 1, BPTT):
            x, y = valid[i : i + BPTT][: len(valid) - 1 - i], valid[i + 1 : i + 1 + BPTT]
            out_eval, h = model(x, h)
            total += criterion(out_eval.reshape(-1, VOCAB), y.reshape(-1)).item() * len(y)
            n += len(y)
    return total / n


for epoch in range(8):
    model.train()
    h, losses = None, []
    for i in range(0, train.size(0) - 1, BPTT):
        x, y = train[i : i + BPTT][: len(train) - 1 - i], train[i + 1 : i + 1 + BPTT]
        if h is not None:
            h = h.detach()
        optimizer.zero_grad()
        out, h = model(x, h)
        loss = criterion(out.reshape(-1, VOCAB), y.reshape(-1))
        loss.backward()
        if fixed:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        losses.append(loss.item())
    print(f"| epoch {epoch} | train loss {np.mean(losses):.4f} | valid loss {evaluate():.4f}")
print("RESULT valid_loss", f"{evaluate():.4f}")
