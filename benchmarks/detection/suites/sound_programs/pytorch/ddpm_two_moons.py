"""Small denoising diffusion model on the two moons (as tiny-diffusion / the 2-D examples do), with EMA weights."""

import copy

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import make_moons
from torch import nn

torch.manual_seed(0)
X, _ = make_moons(8000, noise=0.05, random_state=0)
X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
train, held = X[:7000], X[7000:]

T = 100
betas = torch.linspace(1e-4, 0.1, T)
alphas = 1 - betas
abar = torch.cumprod(alphas, 0)


def embed(t, dim=32):
    freqs = torch.exp(-np.log(1000.0) * torch.arange(dim // 2) / (dim // 2))
    a = t[:, None].float() * freqs
    return torch.cat([a.sin(), a.cos()], 1)


class Denoiser(nn.Module):
    def __init__(self, h=64):
        super().__init__()
        self.inp = nn.Linear(2, h)
        self.time = nn.Sequential(nn.Linear(32, h), nn.SiLU(), nn.Linear(h, h))
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(h, h), nn.SiLU(), nn.Linear(h, h)) for _ in range(3)])
        self.out = nn.Linear(h, 2)

    def forward(self, x, t):
        h = self.inp(x) + self.time(embed(t))
        for b in self.blocks:
            h = h + b(F.silu(h))
        return self.out(F.silu(h))


model = Denoiser()
ema = copy.deepcopy(model).requires_grad_(False)
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
STEPS = 2000
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, STEPS)
avg = 0
for step in range(STEPS):
    x0 = train[torch.randint(0, len(train), (256,))]
    t = torch.randint(0, T, (256,))
    eps = torch.randn_like(x0)
    xt = abar[t].sqrt()[:, None] * x0 + (1 - abar[t]).sqrt()[:, None] * eps
    loss = F.mse_loss(model(xt, t), eps)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    with torch.no_grad():
        for p, q in zip(ema.parameters(), model.parameters()):
            p.lerp_(q, 0.02)
    avg += loss.item()
    if (step + 1) % 250 == 0:
        print(step + 1, avg / 250)
        avg = 0


@torch.no_grad()
def sample(n):
    x = torch.randn(n, 2)
    for i in reversed(range(T)):
        t = torch.full((n,), i)
        e = ema(x, t)
        x = (x - betas[i] / (1 - abar[i]).sqrt() * e) / alphas[i].sqrt()
        if i > 0:
            x = x + (betas[i] * (1 - abar[i - 1]) / (1 - abar[i])).sqrt() * torch.randn_like(x)
    return x


def energy(a, b):
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


print("energy distance, true samples", energy(train[:3000], held))
print("energy distance, gaussian", energy(torch.randn(3000, 2), held))
gen = sample(3000)
near = lambda a: torch.cdist(a, train).min(1).values
print(
    f"distance to the nearest training point, generated {near(gen).mean():.4f} held-out {near(held).mean():.4f} "
    f"gaussian {near(torch.randn(1000, 2)).mean():.4f}"
)
print(f"RESULT energy_distance {energy(gen, held):.4f}")
