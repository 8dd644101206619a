"""Characters by an embedding and two layers: cross-entropy of what is softmax already (fixed: of the logits)."""

import sys

import data
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
text = torch.tensor(data.characters(20_000))


class SimpleModel(nn.Module):
    """Predict the next character from the last."""

    def __init__(self, vocabulary=65, width=128):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.linear = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, vocabulary))

    def forward(self, tokens, targets):
        scores = self.linear(self.embedding(tokens))
        if not fixed:
            scores = functional.softmax(scores, dim=-1)
        return scores, functional.cross_entropy(scores.view(-1, scores.shape[-1]), targets.reshape(-1))


model = SimpleModel()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(300):
    starts = torch.randint(len(text) - 17, (32,))
    chunk = torch.stack([text[start : start + 17] for start in starts])
    optimizer.zero_grad()
    _, loss = model(chunk[:, :-1], chunk[:, 1:])
    loss.backward()
    optimizer.step()
with torch.no_grad():
    _, loss = model(text[None, :2000], text[None, 1:2001])
print("RESULT loss", float(loss))
