import copy

import torch
from sklearn.datasets import make_moons
from torch import nn

torch.manual_seed(0)
X = torch.tensor(make_moons(4000, noise=0.05, random_state=0)[0], dtype=torch.float32)
X = (X - X.mean(0)) / X.std(0)
T = 100
beta = torch.linspace(1e-4, 0.05, T)
ab = torch.cumprod(1 - beta, 0)


class Denoiser(nn.Module):
    def __init__(self, h=128):
        super().__init__()
        self.time = nn.Embedding(T, h)
        self.inp = nn.Linear(2, h)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(h), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, h)) for _ in range(3)
        )
        self.out = nn.Linear(h, 2)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x, t):
        h = self.inp(x) + self.time(t)
        for b in self.blocks:
            h = h + b(h)
        return self.out(h)


m = Denoiser()
ema = copy.deepcopy(m).requires_grad_(False)
opt = torch.optim.AdamW(m.parameters(), lr=1e-3)
run = None
for i in range(600):
    x = X[torch.randint(0, 4000, (256,))]
    t = torch.randint(0, T, (256,))
    e = torch.randn_like(x)
    xt = ab[t].sqrt()[:, None] * x + (1 - ab[t]).sqrt()[:, None] * e
    loss = nn.functional.mse_loss(m(xt, t), e)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    opt.step()
    with torch.no_grad():
        for a, b in zip(ema.parameters(), m.parameters()):
            a.lerp_(b, 0.01)
    run = loss.item() if run is None else 0.98 * run + 0.02 * loss.item()
    if i % 100 == 99:
        print(i, run)
with torch.no_grad():
    x = torch.randn(500, 2)
    for t in reversed(range(T)):
        e = ema(x, torch.full((500,), t))
        x = (x - beta[t] / (1 - ab[t]).sqrt() * e) / (1 - beta[t]).sqrt()
        if t:
            x = x + beta[t].sqrt() * torch.randn_like(x)
    print(x.mean(0), x.std(0))
