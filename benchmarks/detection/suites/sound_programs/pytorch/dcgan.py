import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(999)
X = torch.tensor(load_digits().images / 8.0 - 1, dtype=torch.float32)[:, None]


def weights_init(m):
    n = m.__class__.__name__
    if "Conv" in n:
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif "BatchNorm" in n:
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


netG = nn.Sequential(
    nn.ConvTranspose2d(32, 64, 2, 1, 0, bias=False),
    nn.BatchNorm2d(64),
    nn.ReLU(True),
    nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False),
    nn.BatchNorm2d(32),
    nn.ReLU(True),
    nn.ConvTranspose2d(32, 1, 4, 2, 1, bias=False),
    nn.Tanh(),
)
netD = nn.Sequential(
    nn.Conv2d(1, 32, 4, 2, 1, bias=False),
    nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(32, 64, 4, 2, 1, bias=False),
    nn.BatchNorm2d(64),
    nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(64, 1, 2, 1, 0, bias=False),
    nn.Sigmoid(),
)
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCELoss()
oD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
oG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
for epoch in range(5):
    p = torch.randperm(len(X))
    for i in range(0, len(X) - 63, 64):
        real = X[p[i : i + 64]]
        netD.zero_grad()
        label = torch.full((64,), 1.0)
        errD_real = criterion(netD(real).view(-1), label)
        errD_real.backward()
        fake = netG(torch.randn(64, 32, 1, 1))
        label.fill_(0.0)
        errD_fake = criterion(netD(fake.detach()).view(-1), label)
        errD_fake.backward()
        oD.step()
        netG.zero_grad()
        label.fill_(1.0)
        errG = criterion(netD(fake).view(-1), label)
        errG.backward()
        oG.step()
    print(epoch, (errD_real + errD_fake).item(), errG.item())
