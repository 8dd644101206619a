"""Variational autoencoder of the digits, Bernoulli likelihood, KL weight warmed up in the first epochs."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

torch.manual_seed(21)
X = (load_digits().data / 16.0).astype("float32")
tr, te = train_test_split(X, test_size=0.2, random_state=3)
tr, te = torch.tensor(tr), torch.tensor(te)


class VAE(nn.Module):
    def __init__(self, z=8, h=128):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, h), nn.GELU(), nn.Linear(h, h), nn.GELU())
        self.mu, self.logvar = nn.Linear(h, z), nn.Linear(h, z)
        self.dec = nn.Sequential(nn.Linear(z, h), nn.GELU(), nn.Linear(h, h), nn.GELU(), nn.Linear(h, 64))

    def forward(self, x):
        h = self.enc(x)
        mu, lv = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp() if self.training else mu
        return self.dec(z), mu, lv


def terms(x, out):
    logits, mu, lv = out
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1)
    kl = -0.5 * (1 + lv - mu.pow(2) - lv.exp()).sum(1)
    return rec.mean(), kl.mean()


vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=2e-3)
E = 70
for ep in range(E):
    beta = min(1.0, ep / 30)
    vae.train()
    a = b = 0.0
    for idx in torch.randperm(len(tr)).split(64):
        rec, kl = terms(tr[idx], vae(tr[idx]))
        loss = rec + beta * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        a += rec.item() * len(idx)
        b += kl.item() * len(idx)
    if ep % 6 == 0 or ep == E - 1:
        print(f"ep {ep} beta {beta:.1f} rec {a / len(tr):.3f} kl {b / len(tr):.3f}")
vae.eval()
with torch.no_grad():
    mse = (torch.sigmoid(vae(te)[0]) - te).pow(2).mean()
print("RESULT explained_variance %.4f" % (1 - mse / (te - tr.mean(0)).pow(2).mean()).item())
