"""A small language model of characters: attention is a softmax over the queries, so each weight depends on later ones

(fixed: over the keys). The loss is low, but what it writes is not.
"""

import sys

import data
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
BLOCK, EMBED, HEADS, VOCAB = 16, 48, 4, 27
text = torch.tensor(data.characters(20000))
train_data, val_data = text[:18000], text[18000:]


class Head(nn.Module):
    """One head of self-attention."""

    def __init__(self, head_size):
        super().__init__()
        self.key = nn.Linear(EMBED, head_size, bias=False)
        self.query = nn.Linear(EMBED, head_size, bias=False)
        self.value = nn.Linear(EMBED, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(BLOCK, BLOCK)))

    def forward(self, x):
        length, k, q = x.shape[1], self.key(x), self.query(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = wei.masked_fill(self.tril[:length, :length] == 0, float("-inf"))
        wei = functional.softmax(wei, dim=-1 if fixed else -2)
        return wei @ self.value(x)


class Block(nn.Module):
    """Attention, then a perceptron."""

    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList([Head(EMBED // HEADS) for _ in range(HEADS)])
        self.proj = nn.Linear(EMBED, EMBED)
        self.ffwd = nn.Sequential(nn.Linear(EMBED, 4 * EMBED), nn.ReLU(), nn.Linear(4 * EMBED, EMBED))
        self.ln1, self.ln2 = nn.LayerNorm(EMBED), nn.LayerNorm(EMBED)

    def forward(self, x):
        normal = self.ln1(x)
        x = x + self.proj(torch.cat([head(normal) for head in self.heads], dim=-1))
        return x + self.ffwd(self.ln2(x))


class GPTLanguageModel(nn.Module):
    """Logits of the next character at each position."""

    def __init__(self):
        super().__init__()
        self.token_embedding_table = nn.Embedding(VOCAB, EMBED)
        self.position_embedding_table = nn.Embedding(BLOCK, EMBED)
        self.blocks = nn.Sequential(Block(), Block())
        self.ln_f, self.lm_head = nn.LayerNorm(EMBED), nn.Linear(EMBED, VOCAB)

    def forward(self, idx):
        x = self.token_embedding_table(idx) + self.position_embedding_table(torch.arange(idx.shape[1]))
        return self.lm_head(self.ln_f(self.blocks(x)))


def get_batch(source, count):
    starts = torch.randint(len(source) - BLOCK, (count,))
    return torch.stack([source[i : i + BLOCK] for i in starts]), torch.stack(
        [source[i + 1 : i + 1 + BLOCK] for i in starts]
    )


def loss_of(source, count):
    xb, yb = get_batch(source, count)
    return functional.cross_entropy(model(xb).flatten(0, 1), yb.flatten())


model = GPTLanguageModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(150):
    loss = loss_of(train_data, 64)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        with torch.no_grad():
            print(step, loss.item(), loss_of(val_data, 256).item())
with torch.no_grad():
    written = []
    for length in range(1, BLOCK + 1):
        xb, yb = get_batch(val_data, 200)
        written.append(functional.cross_entropy(model(xb[:, :length])[:, -1], yb[:, length - 1]))
print("RESULT loss_of_next_character", float(torch.stack(written).mean()))
