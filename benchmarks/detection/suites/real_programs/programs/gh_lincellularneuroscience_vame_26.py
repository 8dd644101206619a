"""Recurrent autoencoder of motion: without a scheduler, StepLR has gamma=0, so the rate becomes 0 (fixed: gamma=1)."""

import sys

import data
import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
x, _ = data.series(700, 15)
windows = torch.tensor(x)


class Autoencoder(nn.Module):
    """Squeeze a window into a few numbers, and draw it again."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.GRU(1, 24, batch_first=True)
        self.to_mean, self.to_scale = nn.Linear(24, 6), nn.Linear(24, 6)
        self.decoder, self.out = nn.GRU(6, 24, batch_first=True), nn.Linear(24, 1)

    def forward(self, values):
        _, state = self.encoder(values)
        mean, log_variance = self.to_mean(state[0]), self.to_scale(state[0])
        latent = mean + torch.randn_like(mean) * (0.5 * log_variance).exp() if self.training else mean
        drawn, _ = self.decoder(latent[:, None].expand(-1, values.shape[1], -1))
        return self.out(drawn), mean, log_variance


model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
optimizer_scheduler = False
if optimizer_scheduler:
    scheduler = StepLR(optimizer, step_size=4, gamma=0.2)
else:
    scheduler = StepLR(optimizer, step_size=4, gamma=1 if fixed else 0)
for _ in range(16):
    model.train()
    for batch in torch.randperm(600).split(40):
        optimizer.zero_grad()
        drawn, mean, log_variance = model(windows[batch])
        divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).mean()
        loss = nn.functional.mse_loss(drawn, windows[batch]) + 1e-3 * divergence
        loss.backward()
        optimizer.step()
    scheduler.step()
model.eval()
with torch.no_grad():
    print("RESULT mse", float(nn.functional.mse_loss(model(windows[600:])[0], windows[600:])))
