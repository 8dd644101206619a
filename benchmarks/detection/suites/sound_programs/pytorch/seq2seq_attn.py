import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
V = 14


class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(V, 32)
        self.g = nn.GRU(32, 64, batch_first=True)

    def forward(self, x):
        return self.g(self.e(x))


class Dec(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(V, 32)
        self.g = nn.GRU(96, 64, batch_first=True)
        self.a = nn.Linear(64, 64)
        self.o = nn.Linear(128, V)

    def forward(self, y, h, enc):
        w = torch.softmax(self.a(h[-1]).unsqueeze(1) @ enc.transpose(1, 2), -1)
        c = w @ enc
        o, h = self.g(torch.cat([self.e(y), c], -1), h)
        return self.o(torch.cat([o, c], -1)).squeeze(1), h


enc, dec = Enc(), Dec()
oe, od = torch.optim.Adam(enc.parameters(), 3e-3), torch.optim.Adam(dec.parameters(), 3e-3)
crit = nn.CrossEntropyLoss()
run = None
for it in range(250):
    x = torch.randint(2, V, (64, 6))
    y = x.sort(1).values
    oe.zero_grad()
    od.zero_grad()
    eo, h = enc(x)
    inp = torch.ones(64, 1, dtype=torch.long)
    loss = 0
    tf = random.random() < 0.7
    for t in range(6):
        o, h = dec(inp, h, eo)
        loss = loss + crit(o, y[:, t])
        inp = y[:, t : t + 1] if tf else o.argmax(1, keepdim=True).detach()
    loss.backward()
    nn.utils.clip_grad_norm_(enc.parameters(), 1.0)
    nn.utils.clip_grad_norm_(dec.parameters(), 1.0)
    oe.step()
    od.step()
    run = loss.item() / 6 if run is None else 0.95 * run + 0.05 * loss.item() / 6
    if it % 50 == 49:
        print(it, run)
