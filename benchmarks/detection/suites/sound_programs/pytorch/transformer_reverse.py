import math

import torch
from torch import nn

torch.manual_seed(0)
V, L = 20, 10


class PE(nn.Module):
    def __init__(self, d, n=64):
        super().__init__()
        pos = torch.arange(n)[:, None]
        div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        pe = torch.zeros(n, d)
        pe[:, 0::2] = torch.sin(pos * div)
        pe[:, 1::2] = torch.cos(pos * div)
        self.register_buffer("pe", pe)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.drop(x + self.pe[: x.size(1)])


class Seq2Seq(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.src = nn.Embedding(V, d, padding_idx=0)
        self.tgt = nn.Embedding(V, d, padding_idx=0)
        self.pe = PE(d)
        self.d = d
        self.tr = nn.Transformer(d, 4, 2, 2, 128, 0.1, batch_first=True)
        self.gen = nn.Linear(d, V)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, s, t):
        mask = nn.Transformer.generate_square_subsequent_mask(t.size(1)).bool()
        o = self.tr(
            self.pe(self.src(s) * math.sqrt(self.d)),
            self.pe(self.tgt(t) * math.sqrt(self.d)),
            tgt_mask=mask,
            src_key_padding_mask=s == 0,
            tgt_key_padding_mask=t == 0,
            memory_key_padding_mask=s == 0,
        )
        return self.gen(o)


def batch(n):
    lens = torch.randint(4, L + 1, (n,))
    s = torch.zeros(n, L, dtype=torch.long)
    t = torch.zeros(n, L + 2, dtype=torch.long)
    for i, k in enumerate(lens):
        w = torch.randint(3, V, (int(k),))
        s[i, :k] = w
        t[i, 0] = 1
        t[i, 1 : k + 1] = w.flip(0)
        t[i, k + 1] = 2
    return s, t


m = Seq2Seq()
opt = torch.optim.Adam(m.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda i: min((i + 1) / 60, (60 / (i + 1)) ** 0.5))
crit = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=0.1)
m.train()
run = None
for i in range(400):
    s, t = batch(64)
    o = m(s, t[:, :-1])
    loss = crit(o.reshape(-1, V), t[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    run = loss.item() if run is None else 0.95 * run + 0.05 * loss.item()
    if i % 50 == 49:
        print(i, run)
