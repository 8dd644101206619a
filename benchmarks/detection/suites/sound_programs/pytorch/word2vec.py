import argparse
import difflib
import inspect
import re

import torch
from torch import nn

torch.manual_seed(0)
w = re.findall(r"[a-z]+", (inspect.getsource(argparse) + inspect.getsource(difflib)).lower())
from collections import Counter

vocab = {k: i for i, (k, c) in enumerate(Counter(w).most_common(400))}
ids = torch.tensor([vocab[k] for k in w if k in vocab])
freq = torch.bincount(ids).float() ** 0.75


class SkipGram(nn.Module):
    def __init__(self, n, d=32):
        super().__init__()
        self.u, self.v = nn.Embedding(n, d), nn.Embedding(n, d)
        nn.init.uniform_(self.u.weight, -0.5 / d, 0.5 / d)
        nn.init.zeros_(self.v.weight)

    def forward(self, c, o, neg):
        c, o, neg = self.u(c), self.v(o), self.v(neg)
        return -(
            nn.functional.logsigmoid((c * o).sum(1))
            + nn.functional.logsigmoid(-(neg @ c.unsqueeze(2)).squeeze(2)).sum(1)
        ).mean()


m = SkipGram(len(vocab))
opt = torch.optim.Adam(m.parameters(), 1e-2)
run = None
for it in range(400):
    i = torch.randint(3, len(ids) - 3, (256,))
    o = torch.randint(1, 4, (256,)) * (torch.randint(0, 2, (256,)) * 2 - 1)
    l = m(ids[i], ids[i + o], torch.multinomial(freq, 256 * 5, True).view(256, 5))
    opt.zero_grad()
    l.backward()
    opt.step()
    run = l.item() if run is None else 0.95 * run + 0.05 * l.item()
    if it % 80 == 79:
        print(it, run)
