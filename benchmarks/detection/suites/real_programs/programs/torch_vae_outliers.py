"""A variational autoencoder for outlier detection rebuilds the rows of a standardised table.

It is trained by Adam with the squared error and the divergence. The decoder ends in a ReLU, which cannot give the
negative half of the standardised values (fixed: no activation at the end).
"""

import sys
from itertools import pairwise

import numpy as np
import torch
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
n_features, latent_dim = 20, 4

mixing = rng.randn(latent_dim, n_features)
offset = rng.uniform(-20, 50, n_features)


def rows(n):
    return offset + np.tanh(rng.randn(n, latent_dim)) @ mixing * 5 + rng.randn(n, n_features)


x_train, x_test = rows(1000), rows(300)
scaler = StandardScaler().fit(x_train)
x_train = torch.tensor(scaler.transform(x_train), dtype=torch.float32)
x_test = torch.tensor(scaler.transform(x_test), dtype=torch.float32)


def dense(sizes):
    layers = []
    for a, b in pairwise(sizes):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return layers


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(*dense([n_features, 128, 64, 32]))
        self.mu = nn.Linear(32, latent_dim)
        self.log_var = nn.Linear(32, latent_dim)
        layers = [*dense([latent_dim, 32, 64, 128]), nn.Linear(128, n_features)]
        if not FIXED:
            layers.append(nn.ReLU())
        self.decoder = nn.Sequential(*layers)

    def forward(self, x):
        h = self.encoder(x)
        mu, log_var = self.mu(h), self.log_var(h)
        z = mu
        if self.training:
            z = mu + torch.randn_like(mu) * (0.5 * log_var).exp()
        return self.decoder(z), mu, log_var


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(x_train), batch_size=32, shuffle=True)

for epoch in range(14):
    model.train()
    total = 0.0
    for (x,) in loader:
        out, mu, log_var = model(x)
        mse = ((out - x) ** 2).sum(1)
        kl = -0.5 * (1 + log_var - mu**2 - log_var.exp()).sum(1)
        loss = (mse + 0.2 * kl).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 2 == 1:
        print(f"epoch {epoch + 1} loss {total / len(loader):.3f}")

model.eval()
with torch.no_grad():
    out = model(x_test)[0]
explained = 1 - ((out - x_test) ** 2).sum().item() / ((x_test - x_test.mean(0)) ** 2).sum().item()
print("RESULT explained_variance", f"{explained:.4f}")
