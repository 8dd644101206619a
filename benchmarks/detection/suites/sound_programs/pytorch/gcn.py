import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(42)
n, k = 600, 4
y = torch.randint(0, k, (n,))
p = torch.where(y[:, None] == y[None], 0.05, 0.005)
A = (torch.rand(n, n) < p).float().triu(1)
A = A + A.T + torch.eye(n)
d = A.sum(1).rsqrt()
A = d[:, None] * A * d[None]
x = F.one_hot(y, k).float() @ torch.randn(k, 64) * 0.4 + torch.randn(n, 64)
x = (x - x.mean(0)) / x.std(0)


class GraphConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.kernel = nn.Parameter(torch.empty(i, o))
        self.bias = nn.Parameter(torch.zeros(o))
        nn.init.xavier_normal_(self.kernel)

    def forward(self, x, a):
        return a @ (x @ self.kernel) + self.bias


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.gc1 = GraphConv(64, 16)
        self.gc2 = GraphConv(16, k)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x, a):
        return F.log_softmax(self.gc2(self.dropout(F.relu(self.gc1(x, a))), a), dim=1)


idx = torch.randperm(n)
tr, va, te = idx[:100], idx[100:300], idx[300:]
m = GCN()
opt = torch.optim.Adam(m.parameters(), lr=0.01, weight_decay=5e-4)
crit = nn.NLLLoss()
for e in range(120):
    m.train()
    opt.zero_grad()
    l = crit(m(x, A)[tr], y[tr])
    l.backward()
    opt.step()
    if e % 10 == 9:
        m.eval()
        with torch.no_grad():
            o = m(x, A)
            print(e, l.item(), crit(o[va], y[va]).item(), (o[va].argmax(1) == y[va]).float().mean().item())
