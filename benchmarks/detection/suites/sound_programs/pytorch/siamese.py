import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(1)
d = load_digits()
X = torch.tensor(d.images / 16.0, dtype=torch.float32)[:, None]
Y = torch.tensor(d.target)


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(1, 16, 3),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.fc = nn.Sequential(nn.Linear(1024, 64), nn.ReLU(inplace=True), nn.Linear(64, 1))
        self.sigmoid = nn.Sigmoid()

    def forward(self, a, b):
        return self.sigmoid(self.fc(torch.cat((self.enc(a), self.enc(b)), 1)))


def pairs(lo, hi, n, g):
    i = torch.randint(lo, hi, (n,), generator=g)
    same = torch.rand(n, generator=g) < 0.5
    j = torch.empty_like(i)
    for k in range(n):
        pool = (Y[lo:hi] == Y[i[k]]) if same[k] else (Y[lo:hi] != Y[i[k]])
        c = pool.nonzero()[:, 0]
        j[k] = lo + c[torch.randint(len(c), (1,), generator=g)]
    return X[i], X[j], same.float()


g = torch.Generator().manual_seed(0)
A, B, T = pairs(0, 1400, 3000, g)
a2, b2, t2 = pairs(1400, 1797, 400, g)
m = Siamese()
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
crit = nn.BCELoss()
for e in range(6):
    m.train()
    p = torch.randperm(3000)
    s = 0
    for k in range(0, 3000, 64):
        q = p[k : k + 64]
        opt.zero_grad()
        o = m(A[q], B[q]).squeeze(1)
        l = crit(o, T[q])
        l.backward()
        opt.step()
        s += l.item() * len(q)
    m.eval()
    with torch.no_grad():
        o = m(a2, b2).squeeze(1)
        print(e, s / 3000, crit(o, t2).item(), ((o > 0.5) == (t2 > 0.5)).float().mean().item())
