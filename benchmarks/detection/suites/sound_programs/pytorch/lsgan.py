import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
X = torch.tensor(load_digits().data / 8.0 - 1, dtype=torch.float32)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(16, 64),
            nn.LeakyReLU(0.2),
            nn.Linear(64, 128),
            nn.BatchNorm1d(128, 0.8),
            nn.LeakyReLU(0.2),
            nn.Linear(128, 64),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.model(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(64, 128), nn.LeakyReLU(0.2), nn.Linear(128, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
        )

    def forward(self, x):
        return self.model(x)


g, d = Generator(), Discriminator()
loss = nn.MSELoss()
og = torch.optim.Adam(g.parameters(), 2e-4, (0.5, 0.999))
od = torch.optim.Adam(d.parameters(), 2e-4, (0.5, 0.999))
for e in range(8):
    p = torch.randperm(len(X))
    for i in range(0, len(X) - 63, 64):
        real = X[p[i : i + 64]]
        valid, fake = torch.ones(64, 1), torch.zeros(64, 1)
        og.zero_grad()
        gen = g(torch.randn(64, 16))
        gl = loss(d(gen), valid)
        gl.backward()
        og.step()
        od.zero_grad()
        dl = (loss(d(real), valid) + loss(d(gen.detach()), fake)) / 2
        dl.backward()
        od.step()
    print(e, dl.item(), gl.item())
