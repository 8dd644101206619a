import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(2000, 16)
w = torch.randn(16, 4)
yr = (X @ w[:, :1]).tanh() * 2 + 0.1 * torch.randn(2000, 1)
yc = (X @ w[:, 1:]).argmax(1)


class MTL(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.r, self.c = nn.Linear(32, 1), nn.Linear(32, 3)
        self.s = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        h = self.body(x)
        return self.r(h), self.c(h)


m = MTL()
opt = torch.optim.Adam(m.parameters(), 2e-3)
lr_, lc = nn.MSELoss(), nn.CrossEntropyLoss()
for e in range(10):
    p = torch.randperm(1600)
    t = 0
    for i in range(0, 1600, 32):
        q = p[i : i + 32]
        a, b = m(X[q])
        l = torch.exp(-m.s[0]) * lr_(a, yr[q]) + m.s[0] + torch.exp(-m.s[1]) * lc(b, yc[q]) + m.s[1]
        opt.zero_grad()
        l.backward()
        opt.step()
        t += l.item()
    with torch.no_grad():
        a, b = m(X[1600:])
        print(e, t / 50, lr_(a, yr[1600:]).item(), lc(b, yc[1600:]).item())
