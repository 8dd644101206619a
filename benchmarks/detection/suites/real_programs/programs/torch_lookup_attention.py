"""A query attends to the items of its context, and the value that it finds there is classified.

The softmax of the attention runs over the batch in place of the items, so samples compete with each other
(fixed: softmax over the last dimension).
"""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
np.random.seed(0)
torch.set_num_threads(1)

KEYS, VALUES, LENGTH, DIM = 20, 12, 8, 48


class Attention(nn.Module):
    """Applies attention of ``query`` (batch, output_len, dim) over ``context`` (batch, query_len, dim)."""

    def __init__(self, dimensions, attention_type="general"):
        super().__init__()
        self.attention_type = attention_type
        if attention_type == "general":
            self.linear_in = nn.Linear(dimensions, dimensions, bias=False)
        self.linear_out = nn.Linear(dimensions * 2, dimensions, bias=False)
        self.softmax = nn.Softmax(dim=-1) if fixed else nn.Softmax(dim=0)
        self.tanh = nn.Tanh()

    def forward(self, query, context):
        batch_size, output_len, dimensions = query.size()
        query_len = context.size(1)
        if self.attention_type == "general":
            query = self.linear_in(query.reshape(batch_size * output_len, dimensions))
            query = query.reshape(batch_size, output_len, dimensions)
        scores = torch.bmm(query, context.transpose(1, 2).contiguous())
        scores = scores.view(batch_size * output_len, query_len)
        weights = self.softmax(scores).view(batch_size, output_len, query_len)
        mix = torch.bmm(weights, context)
        combined = torch.cat((mix, query), dim=2).view(batch_size * output_len, 2 * dimensions)
        output = self.tanh(self.linear_out(combined).view(batch_size, output_len, dimensions))
        return output, weights


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = nn.Embedding(KEYS, DIM)
        self.value = nn.Embedding(VALUES, DIM)
        self.attention = Attention(DIM)
        self.out = nn.Linear(DIM, VALUES)

    def forward(self, keys, values, query):
        context = self.key(keys) + self.value(values)
        attended, _ = self.attention(self.key(query)[:, None], context)
        return self.out(attended.squeeze(1))


def make(n, rng):
    keys = np.stack([rng.permutation(KEYS)[:LENGTH] for _ in range(n)])
    values = rng.integers(0, VALUES, (n, LENGTH))
    place = rng.integers(0, LENGTH, n)
    rows = np.arange(n)
    return [torch.from_numpy(a) for a in (keys, values, keys[rows, place], values[rows, place])]


rng = np.random.default_rng(1)
train, test = make(6000, rng), make(1000, rng)
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(25):
    model.train()
    order = torch.randperm(6000)
    total = 0.0
    for i in range(0, 6000, 64):
        keys, values, query, target = [a[order[i : i + 64]] for a in train]
        loss = criterion(model(keys, values, query), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(target)
    model.eval()
    with torch.no_grad():
        acc = (model(*test[:3]).argmax(1) == test[3]).float().mean().item()
    print(f"epoch {epoch + 1} loss {total / 6000:.4f} test acc {acc:.4f}")
print("RESULT test_accuracy", f"{acc:.4f}")
