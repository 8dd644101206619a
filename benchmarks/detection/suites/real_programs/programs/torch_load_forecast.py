"""Attention that forecasts loads splits heads with ``view``, mixing them with time steps (fixed: ``transpose``)."""

import math
import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
DAY, PAST, FUTURE = 16, 32, 16


def make_series(n):
    """each meter has a daily profile of its own"""
    profile = rng.randn(n, DAY)
    profile = profile + np.roll(profile, 1, axis=1)
    t = np.arange(PAST + FUTURE)
    x = profile[:, t % DAY] * (1 + 0.1 * rng.randn(n, 1)) + 0.1 * rng.randn(n, len(t))
    x = x / 1.42
    seen = x.copy()
    seen[:, PAST:] = 0.0
    inp = np.stack([seen, np.tile(t >= PAST, (n, 1))], axis=2)
    return torch.tensor(inp, dtype=torch.float32), torch.tensor(x[:, PAST:], dtype=torch.float32)


class AttentionLayer(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.query_projection = nn.Linear(d_model, d_model)
        self.key_projection = nn.Linear(d_model, d_model)
        self.value_projection = nn.Linear(d_model, d_model)
        self.out_projection = nn.Linear(d_model, d_model)

    def forward(self, x):
        batch, length, _ = x.shape
        heads = self.n_heads
        queries = self.query_projection(x).view(batch, length, heads, -1)
        keys = self.key_projection(x).view(batch, length, heads, -1)
        values = self.value_projection(x).view(batch, length, heads, -1)
        if fixed:
            queries, keys, values = queries.transpose(2, 1), keys.transpose(2, 1), values.transpose(2, 1)
        else:
            queries = queries.view(batch, heads, length, -1)
            keys = keys.view(batch, heads, length, -1)
            values = values.view(batch, heads, length, -1)
        scores = torch.matmul(queries, keys.transpose(-2, -1)) / math.sqrt(queries.shape[-1])
        context = torch.matmul(torch.softmax(scores, dim=-1), values)
        if fixed:
            context = context.transpose(2, 1).contiguous()
        return self.out_projection(context.reshape(batch, length, -1))


class Layer(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.attention = AttentionLayer(d_model, n_heads)
        self.ff = nn.Sequential(nn.Linear(d_model, 2 * d_model), nn.GELU(), nn.Linear(2 * d_model, d_model))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.ff(x))


class Forecaster(nn.Module):
    def __init__(self, d_model=32, n_heads=4, layers=2):
        super().__init__()
        self.embed = nn.Linear(2, d_model)
        pos = torch.zeros(PAST + FUTURE, d_model)
        t = torch.arange(PAST + FUTURE).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(200.0) / d_model))
        pos[:, 0::2], pos[:, 1::2] = torch.sin(t * div), torch.cos(t * div)
        self.pos = nn.Parameter(pos)
        self.layers = nn.Sequential(*[Layer(d_model, n_heads) for _ in range(layers)])
        self.projection = nn.Linear(d_model, 1)

    def forward(self, x):
        h = self.layers(self.embed(x) + self.pos)
        return self.projection(h[:, PAST:]).squeeze(-1)


train_x, train_y = make_series(2000)
test_x, test_y = make_series(400)
model = Forecaster()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(9):
    total = 0.0
    for idx in torch.randperm(len(train_x)).split(32):
        optimizer.zero_grad()
        loss = criterion(model(train_x[idx]), train_y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    with torch.no_grad():
        test_loss = criterion(model(test_x), test_y).item()
    print(f"Epoch: {epoch + 1} | Train Loss: {total / len(train_x):.4f} Test Loss: {test_loss:.4f}")

print("RESULT test_mse", f"{test_loss:.4f}")
