"""Transformer encoder on made-up review texts of various lengths, linear warm-up, label smoothing, padding mask."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(7)
rng = np.random.default_rng(7)
GOOD = ["great", "lovely", "superb", "fun", "moving", "bright", "warm", "clever"]
BAD = ["dull", "awful", "boring", "weak", "noisy", "cold", "flat", "lazy"]
NEUTRAL = [
    "the",
    "film",
    "plot",
    "actor",
    "was",
    "and",
    "a",
    "scene",
    "music",
    "of",
    "in",
    "it",
    "with",
    "end",
    "story",
    "very",
]
vocab = ["<pad>", "<cls>", "not", *GOOD, *BAD, *NEUTRAL]
ids = {w: i for i, w in enumerate(vocab)}


def make(n):
    texts, labels = [], []
    while len(texts) < n:
        words, score = [], 0
        for _ in range(rng.integers(4, 14)):
            r = rng.random()
            if r < 0.22:
                sign = 1 if rng.random() < 0.5 else -1
                w = rng.choice(GOOD if sign > 0 else BAD)
                if rng.random() < 0.2:
                    words.append("not")
                    sign = -sign
                words.append(w)
                score += sign
            else:
                words.append(rng.choice(NEUTRAL))
        if score == 0:
            continue
        lab = int(score > 0)
        if rng.random() < 0.03:  # some annotators err
            lab = 1 - lab
        texts.append([ids["<cls>"]] + [ids[w] for w in words])
        labels.append(lab)
    return texts, np.array(labels)


def collate(texts):
    L = max(map(len, texts))
    out = torch.zeros(len(texts), L, dtype=torch.long)
    for i, tx in enumerate(texts):
        out[i, : len(tx)] = torch.tensor(tx)
    return out


tr_x, tr_y = make(3500)
te_x, te_y = make(800)
tr_y, te_y = torch.tensor(tr_y), torch.tensor(te_y)


class Encoder(nn.Module):
    def __init__(self, d=32, heads=4, layers=2, max_len=32):
        super().__init__()
        self.tok = nn.Embedding(len(vocab), d, padding_idx=0)
        with torch.no_grad():
            self.tok.weight.mul_(0.1)  # same scale as the positions
        self.pos = nn.Parameter(torch.randn(1, max_len, d) * 0.1)
        layer = nn.TransformerEncoderLayer(d, heads, 4 * d, dropout=0.1, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(d)
        self.cls = nn.Linear(d, 2)

    def forward(self, x):
        pad = x.eq(0)
        h = self.tok(x) + self.pos[:, : x.size(1)]
        h = self.enc(h, src_key_padding_mask=pad)
        keep = (~pad).unsqueeze(-1).float()
        return self.cls((self.norm(h) * keep).sum(1) / keep.sum(1))


net = Encoder()
EPOCHS, B = 12, 64
steps = EPOCHS * math.ceil(len(tr_x) / B)
opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=0.01)
warm = int(0.1 * steps)
sched = torch.optim.lr_scheduler.LambdaLR(
    opt, lambda s: (s + 1) / warm if s < warm else max(0.0, (steps - s) / (steps - warm))
)
for ep in range(EPOCHS):
    net.train()
    tot = 0.0
    for idx in torch.randperm(len(tr_x)).split(B):
        xb = collate([tr_x[i] for i in idx.tolist()])
        loss = F.cross_entropy(net(xb), tr_y[idx], label_smoothing=0.05)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        sched.step()
        tot += loss.item() * len(idx)
    net.eval()
    with torch.no_grad():
        acc = (net(collate(te_x)).argmax(1) == te_y).float().mean().item()
    print(f"ep {ep:2d} loss {tot / len(tr_x):.4f} test acc {acc:.4f}")
print("RESULT accuracy %.4f" % acc)
