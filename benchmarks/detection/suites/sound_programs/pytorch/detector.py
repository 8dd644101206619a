import torch
from torch import nn

torch.manual_seed(0)


def make(n):
    x = torch.rand(n, 1, 24, 24) * 0.3
    b = torch.zeros(n, 4)
    y = torch.randint(0, 2, (n,))
    for k in range(n):
        w, h = (10, 5) if y[k] else (5, 10)
        i, j = torch.randint(0, 24 - h, ()).item(), torch.randint(0, 24 - w, ()).item()
        x[k, 0, i : i + h, j : j + w] += 0.7
        b[k] = torch.tensor([j, i, j + w, i + h]) / 24
    return x, y, b


class Det(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(1152, 64),
            nn.ReLU(),
        )
        self.cls, self.box = nn.Linear(64, 2), nn.Linear(64, 4)

    def forward(self, x):
        h = self.f(x)
        return self.cls(h), self.box(h).sigmoid()


m = Det()
opt = torch.optim.Adam(m.parameters(), 1e-3)
x, y, b = make(900)
xv, yv, bv = make(150)
ce, sl = nn.CrossEntropyLoss(), nn.SmoothL1Loss()
for e in range(8):
    m.train()
    p = torch.randperm(900)
    s = 0
    for i in range(0, 900, 32):
        q = p[i : i + 32]
        c, r = m(x[q])
        l = ce(c, y[q]) + 5 * sl(r, b[q])
        opt.zero_grad()
        l.backward()
        opt.step()
        s += l.item()
    m.eval()
    with torch.no_grad():
        c, r = m(xv)
        print(e, s / 29, ce(c, yv).item(), sl(r, bv).item())
