import torch
from torch import nn

torch.manual_seed(0)
c = torch.tensor([[1.0, 0], [-1, 0], [0, 1], [0, -1]])


def real(n):
    return c[torch.randint(0, 4, (n,))] + 0.1 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
og = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
od = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))
for it in range(250):
    for _ in range(3):
        x = real(128)
        z = torch.randn(128, 8)
        f = G(z).detach()
        al = torch.rand(128, 1)
        xi = (al * x + (1 - al) * f).requires_grad_(True)
        (g,) = torch.autograd.grad(D(xi).sum(), xi, create_graph=True)
        gp = ((g.norm(2, dim=1) - 1) ** 2).mean()
        ld = D(f).mean() - D(x).mean() + 10 * gp
        od.zero_grad()
        ld.backward()
        od.step()
    lg = -D(G(torch.randn(128, 8))).mean()
    og.zero_grad()
    lg.backward()
    og.step()
    if it % 50 == 49:
        print(it, ld.item(), lg.item())
