"""A transformer encoder is trained as a language model over words.

It gets no causal mask, so in training each position sees the next word, which is its target (fixed: a causal mask). The
result is the accuracy of the word that follows the beginning of a sentence.
"""

import math
import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
V, BPTT, D = 40, 24, 48


def corpus(n):
    table = np.random.default_rng(5).permutation(V)
    alt = np.random.default_rng(6).permutation(V)
    out = [0]
    for _ in range(n):
        u = rng.random()
        out.append(table[out[-1]] if u < 0.8 else alt[out[-1]] if u < 0.92 else rng.integers(V))
    return torch.tensor(np.array(out))


def batchify(data, bs):
    n = len(data) // bs
    return data[: n * bs].view(bs, n).t().contiguous()


train, val = batchify(corpus(24000), 20), batchify(corpus(4000), 10)


class PositionalEncoding(nn.Module):
    def __init__(self, d, max_len=200):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        pe = torch.zeros(max_len, 1, d)
        pe[:, 0, 0::2] = torch.sin(pos * div)
        pe[:, 0, 1::2] = torch.cos(pos * div)
        self.register_buffer("pe", pe)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.dropout(x + self.pe[: x.size(0)])


class TransformerModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(V, D)
        self.pos_encoder = PositionalEncoding(D)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(D, 2, 96, 0.1), 2, enable_nested_tensor=False)
        self.linear = nn.Linear(D, V)

    def forward(self, src, src_mask=None):
        if fixed and src_mask is None:
            src_mask = nn.Transformer.generate_square_subsequent_mask(len(src))
        x = self.pos_encoder(self.embedding(src) * math.sqrt(D))
        return self.linear(self.encoder(x, src_mask))


def get_batch(source, i):
    n = min(BPTT, len(source) - 1 - i)
    return source[i : i + n], source[i + 1 : i + 1 + n].reshape(-1)


model, criterion = TransformerModel(), nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def evaluate(source):
    model.eval()
    tot = 0
    with torch.no_grad():
        for i in range(0, source.size(0) - 1, BPTT):
            d, t = get_batch(source, i)
            tot += len(d) * criterion(model(d).view(-1, V), t).item()
    return tot / (len(source) - 1)


for epoch in range(1, 13):
    model.train()
    total = 0
    for i in range(0, train.size(0) - 1, BPTT):
        data, targets = get_batch(train, i)
        loss = criterion(model(data).view(-1, V), targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        total += loss.item()
    v = evaluate(val)
    print(f"epoch {epoch} loss {total / (len(train) / BPTT):.3f} val loss {v:.3f} val ppl {math.exp(v):.2f}")

# let the model continue beginnings of sentences
model.eval()
hit = n = 0
with torch.no_grad():
    for i in range(0, len(val) - BPTT - 1, 7):
        k = 6 + i % 15
        nxt = model(val[i : i + k])[-1].argmax(-1)
        hit += (nxt == val[i + k]).sum().item()
        n += len(nxt)
print("RESULT next_word_accuracy", round(hit / n, 4))
