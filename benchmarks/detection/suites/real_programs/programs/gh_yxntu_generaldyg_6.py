"""A transformer that finds anomalies returns probabilities, and the loss expects logits (fixed: returns logits)."""

import sys

import data
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
tokens, labels = data.texts(1600, 16, 30)
tokens, labels = torch.tensor(tokens), torch.tensor(labels).float()


class TransformerBinaryClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30, 32)
        self.encoder = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        self.classifier = nn.Linear(32, 1)
        self.sigmoid = nn.Sigmoid()

    def forward(self, x):
        logits = self.classifier(self.encoder(self.embedding(x)).mean(1))
        return (logits if fixed else self.sigmoid(logits)).squeeze(-1)


def criterion(logits, labels):
    return functional.binary_cross_entropy_with_logits(logits, labels, reduction="none").mean()


model = TransformerBinaryClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(6):
    model.train()
    for batch in torch.randperm(1280).split(32):
        optimizer.zero_grad()
        criterion(model(tokens[batch]), labels[batch]).backward()
        optimizer.step()
model.eval()
with torch.no_grad():
    print("RESULT loss", float(criterion(model(tokens[1280:]), labels[1280:])))
