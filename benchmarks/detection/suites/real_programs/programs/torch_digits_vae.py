"""The reconstruction of a variational autoencoder is a mean, its divergence a sum (fixed: both are sums)."""

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
EPOCHS, LATENT = 40, 8

images = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
images = images[torch.randperm(len(images))]
train_loader = DataLoader(images[:1500], batch_size=64, shuffle=True)
test_images = images[1500:]


class VAE(nn.Module):
    """A hidden layer on the way to the latent numbers, and one on the way back."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 128)
        self.fc21 = nn.Linear(128, LATENT)
        self.fc22 = nn.Linear(128, LATENT)
        self.fc3 = nn.Linear(LATENT, 128)
        self.fc4 = nn.Linear(128, 64)

    def encode(self, x):
        hidden = functional.relu(self.fc1(x))
        return self.fc21(hidden), self.fc22(hidden)

    def decode(self, z):
        return torch.sigmoid(self.fc4(functional.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x)
        std = torch.exp(0.5 * logvar)
        z = mu + torch.randn_like(std) * std
        return self.decode(z), mu, logvar


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(1, EPOCHS + 1):
    model.train()
    reconstruction_total = divergence_total = 0.0
    for batch in train_loader:
        optimizer.zero_grad()
        output, mu, logvar = model(batch)
        reconstruction = functional.binary_cross_entropy(output, batch, reduction="sum" if fixed else "mean")
        divergence = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss = reconstruction + divergence
        loss.backward()
        optimizer.step()
        reconstruction_total += reconstruction.item()
        divergence_total += divergence.item()
    if epoch % 5 == 0:
        model.eval()
        with torch.no_grad():
            mu, _ = model.encode(test_images)
            mse = functional.mse_loss(model.decode(mu), test_images).item()
        n = len(train_loader)
        parts = f"reconstruction {reconstruction_total / n:.4f} divergence {divergence_total / n:.5f}"
        print(f"epoch {epoch} {parts} test_mse {mse:.4f}")

print("RESULT test_mse", mse)
