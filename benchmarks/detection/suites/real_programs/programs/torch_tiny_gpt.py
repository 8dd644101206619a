"""A small GPT on characters trains with a peak learning rate of 0.2, and its loss crawls (fixed: 0.002)."""

import math
import random
import sys

import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
random.seed(0)
torch.manual_seed(0)

who = ["the king", "a fool", "my lord", "the queen", "her son", "a soldier", "our friend"]
does = ["loves", "hates", "follows", "betrays", "praises", "forgets"]
what = ["the crown", "a good song", "this castle", "the old wine", "an honest man", "the sea"]
when = ["in the morning", "at night", "every day", "in winter"]
text = "".join(
    f"{random.choice(who)} {random.choice(does)} {random.choice(what)} {random.choice(when)}.\n" for _ in range(3000)
)
chars = sorted(set(text))
data = torch.tensor([chars.index(c) for c in text])
cut = int(0.9 * len(data))
train_data, val_data = data[:cut], data[cut:]

vocab_size, block_size, n_embd, n_head, n_layer, batch_size = len(chars), 32, 48, 4, 3, 16
max_iters, warmup_iters = 500, 20
learning_rate = 2e-3 if fixed else 0.2
min_lr = learning_rate / 10


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.c_attn(self.ln_1(x)).split(width, dim=2)
        q, k, v = (t.view(batch, length, n_head, width // n_head).transpose(1, 2) for t in (q, k, v))
        a = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(a.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.h = nn.ModuleList(Block() for _ in range(n_layer))
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        for m in self.modules():
            if isinstance(m, (nn.Linear, nn.Embedding)):
                nn.init.normal_(m.weight, 0.0, 0.02)

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return functional.cross_entropy(logits.view(-1, vocab_size), targets.reshape(-1))


def get_batch(d, n=batch_size):
    ix = torch.randint(len(d) - block_size - 1, (n,))
    return torch.stack([d[i : i + block_size] for i in ix]), torch.stack([d[i + 1 : i + 1 + block_size] for i in ix])


def get_lr(it):
    if it < warmup_iters:
        return learning_rate * (it + 1) / warmup_iters
    r = (it - warmup_iters) / (max_iters - warmup_iters)
    return min_lr + 0.5 * (1 + math.cos(math.pi * r)) * (learning_rate - min_lr)


@torch.no_grad()
def estimate_loss():
    model.eval()
    out = [sum(model(*get_batch(d, 64)).item() for _ in range(5)) / 5 for d in (train_data, val_data)]
    model.train()
    return out


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.1)
for it in range(max_iters):
    for g in optimizer.param_groups:
        g["lr"] = get_lr(it)
    loss = model(*get_batch(train_data))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if it % 100 == 0:
        train_loss, val_loss = estimate_loss()
        print(f"step {it}: train loss {train_loss:.4f}, val loss {val_loss:.4f}")

print("RESULT val_loss", round(estimate_loss()[1], 4))
