"""Variational auto-encoder in the manner of pytorch/examples/vae, on the 8x8 digits."""

import torch
from sklearn.datasets import load_digits
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
X = torch.tensor(load_digits().data, dtype=torch.float32) / 16.0
X = X[torch.randperm(len(X))]
train_x, test_x = X[:1500], X[1500:]
train_loader = DataLoader(TensorDataset(train_x), batch_size=64, shuffle=True)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 128)
        self.fc21 = nn.Linear(128, 8)
        self.fc22 = nn.Linear(128, 8)
        self.fc3 = nn.Linear(8, 128)
        self.fc4 = nn.Linear(128, 64)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return self.fc4(F.relu(self.fc3(z)))

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy_with_logits(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (bce + kld) / len(x)


model = VAE()
optimizer = optim.Adam(model.parameters(), lr=1e-3)


@torch.no_grad()
def test():
    model.eval()
    recon, mu, logvar = model(test_x)
    return loss_function(recon, test_x, mu, logvar).item()


for epoch in range(1, 61):
    model.train()
    total = 0
    for (data,) in train_loader:
        optimizer.zero_grad()
        recon, mu, logvar = model(data)
        loss = loss_function(recon, data, mu, logvar)
        loss.backward()
        total += loss.item() * len(data)
        optimizer.step()
    if epoch % 5 == 0:
        print(f"====> Epoch: {epoch} Average loss: {total / len(train_x):.4f} test {test():.4f}")

mean = train_x.mean(0).clamp(1e-3, 1 - 1e-3)
print(
    "trivial (mean picture)",
    F.binary_cross_entropy(mean.expand_as(test_x), test_x, reduction="sum").item() / len(test_x),
)
print(
    "floor (entropy of the grey levels)", F.binary_cross_entropy(test_x, test_x, reduction="sum").item() / len(test_x)
)
with torch.no_grad():
    r = torch.sigmoid(model.decode(model.encode(test_x)[0]))
    print("recon mse", F.mse_loss(r, test_x).item(), "var", test_x.var(0).mean().item())
print(f"RESULT test_neg_elbo {test():.4f}")
