"""A very small GPT on characters (after nanoGPT / minGPT): AdamW with parameter groups, warm-up and cosine."""

import math
import random
from collections import Counter

import torch
from torch import nn
from torch.nn import functional as F

random.seed(1337)
torch.manual_seed(1337)

nouns = [
    "king",
    "queen",
    "horse",
    "river",
    "castle",
    "soldier",
    "garden",
    "letter",
    "winter",
    "daughter",
    "merchant",
    "forest",
]
verbs = ["sees", "follows", "loves", "fears", "leaves", "finds", "calls", "watches"]
adjs = ["old", "young", "silent", "golden", "proud", "gentle", "dark", "distant"]
preps = ["near", "behind", "beyond", "without"]


def np_():
    s = random.choice(["the", "a", "my", "thy"]) + " "
    if random.random() < 0.5:
        s += random.choice(adjs) + " "
    s += random.choice(nouns)
    if random.random() < 0.25:
        s += " " + random.choice(preps) + " the " + random.choice(nouns)
    return s


def sentence():
    s = np_() + " " + random.choice(verbs) + " " + np_()
    if random.random() < 0.3:
        s += ", and " + np_() + " " + random.choice(verbs) + " " + np_()
    return s.capitalize() + random.choice("...!?")


text = "\n".join(sentence() for _ in range(4000))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]
block, batch, n_embd, n_head, n_layer = 48, 16, 48, 4, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.qkv = nn.Linear(n_embd, 3 * n_embd)
        self.proj = nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (z.view(B, T, n_head, C // n_head).transpose(1, 2) for z in self.qkv(self.ln1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(len(chars), n_embd)
        self.pos = nn.Embedding(block, n_embd)
        self.blocks = nn.Sequential(*[Block() for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.head = nn.Linear(n_embd, len(chars), bias=False)
        self.apply(self._init)

    def _init(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=0.02)
            if getattr(m, "bias", None) is not None:
                nn.init.zeros_(m.bias)

    def forward(self, idx, targets):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1)))
        logits = self.head(self.ln_f(self.blocks(x)))
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))


def get_batch(d):
    ix = torch.randint(len(d) - block - 1, (batch,))
    return torch.stack([d[i : i + block] for i in ix]), torch.stack([d[i + 1 : i + block + 1] for i in ix])


model = GPT()
decay = [p for p in model.parameters() if p.dim() >= 2]
no_decay = [p for p in model.parameters() if p.dim() < 2]
max_iters, warmup, max_lr, min_lr = 700, 60, 3e-3, 3e-4
opt = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.1}, {"params": no_decay, "weight_decay": 0.0}], lr=max_lr, betas=(0.9, 0.99)
)


def lr_at(it):
    if it < warmup:
        return max_lr * (it + 1) / warmup
    r = (it - warmup) / (max_iters - warmup)
    return min_lr + 0.5 * (1 + math.cos(math.pi * r)) * (max_lr - min_lr)


@torch.no_grad()
def estimate(d):
    model.eval()
    v = sum(model(*get_batch(d)).item() for _ in range(20)) / 20
    model.train()
    return v


for it in range(max_iters):
    for g in opt.param_groups:
        g["lr"] = lr_at(it)
    loss = model(*get_batch(train_data))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if (it + 1) % 100 == 0:
        print(f"iter {it + 1}: train {estimate(train_data):.4f} val {estimate(val_data):.4f}")

c = Counter(text)
print("unigram entropy (nats)", -sum(v / len(text) * math.log(v / len(text)) for v in c.values()))
print(f"RESULT val_nats_per_char {estimate(val_data):.4f}")
