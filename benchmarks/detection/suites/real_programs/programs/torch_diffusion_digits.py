"""The networks of the steps of a diffusion model of digits are in a plain list, so the optimizer never sees them.

Only the decoder trains (fixed: an ``nn.ModuleList``). The loss is the negative ELBO, in nats for each picture.
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(42)
PI = torch.tensor(np.pi)

data = load_digits().data.astype(np.float32)
data = 2.0 * (data / 17.0) - 1.0
order = np.random.RandomState(0).permutation(len(data))
train = torch.from_numpy(data[order[:1300]])
val = torch.from_numpy(data[order[1300:1500]])
test = torch.from_numpy(data[order[1500:]])

D, M, T, BETA = 64, 256, 5, 0.9


def log_standard_normal(x):
    return -0.5 * torch.log(2.0 * PI) - 0.5 * x**2


def log_normal_diag(x, mu, log_var):
    return -0.5 * torch.log(2.0 * PI) - 0.5 * log_var - 0.5 * torch.exp(-log_var) * (x - mu) ** 2


class DDGM(nn.Module):
    def __init__(self, p_dnns, decoder_net):
        super().__init__()
        self.p_dnns = nn.ModuleList(p_dnns) if fixed else p_dnns
        self.decoder_net = decoder_net

    def diffuse(self, x, i):
        b = BETA * (i + 1) / T
        return np.sqrt(1.0 - b) * x + np.sqrt(b) * torch.randn_like(x), b

    def forward(self, x):
        zs, betas = [], []
        z = x
        for i in range(T):
            z, b = self.diffuse(z, i)
            zs.append(z)
            betas.append(b)
        mus, log_vars = [], []
        for i in range(T - 1):
            mu, log_var = torch.chunk(self.p_dnns[i](zs[i + 1]), 2, dim=1)
            mus.append(mu)
            log_vars.append(functional.hardtanh(log_var, -7.0, 2.0))
        mu_x, lv_x = torch.chunk(self.decoder_net(zs[0]), 2, dim=1)
        lv_x = functional.hardtanh(lv_x, -5.0, 2.0)
        re = log_normal_diag(x, mu_x, lv_x).sum(-1)
        b = betas[-1]
        lb = torch.full_like(x, float(np.log(b)))
        kl = (log_normal_diag(zs[-1], np.sqrt(1.0 - b) * zs[-2], lb) - log_standard_normal(zs[-1])).sum(-1)
        for i in range(T - 2, -1, -1):
            b = betas[i]
            lb = torch.full_like(x, float(np.log(b)))
            prev = zs[i - 1] if i > 0 else x
            kl = kl + (
                log_normal_diag(zs[i], np.sqrt(1.0 - b) * prev, lb) - log_normal_diag(zs[i], mus[i], log_vars[i])
            ).sum(-1)
        return -(re - kl).mean()


def block(out):
    return nn.Sequential(nn.Linear(D, M), nn.LeakyReLU(), nn.Linear(M, M), nn.LeakyReLU(), nn.Linear(M, out))


p_dnns = [block(2 * D) for _ in range(T - 1)]
model = DDGM(p_dnns, block(2 * D))
optimizer = torch.optim.Adamax([p for p in model.parameters() if p.requires_grad], lr=1e-3)
loader = DataLoader(TensorDataset(train), batch_size=64, shuffle=True)


def evaluate(x):
    model.eval()
    with torch.no_grad():
        return sum(model(x).item() for _ in range(5)) / 5


for epoch in range(60):
    model.train()
    for (x,) in loader:
        loss = model(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1}: val nll {evaluate(val):.3f}")

print("RESULT test_nll", f"{evaluate(test):.3f}")
