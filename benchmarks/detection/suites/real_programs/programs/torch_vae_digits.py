"""A variational autoencoder with linear layers learns small pictures of digits.

The decoder ends in a ReLU, but the pictures are normalised to -1 to 1 (fixed: tanh).
"""

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn, optim
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self, d_in, h, d_out):
        super().__init__()
        self.linear1 = nn.Linear(d_in, h)
        self.linear2 = nn.Linear(h, d_out)

    def forward(self, x):
        x = functional.relu(self.linear1(x))
        return functional.relu(self.linear2(x))


class Decoder(nn.Module):
    def __init__(self, d_in, h, d_out):
        super().__init__()
        self.linear1 = nn.Linear(d_in, h)
        self.linear2 = nn.Linear(h, d_out)

    def forward(self, x):
        x = functional.relu(self.linear1(x))
        x = self.linear2(x)
        return torch.tanh(x) if fixed else functional.relu(x)


class VAE(nn.Module):
    latent_dim = 8

    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self._enc_mu = nn.Linear(100, 8)
        self._enc_log_sigma = nn.Linear(100, 8)

    def forward(self, state):
        h_enc = self.encoder(state)
        mu, log_sigma = self._enc_mu(h_enc), self._enc_log_sigma(h_enc)
        self.z_mean, self.z_sigma = mu, torch.exp(log_sigma)
        z = mu + self.z_sigma * torch.randn_like(mu) if self.training else mu
        return self.decoder(z)


def latent_loss(mean, sigma):
    return 0.5 * torch.mean(torch.sum(mean**2 + sigma**2 - torch.log(sigma**2) - 1, dim=1))


images = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
images = (images - 0.5) / 0.5
train, test = images[:1400], images[1400:]
dataloader = DataLoader(TensorDataset(train), batch_size=32, shuffle=True)

vae = VAE(Encoder(64, 100, 100), Decoder(8, 100, 64))
optimizer = optim.Adam(vae.parameters(), lr=1e-3)
for epoch in range(60):
    vae.train()
    total = kl = 0.0
    for (inputs,) in dataloader:
        optimizer.zero_grad()
        dec = vae(inputs)
        ll = latent_loss(vae.z_mean, vae.z_sigma)
        loss = functional.mse_loss(dec, inputs, reduction="sum") / len(inputs) + ll
        loss.backward()
        optimizer.step()
        total += loss.item()
        kl += ll.item()
    print(epoch, "loss", total / len(dataloader), "kl", kl / len(dataloader))
vae.eval()
with torch.no_grad():
    error = functional.mse_loss(vae(test), test).item()
print("variance of the pictures", test.var().item())
print("RESULT test_reconstruction_mse", f"{error:.4f}")
