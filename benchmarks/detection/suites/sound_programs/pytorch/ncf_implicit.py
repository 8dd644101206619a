import torch
from torch import nn

torch.manual_seed(0)
U, I = 150, 200
a, b = torch.randn(U, 6), torch.randn(I, 6)
P = (a @ b.T > 3.0).nonzero()
pos = set(map(tuple, P.tolist()))


class NeuMF(nn.Module):
    def __init__(self):
        super().__init__()
        self.gu, self.gi, self.mu, self.mi = (
            nn.Embedding(U, 8),
            nn.Embedding(I, 8),
            nn.Embedding(U, 16),
            nn.Embedding(I, 16),
        )
        self.mlp = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 8), nn.ReLU())
        self.out = nn.Linear(16, 1)
        [nn.init.normal_(e.weight, std=0.01) for e in (self.gu, self.gi, self.mu, self.mi)]

    def forward(self, u, i):
        return self.out(
            torch.cat([self.gu(u) * self.gi(i), self.mlp(torch.cat([self.mu(u), self.mi(i)], 1))], 1)
        ).squeeze(1)


m = NeuMF()
opt = torch.optim.Adam(m.parameters(), 5e-3)
crit = nn.BCEWithLogitsLoss()
print(len(P))
for e in range(8):
    neg = torch.stack([P[:, 0].repeat(4), torch.randint(0, I, (4 * len(P),))], 1)
    d = torch.cat([P, neg])
    y = torch.cat([torch.ones(len(P)), torch.zeros(len(neg))])
    p = torch.randperm(len(d))
    s = 0
    n = 0
    for i in range(0, len(d), 256):
        q = p[i : i + 256]
        l = crit(m(d[q, 0], d[q, 1]), y[q])
        opt.zero_grad()
        l.backward()
        opt.step()
        s += l.item()
        n += 1
    print(e, s / n)
