"""A conditional variational autoencoder with convolutions learns digits of 28 x 28 pixels.

A layer of the decoder has a single channel with a ReLU. It falls silent, so that all gradients before it are zero and
all images the same (fixed: batch normalisation before the ReLUs of the convolutions).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
SEED = 2
torch.manual_seed(SEED)
np.random.seed(SEED)


def norm(channels):
    return nn.BatchNorm2d(channels) if FIXED else nn.Identity()


class Model(nn.Module):
    def __init__(self, latent_size=16, num_classes=10):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(2, 16, 5, stride=2), norm(16)
        self.conv2, self.norm2 = nn.Conv2d(16, 32, 5, stride=2), norm(32)
        self.linear1 = nn.Linear(4 * 4 * 32, 128)
        self.mu = nn.Linear(128, latent_size)
        self.logvar = nn.Linear(128, latent_size)
        self.linear2 = nn.Linear(latent_size + num_classes, 128)
        self.linear3 = nn.Linear(128, 4 * 4 * 32)
        self.conv3, self.norm3 = nn.ConvTranspose2d(32, 16, 5, stride=2), norm(16)
        self.conv4, self.norm4 = nn.ConvTranspose2d(16, 1, 5, stride=2), norm(1)
        self.conv5 = nn.ConvTranspose2d(1, 1, 4)

    def encoder(self, x, y):
        plane = (y.argmax(1).float() / 9).reshape(-1, 1, 1, 1).expand_as(x)
        t = torch.cat((x, plane), dim=1)
        t = functional.relu(self.norm1(self.conv1(t)))
        t = functional.relu(self.norm2(self.conv2(t)))
        t = functional.relu(self.linear1(t.flatten(1)))
        return self.mu(t), self.logvar(t)

    def decoder(self, z):
        t = functional.relu(self.linear2(z))
        t = functional.relu(self.linear3(t)).reshape(-1, 32, 4, 4)
        t = functional.relu(self.norm3(self.conv3(t)))
        t = functional.relu(self.norm4(self.conv4(t)))
        return torch.sigmoid(self.conv5(t))

    def forward(self, x, y):
        mu, logvar = self.encoder(x, y)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu) if self.training else mu
        return self.decoder(torch.cat((z, y), dim=1)), mu, logvar


def loss_function(x, pred, mu, logvar):
    recon = 10 * functional.mse_loss(pred, x, reduction="sum") / len(x)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / len(x)
    return recon, kld


digits = load_digits()
images = torch.from_numpy(digits.images / 16.0).float().unsqueeze(1)
images = functional.interpolate(images, size=(28, 28), mode="bilinear", align_corners=False)
labels = functional.one_hot(torch.from_numpy(digits.target).long(), 10).float()
train_idx, test_idx = train_test_split(np.arange(len(images)), test_size=0.25, random_state=0)
train_set = torch.utils.data.TensorDataset(images[train_idx], labels[train_idx])
loader = torch.utils.data.DataLoader(train_set, batch_size=50, shuffle=True)
test_x, test_y = images[test_idx], labels[test_idx]

model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(1, 11):
    model.train()
    recon_sum = kld_sum = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        pred, mu, logvar = model(x, y)
        recon, kld = loss_function(x, pred, mu, logvar)
        (recon + kld).backward()
        optimizer.step()
        recon_sum += recon.item() * len(x)
        kld_sum += kld.item() * len(x)
    model.eval()
    with torch.no_grad():
        test_recon, test_kld = loss_function(test_x, *model(test_x, test_y))
    print(
        f"Epoch {epoch}  train reconstruction {recon_sum / len(train_set):.3f}  KLD {kld_sum / len(train_set):.3f}  "
        f"test reconstruction {test_recon.item():.3f}  KLD {test_kld.item():.3f}"
    )

print("RESULT test_reconstruction", f"{test_recon.item():.3f}")
