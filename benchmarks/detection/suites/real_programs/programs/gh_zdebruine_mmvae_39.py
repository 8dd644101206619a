"""A variational autoencoder: the optimizer gets the encoder's parameters only (fixed: all)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(x, _), (x_test, _) = data.digits()
x, x_test = (torch.tensor(a).flatten(1) / 255 for a in (x, x_test))


class VAE(nn.Module):
    """Gaussian code of 8 numbers."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 48), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(48, 8), nn.Linear(48, 8)
        self.decoder = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 64), nn.Sigmoid())

    def forward(self, images):
        hidden = self.encoder(images)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        code = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decoder(code), mean, log_variance


model = VAE()
parameters = model.parameters() if fixed else model.encoder.parameters()
optimizer = torch.optim.Adam(parameters, lr=2e-3)
for _ in range(15):
    for batch in torch.randperm(len(x)).split(50):
        optimizer.zero_grad()
        output, mean, log_variance = model(x[batch])
        error = nn.functional.binary_cross_entropy(output, x[batch], reduction="sum")
        divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum()
        loss = (error + divergence) / len(batch)
        loss.backward()
        optimizer.step()
with torch.no_grad():
    print("RESULT mse", float(((model(x_test)[0] - x_test) ** 2).mean()))
