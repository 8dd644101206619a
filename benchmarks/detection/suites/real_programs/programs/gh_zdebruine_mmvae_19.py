"""A variational autoencoder of digits: the squared error is a mean over all pixels, the divergence a sum of everything

(fixed: the error is summed over pixels, and the divergence averaged).
"""

import sys

import data
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(x, _), (x_test, _) = data.digits()
x, x_test = (torch.tensor(a).flatten(1) / 255 for a in (x, x_test))


class VAE(nn.Module):
    """Encoder, latent space and decoder."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU())
        self.fc_mean, self.fc_var = nn.Linear(128, 16), nn.Linear(128, 16)
        self.decoder = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 64), nn.Sigmoid())

    def reparameterize(self, mu, logvar):
        return mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)

    def forward(self, x):
        hidden = self.encoder(x)
        mu, logvar = self.fc_mean(hidden), self.fc_var(hidden)
        return self.decoder(self.reparameterize(mu, logvar)), mu, logvar


def kl_divergence(mu, logvar, reduction="sum"):
    divergence = 1 + logvar - mu.pow(2) - logvar.exp()
    return -0.5 * (torch.mean(divergence) if reduction == "mean" else torch.sum(divergence))


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(7):
    model.train()
    for rows in torch.randperm(len(x)).split(64):
        predicted, mu, logvar = model(x[rows])
        if fixed:
            recon_loss = functional.mse_loss(predicted, x[rows], reduction="sum") / len(rows)
            kl_loss = kl_divergence(mu, logvar, reduction="mean")
        else:
            recon_loss = functional.mse_loss(predicted, x[rows])
            kl_loss = kl_divergence(mu, logvar)
        loss = recon_loss + kl_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, recon_loss.item(), kl_loss.item())
model.eval()
with torch.no_grad():
    error = functional.mse_loss(model(x_test)[0], x_test) / (x_test - x.mean(0)).square().mean()
print("RESULT unexplained", float(error))
