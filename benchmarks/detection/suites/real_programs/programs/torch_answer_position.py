"""A reader with self-attention finds the position of an answer in a passage.

The results of the heads lie in a tensor (heads, batch, length, depth) that is viewed as (batch, length, -1), so each
sample gets pieces of the heads of other samples and positions (fixed: the tensor is permuted to (batch, length, heads,
depth) first).
"""

import math
import sys

import torch
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
n_types, per_type, length = 8, 6, 14
vocab = n_types * per_type + n_types


def make_questions(n):
    """The first token asks for a type of entity (who, where, when ...); one token of the passage is of that type."""
    asked = torch.randint(0, n_types, (n,))
    other = (asked[:, None] + torch.randint(1, n_types, (n, length))) % n_types
    where = torch.randint(0, length, (n,))
    kind = other.clone()
    kind[torch.arange(n), where] = asked
    words = n_types + kind * per_type + torch.randint(0, per_type, (n, length))
    return torch.cat([asked[:, None], words], 1), where + 1


class SelfAttention(nn.Module):
    def __init__(self, d_model=64, n_heads=4):
        super().__init__()
        self.n_heads, self.depth = n_heads, d_model // n_heads
        self.query = nn.Parameter(torch.empty(n_heads, d_model, self.depth))
        self.key = nn.Parameter(torch.empty(n_heads, d_model, self.depth))
        self.value = nn.Parameter(torch.empty(n_heads, d_model, self.depth))
        for w in (self.query, self.key, self.value):
            nn.init.normal_(w, std=1 / math.sqrt(d_model))
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x):
        batch_size, tokens, _ = x.shape
        heads = torch.zeros(self.n_heads, batch_size, tokens, self.depth)
        for i in range(self.n_heads):
            q, k, v = x @ self.query[i], x @ self.key[i], x @ self.value[i]
            weights = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(self.depth), dim=-1)
            heads[i] = weights @ v
        if FIXED:
            heads = heads.permute(1, 2, 0, 3).contiguous()
        return self.out(heads.view(batch_size, tokens, -1))


class EncoderBlock(nn.Module):
    def __init__(self, d_model=64):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attention = SelfAttention(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, 128), nn.ReLU(), nn.Linear(128, d_model))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.ff(self.norm2(x))


class Reader(nn.Module):
    def __init__(self, d_model=64):
        super().__init__()
        self.embedding = nn.Embedding(vocab, d_model)
        self.position = nn.Parameter(torch.randn(length + 1, d_model) * 0.1)
        self.blocks = nn.Sequential(EncoderBlock(d_model), EncoderBlock(d_model))
        self.norm = nn.LayerNorm(d_model)
        self.start = nn.Linear(d_model, 1)

    def forward(self, tokens):
        x = self.blocks(self.embedding(tokens) + self.position)
        return self.start(self.norm(x)).squeeze(-1)


x_train, y_train = make_questions(4000)
x_dev, y_dev = make_questions(600)
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(5):
    model.train()
    order = torch.randperm(len(x_train))
    total = 0.0
    for i in range(0, len(order), 100):
        idx = order[i : i + 100]
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x_train[idx]), y_train[idx])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        em = (
            sum((model(x_dev[i : i + 100]).argmax(1) == y_dev[i : i + 100]).sum().item() for i in range(0, 600, 100))
            / 600
        )
    print(f"epoch {epoch + 1}: loss {total / len(order):.4f}  dev em {em:.4f}")

print("RESULT exact_match", f"{em:.4f}")
