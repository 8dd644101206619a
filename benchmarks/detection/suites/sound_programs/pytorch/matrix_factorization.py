import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
U, I = 200, 150
pu, qi = torch.randn(U, 4) * 0.5, torch.randn(I, 4) * 0.5
u = torch.randint(0, U, (8000,))
i = torch.randint(0, I, (8000,))
r = (3.5 + (pu[u] * qi[i]).sum(1) + 0.3 * torch.randn(8000)).clamp(1, 5)


class MF(nn.Module):
    def __init__(self, k=8):
        super().__init__()
        self.user = nn.Embedding(U, k)
        self.item = nn.Embedding(I, k)
        self.ub = nn.Embedding(U, 1)
        self.ib = nn.Embedding(I, 1)
        self.mu = nn.Parameter(torch.tensor(3.5))
        for e in (self.user, self.item):
            nn.init.normal_(e.weight, 0, 0.05)
        for e in (self.ub, self.ib):
            nn.init.zeros_(e.weight)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(1) + self.ub(u)[:, 0] + self.ib(i)[:, 0] + self.mu


m = MF()
opt = torch.optim.Adam(m.parameters(), lr=5e-3, weight_decay=1e-5)
crit = nn.MSELoss()
dl = DataLoader(TensorDataset(u[:7000], i[:7000], r[:7000]), batch_size=128, shuffle=True)
for e in range(12):
    m.train()
    s = 0
    for a, b, c in dl:
        l = crit(m(a, b), c)
        opt.zero_grad()
        l.backward()
        opt.step()
        s += l.item()
    m.eval()
    with torch.no_grad():
        v = crit(m(u[7000:], i[7000:]), r[7000:]).item()
    print(e, s / len(dl), v)
