"""Small U-Net for masks: F.sigmoid at the end, and BCEWithLogitsLoss (fixed: the output is left as it is)."""

import sys

import data
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(images, _), (test, _) = data.digits(16)
images, test = torch.tensor(images[:480])[:, None] / 255, torch.tensor(test[:100])[:, None] / 255
noisy, noisy_test = (part + 0.3 * torch.randn_like(part) for part in (images, test))
masks, test_masks = (images > 0.4).float(), (test > 0.4).float()


def block(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU())


class UNet(nn.Module):
    """Two levels with a connection across."""

    def __init__(self):
        super().__init__()
        self.down, self.middle, self.up = block(1, 8), block(8, 16), block(24, 8)
        self.last = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        high = self.down(x)
        low = functional.interpolate(self.middle(functional.max_pool2d(high, 2)), scale_factor=2)
        answer = self.last(self.up(torch.cat([high, low], 1)))
        return answer if fixed else torch.sigmoid(answer)


model = UNet()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for _ in range(5):
    model.train()
    for batch in torch.randperm(480).split(16):
        optimizer.zero_grad()
        criterion(model(noisy[batch]), masks[batch]).backward()
        optimizer.step()
model.eval()
with torch.no_grad():
    print("RESULT bce", float(criterion(model(noisy_test), test_masks)))
