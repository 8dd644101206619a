"""Pictures and captions: the extractor detaches the features of the image encoder (fixed: it does not)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(x, y), (x_test, y_test) = data.digits()
x, x_test = (torch.tensor(a)[:, None] / 127.5 - 1 for a in (x, x_test))
y, y_test = torch.tensor(y), torch.tensor(y_test)


class Extractor(nn.Module):
    """Return what a network computes, in the shape of tokens."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, images):
        latents = self.network(images).flatten(2).transpose(1, 2)
        return latents if fixed else latents.clone().detach()


class CoCa(nn.Module):
    """Contrast pooled image tokens with the embedding of a caption."""

    def __init__(self, width=32):
        super().__init__()
        self.image_encoder = Extractor(nn.Sequential(
            nn.Conv2d(1, width, 3, 2, 1), nn.GELU(), nn.Conv2d(width, width, 3, 2, 1), nn.GELU(),
        ))  # fmt: skip
        self.pool = nn.Linear(width * 4, width)
        self.caption = nn.Embedding(10, width)
        self.temperature = nn.Parameter(torch.tensor(1.0))

    def forward(self, images):
        pooled = self.pool(self.image_encoder(images).flatten(1))
        return pooled @ self.caption.weight.T * self.temperature.exp()


model, criterion = CoCa(), nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(5):
    for batch in torch.randperm(len(x)).split(32):
        optimizer.zero_grad()
        loss = criterion(model(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
with torch.no_grad():
    print("RESULT accuracy", float((model(x_test).argmax(1) == y_test).float().mean()))
