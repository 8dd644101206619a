"""A small GPT with dropout reads timelines of events of patients and predicts the next one.

The estimates of the loss after each epoch and inference run under ``torch.inference_mode`` but ``eval`` is never
called, so that dropout stays on in them (fixed: ``eval`` before, and ``train`` after).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(17)
rng = np.random.default_rng(17)

VOCAB, LENGTH, DIM, HEADS, LAYERS, DROPOUT = 24, 14, 32, 4, 2, 0.3
paths = np.stack([rng.permutation(VOCAB) for _ in range(4)])


def make_timelines(n):
    kind = rng.integers(0, 4, n)
    out = np.empty((n, LENGTH + 1), np.int64)
    out[:, 0] = rng.integers(0, VOCAB, n)
    for t in range(LENGTH):
        step = paths[kind, out[:, t]]
        out[:, t + 1] = np.where(rng.random(n) < 0.01, rng.integers(0, VOCAB, n), step)
    return torch.tensor(out)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.proj = nn.Linear(DIM, DIM)
        self.mlp = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM), nn.Dropout(DROPOUT))
        self.drop = nn.Dropout(DROPOUT)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, HEADS, d // HEADS).transpose(1, 2) for z in self.qkv(self.ln1(x)).chunk(3, dim=2))
        y = functional.scaled_dot_product_attention(
            q, k, v, is_causal=True, dropout_p=DROPOUT if self.training else 0.0
        )
        x = x + self.drop(self.proj(y.transpose(1, 2).reshape(b, t, d)))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCAB, DIM), nn.Embedding(LENGTH, DIM)
        self.drop = nn.Dropout(DROPOUT)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.ln, self.head = nn.LayerNorm(DIM), nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, ids):
        x = self.drop(self.wte(ids) + self.wpe(torch.arange(ids.shape[1])))
        return self.head(self.ln(self.blocks(x)))


train, val = make_timelines(2500), make_timelines(500)
model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)


@torch.inference_mode()
def estimate(data):
    if FIXED:
        model.eval()
    logits = model(data[:, :-1])
    loss = functional.cross_entropy(logits.flatten(0, 1), data[:, 1:].flatten()).item()
    late = (logits[:, 4:].argmax(2) == data[:, 5:]).float().mean().item()
    if FIXED:
        model.train()
    return loss, late


for epoch in range(12):
    order = torch.randperm(len(train))
    losses = []
    for i in range(0, len(order), 64):
        batch = train[order[i : i + 64]]
        loss = functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    val_loss, acc = estimate(val)
    print(f"epoch {epoch + 1:2d}  train loss {np.mean(losses):.4f}  val loss {val_loss:.4f}  next event {acc:.4f}")
print("RESULT val_accuracy", f"{acc:.4f}")
