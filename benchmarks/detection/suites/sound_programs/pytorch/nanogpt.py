import argparse
import inspect
import math

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(1337)
text = inspect.getsource(argparse)[:60000]
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]
B, T, C, H, L, V = 16, 32, 64, 4, 2, len(chars)


def get_batch(split):
    d = train_data if split == "train" else val_data
    ix = torch.randint(len(d) - T, (B,))
    return torch.stack([d[i : i + T] for i in ix]), torch.stack([d[i + 1 : i + T + 1] for i in ix])


@torch.no_grad()
def estimate_loss():
    out = {}
    model.eval()
    for s in ("train", "val"):
        out[s] = sum(model(*get_batch(s))[1].item() for _ in range(5)) / 5
    model.train()
    return out


class Attn(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = nn.Linear(C, 3 * C)
        self.c_proj = nn.Linear(C, C)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (z.view(b, t, H, c // H).transpose(1, 2) for z in self.c_attn(x).split(C, 2))
        return self.c_proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(C), Attn(), nn.LayerNorm(C)
        self.mlp = nn.Sequential(nn.Linear(C, 4 * C), nn.GELU(), nn.Linear(4 * C, C), nn.Dropout(0.1))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, C), nn.Embedding(T, C)
        self.h = nn.ModuleList(Block() for _ in range(L))
        self.ln_f = nn.LayerNorm(C)
        self.lm_head = nn.Linear(C, V, bias=False)
        self.wte.weight = self.lm_head.weight
        self.apply(self.init)

    def init(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, 0, 0.02)
        if isinstance(m, nn.Linear) and m.bias is not None:
            nn.init.zeros_(m.bias)

    def forward(self, i, t=None):
        x = self.wte(i) + self.wpe(torch.arange(i.shape[1]))
        for b in self.h:
            x = b(x)
        l = self.lm_head(self.ln_f(x))
        return l, None if t is None else F.cross_entropy(l.view(-1, V), t.view(-1))


model = GPT()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)
for it in range(240):
    lr = 1e-3 * min((it + 1) / 20, 0.55 + 0.45 * math.cos(math.pi * it / 240))
    for g in opt.param_groups:
        g["lr"] = lr
    if it % 60 == 0 or it == 239:
        print(it, estimate_loss())
    opt.zero_grad(set_to_none=True)
    for _ in range(2):
        loss = model(*get_batch("train"))[1] / 2
        loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
