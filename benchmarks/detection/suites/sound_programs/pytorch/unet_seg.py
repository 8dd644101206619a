import torch
from torch import nn

torch.manual_seed(0)
n = 300
yy, xx = torch.meshgrid(torch.arange(32.0), torch.arange(32.0), indexing="ij")
c = torch.rand(n, 2) * 20 + 6
r = torch.rand(n) * 4 + 3
M = (((xx - c[:, 0, None, None]) ** 2 + (yy - c[:, 1, None, None]) ** 2).sqrt() < r[:, None, None]).float()[:, None]
X = M * 0.8 + 0.5 * torch.randn(n, 1, 32, 32)


def blk(i, o):
    return nn.Sequential(
        nn.Conv2d(i, o, 3, padding=1, bias=False),
        nn.BatchNorm2d(o),
        nn.ReLU(inplace=True),
        nn.Conv2d(o, o, 3, padding=1, bias=False),
        nn.BatchNorm2d(o),
        nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1 = blk(1, 8)
        self.d2 = blk(8, 16)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.u1 = blk(16, 8)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(self.pool(a))
        return self.out(self.u1(torch.cat([self.up(b), a], 1)))


def dice(p, t):
    p = p.sigmoid()
    return 1 - (2 * (p * t).sum((1, 2, 3)) + 1) / (p.sum((1, 2, 3)) + t.sum((1, 2, 3)) + 1)


m = UNet()
opt = torch.optim.Adam(m.parameters(), lr=2e-3)
bce = nn.BCEWithLogitsLoss()
sch = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 8)
for e in range(8):
    m.train()
    p = torch.randperm(240)
    s = 0
    for i in range(0, 240, 16):
        q = p[i : i + 16]
        o = m(X[q])
        l = bce(o, M[q]) + dice(o, M[q]).mean()
        opt.zero_grad()
        l.backward()
        opt.step()
        s += l.item()
    m.eval()
    sch.step()
    with torch.no_grad():
        o = m(X[240:])
        print(e, s / 15, (bce(o, M[240:]) + dice(o, M[240:]).mean()).item())
