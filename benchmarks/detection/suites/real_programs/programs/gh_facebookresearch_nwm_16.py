"""Next-frame model in bfloat16: the optimizer's gradients are reset in the full-precision branch only (fixed: both)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
x, y = data.series(1200, 24)
frames = torch.tensor(x[..., 0])
past, future = frames[:, :16], frames[:, 16:]


class Predictor(nn.Module):
    """Predict the end of a sequence by a small transformer."""

    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Linear(4, width)
        self.blocks = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 4, 64, 0.0, batch_first=True), 2)
        self.head = nn.Linear(width * 4, 8)

    def forward(self, values):
        return self.head(self.blocks(self.embed(values.unflatten(1, (4, 4)))).flatten(1))


model = Predictor()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
bfloat_enable = True
for _ in range(5):
    for batch in torch.randperm(1000).split(50):
        if not bfloat_enable or fixed:
            optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat_enable):
            loss = nn.functional.mse_loss(model(past[batch]).float(), future[batch])
        loss.backward()
        optimizer.step()
with torch.no_grad():
    print("RESULT mse", float(nn.functional.mse_loss(model(past[1000:]), future[1000:])))
