import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
d = load_digits()
X = torch.tensor(d.images / 16.0, dtype=torch.float32)[:, None]
Y = torch.tensor(d.target)


class Net(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
        )
        self.head = nn.Linear(128, k)

    def forward(self, x):
        return self.head(self.body(x))


def fit(m, x, y, xv, yv, opt, n):
    c = nn.CrossEntropyLoss()
    for e in range(n):
        m.train()
        p = torch.randperm(len(x))
        s = 0
        for i in range(0, len(x), 32):
            q = p[i : i + 32]
            opt.zero_grad()
            l = c(m(x[q]), y[q])
            l.backward()
            opt.step()
            s += l.item() * len(q)
        m.eval()
        with torch.no_grad():
            o = m(xv)
            print(e, s / len(x), c(o, yv).item(), (o.argmax(1) == yv).float().mean().item())


a = Y < 5
m = Net(5)
fit(m, X[a][:700], Y[a][:700], X[a][700:], Y[a][700:], torch.optim.Adam(m.parameters(), 1e-3), 4)
b = ~a
n = Net(5)
n.body.load_state_dict(m.body.state_dict())
xb, yb = X[b], Y[b] - 5
for p in n.body.parameters():
    p.requires_grad = False
fit(n, xb[:700], yb[:700], xb[700:], yb[700:], torch.optim.Adam(n.head.parameters(), 1e-2), 4)
for p in n.body.parameters():
    p.requires_grad = True
fit(
    n,
    xb[:700],
    yb[:700],
    xb[700:],
    yb[700:],
    torch.optim.Adam([{"params": n.body.parameters(), "lr": 2e-4}, {"params": n.head.parameters(), "lr": 1e-3}]),
    4,
)
