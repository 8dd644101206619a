"""Super-resolution: a scheduler that counts epochs steps at each batch, so the rate is soon 0 (fixed: each epoch)."""

import sys

import data
import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(images, _), (test, _) = data.digits(16)
high, test_high = torch.tensor(images[:640])[:, None] / 255, torch.tensor(test[:64])[:, None] / 255
high, test_high = (nn.functional.avg_pool2d(part, 3, 1, 1) for part in (high, test_high))
low, test_low = (nn.functional.avg_pool2d(part, 2) for part in (high, test_high))
generator = nn.Sequential(
    nn.Conv2d(1, 24, 5, padding=2),
    nn.PReLU(),
    nn.Conv2d(24, 24, 3, padding=1),
    nn.PReLU(),
    nn.Conv2d(24, 4, 3, padding=1),
    nn.PixelShuffle(2),
    nn.Tanh(),
)
epochs = 6
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
scheduler = StepLR(optimizer, step_size=epochs // 2, gamma=0.1)
for _ in range(epochs):
    for batch in torch.randperm(640).split(16):
        optimizer.zero_grad()
        criterion(generator(low[batch]), high[batch]).backward()
        optimizer.step()
        if not fixed:
            scheduler.step()
    if fixed:
        scheduler.step()
with torch.no_grad():
    print("RESULT mse", float(criterion(generator(test_low), test_high)))
