"""A transformer encoder tags the tokens that occur again in a sentence.

The results of the heads are reshaped without a permutation, so positions and heads mix (fixed: permuted first).
"""

import math
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
np.random.seed(6)
torch.manual_seed(6)


class MultiHeadAttention(nn.Module):
    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        self.qkv_dim = hidden_dim // num_heads
        self.num_heads = num_heads
        self.qkv_proj = nn.Linear(hidden_dim, 3 * hidden_dim, bias=False)
        self.o_proj = nn.Linear(hidden_dim, hidden_dim, bias=False)

    def forward(self, x):
        batch, length, hidden = x.size()
        qkv = self.qkv_proj(x).reshape(batch, length, self.num_heads, 3 * self.qkv_dim)
        q, k, v = qkv.permute(0, 2, 1, 3).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.qkv_dim)
        values = scores.softmax(-1) @ v
        if fixed:
            values = values.permute(0, 2, 1, 3)
        values = values.reshape(batch, length, hidden)
        return self.o_proj(values)


class EncoderBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn = MultiHeadAttention(dim, heads)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x):
        x = self.n1(x + self.attn(x))
        return self.n2(x + self.ff(x))


class Tagger(nn.Module):
    def __init__(self, vocab, dim=32, heads=4, length=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(0.1 * torch.randn(length, dim))
        self.blocks = nn.Sequential(EncoderBlock(dim, heads), EncoderBlock(dim, heads))
        self.out = nn.Linear(dim, 2)

    def forward(self, x):
        return self.out(self.blocks(self.emb(x) + self.pos))


def sentences(n, vocab=24, length=16):
    x = np.random.randint(0, vocab, (n, length))
    same = x[:, :, None] == x[:, None, :]
    y = (same.sum(-1) > 1).astype(int)
    return torch.from_numpy(x), torch.from_numpy(y)


xtr, ytr = sentences(2000)
xva, yva = sentences(400)
model = Tagger(24)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(14):
    model.train()
    perm = torch.randperm(len(xtr))
    total = 0.0
    for k in range(0, len(xtr), 50):
        idx = perm[k : k + 50]
        out = model(xtr[idx])
        loss = functional.cross_entropy(out.reshape(-1, 2), ytr[idx].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(xva).argmax(-1) == yva).float().mean().item()
    print(f"epoch {epoch} loss {total / 40:.4f} val token accuracy {acc:.4f}")

print("RESULT val_token_accuracy", f"{acc:.4f}")
