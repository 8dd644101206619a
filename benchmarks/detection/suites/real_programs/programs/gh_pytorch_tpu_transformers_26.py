"""A language model made without memory, then every parameter from randn (fixed: from a small uniform range)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
text = torch.tensor(data.characters(9000))


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.input_layernorm = nn.LayerNorm(size)
        self.qkv_proj = nn.Linear(size, 3 * size, bias=False)
        self.o_proj = nn.Linear(size, size, bias=False)
        self.post_attention_layernorm = nn.LayerNorm(size)
        self.up_proj = nn.Linear(size, 2 * size, bias=False)
        self.down_proj = nn.Linear(2 * size, size, bias=False)

    def forward(self, x):
        q, k, v = self.qkv_proj(self.input_layernorm(x)).chunk(3, -1)
        x = x + self.o_proj(nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True))
        return x + self.down_proj(nn.functional.silu(self.up_proj(self.post_attention_layernorm(x))))


class LanguageModel(nn.Module):
    def __init__(self, size=48):
        super().__init__()
        self.embed_tokens = nn.Embedding(27, size)
        self.layers = nn.ModuleList([Block(size) for _ in range(2)])
        self.norm = nn.LayerNorm(size)
        self.lm_head = nn.Linear(size, 27, bias=False)

    def forward(self, x):
        x = self.embed_tokens(x)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm(x))


with torch.device("meta"):
    model = LanguageModel()
model.to_empty(device="cpu")
with torch.no_grad():
    for p in model.parameters():
        if fixed:
            nn.init.uniform_(p, -0.1, 0.1)
        else:
            p.copy_(torch.randn_like(p))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
windows = text.unfold(0, 33, 16)
train, test = windows[:480], windows[480:]
for _ in range(8):
    for batch in torch.randperm(len(train)).split(32):
        optimizer.zero_grad()
        logits = model(train[batch, :-1])
        nn.functional.cross_entropy(logits.flatten(0, 1), train[batch, 1:].flatten()).backward()
        optimizer.step()
with torch.no_grad():
    loss = nn.functional.cross_entropy(model(test[:, :-1]).flatten(0, 1), test[:, 1:].flatten())
print("RESULT loss", float(loss))
