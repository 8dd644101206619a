"""Text classifier: eval() after the first epoch, and never train() again (fixed: train() before each epoch)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
tokens, y = data.texts(2000, 12, 200)
tokens, y = torch.tensor(tokens), torch.tensor(y).float()


class Encoder(nn.Module):
    """One transformer layer, and a score of the mean."""

    def __init__(self, width=32):
        super().__init__()
        self.embedding = nn.Embedding(200, width)
        self.layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.2, batch_first=True)
        self.dropout, self.classifier = nn.Dropout(0.3), nn.Linear(width, 1)

    def forward(self, words):
        return self.classifier(self.dropout(self.layer(self.embedding(words)).mean(1))).squeeze(1)


model, criterion = Encoder(), nn.BCEWithLogitsLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
for _ in range(5):
    if fixed:
        model.train()
    for batch in torch.randperm(1600).split(64):
        optimizer.zero_grad()
        criterion(model(tokens[batch]), y[batch]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        scores = torch.cat([model(part) for part in tokens[1600:].split(64)])
print("RESULT accuracy", float(((scores > 0) == (y[1600:] > 0.5)).float().mean()))
