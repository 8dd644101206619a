"""A convolutional variational autoencoder rebuilds small images.

The images lie at -1 to 1, but the decoder ends in a sigmoid, and the mean squared error per pixel is added to the whole
KL term, which outweighs it (fixed: images at 0 to 1, and a Gaussian likelihood with the optimal variance).
"""

import math
import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(0)

pixels = torch.tensor(load_digits().images / 16.0, dtype=torch.float32).unsqueeze(1)
pixels = functional.interpolate(pixels, size=(16, 16), mode="bilinear", align_corners=False)
if not FIXED:
    pixels = (pixels - 0.5) / 0.5
perm = torch.randperm(len(pixels))
train_x, test_x = pixels[perm[:1400]], pixels[perm[1400:]]
train_loader = DataLoader(TensorDataset(train_x), batch_size=32, shuffle=True)


class Encoder(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1),
            nn.LeakyReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.LeakyReLU(),
            nn.Flatten(),
        )
        self.mu, self.log_var = nn.Linear(512, latent), nn.Linear(512, latent)

    def forward(self, x):
        h = self.conv(x)
        return self.mu(h), self.log_var(h)


class Decoder(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.fc = nn.Linear(latent, 512)
        self.conv = nn.Sequential(
            nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1),
            nn.LeakyReLU(),
            nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1),
            nn.Sigmoid(),
        )

    def forward(self, z):
        return self.conv(functional.leaky_relu(self.fc(z)).view(-1, 32, 4, 4))


class VAE(nn.Module):
    def __init__(self, latent=10):
        super().__init__()
        self.encoder, self.decoder = Encoder(latent), Decoder(latent)

    def forward(self, x):
        mu, log_var = self.encoder(x)
        z = mu + torch.exp(0.5 * log_var) * torch.randn_like(mu)
        return self.decoder(z), mu, log_var


def vae_loss(predictions, targets, mu, log_var):
    kl = -0.5 * (1 + log_var - mu.pow(2) - log_var.exp()).sum(dim=1).mean()
    r_loss = functional.mse_loss(predictions, targets)
    if FIXED:
        # negative log likelihood of a Gaussian whose variance is the mean squared error of the batch
        r_loss = 0.5 * targets[0].numel() * (torch.log(2 * math.pi * r_loss) + 1)
    return r_loss + kl, kl


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(20):
    model.train()
    total = kl_total = 0.0
    for (x,) in train_loader:
        optimizer.zero_grad()
        out, mu, log_var = model(x)
        loss, kl = vae_loss(out, x, mu, log_var)
        loss.backward()
        optimizer.step()
        total += loss.item()
        kl_total += kl.item()
    if (epoch + 1) % 5 == 0:
        print(f"epoch {epoch + 1}  loss {total / len(train_loader):.4f}  kl {kl_total / len(train_loader):.4f}")

model.eval()
with torch.no_grad():
    out = model.decoder(model.encoder(test_x)[0])
    error = functional.mse_loss(out, test_x).item()
    spread = (test_x - train_x.mean(dim=0)).pow(2).mean().item()
print(f"mean squared error {error:.4f}, of the mean image {spread:.4f}")
print("RESULT explained_variance", f"{1 - error / spread:.4f}")
