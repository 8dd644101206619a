"""Digits in mixed precision: gradients are clipped while they still carry the scale of the loss

(fixed: they are unscaled before).
"""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)


class LitDigits(nn.Module):
    """A network with the hooks of a trainer."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))

    def training_step(self, batch):
        x, y = batch
        return nn.functional.cross_entropy(self.layers(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.2, momentum=0.9)


class Trainer:
    """The loop around a module."""

    def __init__(self, max_epochs, gradient_clip_val):
        self.max_epochs, self.gradient_clip_val = max_epochs, gradient_clip_val
        self.scaler = torch.amp.GradScaler("cpu")

    def fit(self, module, x, y):
        optimizer = module.configure_optimizers()
        for epoch in range(self.max_epochs):
            for rows in torch.randperm(len(x)).split(56):
                optimizer.zero_grad()
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    loss = module.training_step((x[rows], y[rows]))
                self.scaler.scale(loss).backward()
                if fixed:
                    self.scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(module.parameters(), self.gradient_clip_val)
                self.scaler.step(optimizer)
                self.scaler.update()
            print(epoch, loss.item())


(x, y), (x_test, y_test) = data.digits()
x, x_test = (torch.tensor(a).flatten(1) / 255 for a in (x, x_test))
model = LitDigits()
Trainer(max_epochs=6, gradient_clip_val=0.5).fit(model, x, torch.tensor(y))
with torch.no_grad():
    print("RESULT accuracy", float((model.layers(x_test).argmax(1) == torch.tensor(y_test)).float().mean()))
