import torch
from torch import nn

torch.manual_seed(0)


def make(n):
    y = torch.randint(0, 3, (n,))
    p = torch.randn(n, 64, 3)
    s = p / p.norm(dim=2, keepdim=True)
    c = torch.rand(n, 64, 3) * 2 - 1
    t = torch.cat([s[..., :2] * 0.5, p[..., 2:] * 0.3], 2)
    x = torch.where((y == 0)[:, None, None], s, torch.where((y == 1)[:, None, None], c, t))
    return x + 0.02 * torch.randn_like(x), y


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv1d(3, 32, 1), nn.Conv1d(32, 128, 1)
        self.b1, self.b2 = nn.BatchNorm1d(32), nn.BatchNorm1d(128)
        self.fc1, self.fc2 = nn.Linear(128, 64), nn.Linear(64, 3)
        self.dp = nn.Dropout(0.3)

    def forward(self, x):
        x = x.transpose(1, 2)
        x = torch.relu(self.b1(self.c1(x)))
        x = torch.relu(self.b2(self.c2(x))).max(2).values
        return torch.log_softmax(self.fc2(self.dp(torch.relu(self.fc1(x)))), 1)


m = PointNet()
opt = torch.optim.Adam(m.parameters(), 1e-3)
x, y = make(900)
xv, yv = make(200)
c = nn.NLLLoss()
for e in range(6):
    m.train()
    p = torch.randperm(900)
    s = 0
    for i in range(0, 900, 32):
        q = p[i : i + 32]
        l = c(m(x[q]), y[q])
        opt.zero_grad()
        l.backward()
        opt.step()
        s += l.item()
    m.eval()
    with torch.no_grad():
        o = m(xv)
        print(e, s / 29, c(o, yv).item(), (o.argmax(1) == yv).float().mean().item())
