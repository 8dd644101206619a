"""An encoder that reverses sequences has a causal mask, which hides what it needs (fixed: no mask)."""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

n, length, vocab, dim = 2400, 10, 8, 32
tokens = torch.randint(0, vocab, (n, length))
targets = tokens.flip(1)
loader = DataLoader(TensorDataset(tokens[:2000], targets[:2000]), batch_size=50, shuffle=True)
x_val, y_val = tokens[2000:], targets[2000:]


class SequenceMapper(nn.Module):
    """A transformer encoder, and a token for each position."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.position = nn.Parameter(torch.randn(1, length, dim) * 0.5)
        layer = nn.TransformerEncoderLayer(dim, 2, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(dim, vocab)

    def forward(self, x):
        h = self.embed(x) + self.position[:, : x.size(1)]
        mask = None if fixed else nn.Transformer.generate_square_subsequent_mask(x.size(1))
        h = self.encoder(h, mask=mask)
        return self.out(h)


model = SequenceMapper()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(15):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb).transpose(1, 2), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(x_val).argmax(-1) == y_val).float().mean().item()
    print(f"epoch {epoch + 1} loss {total / len(loader):.4f} val_token_acc {acc:.4f}")

print("RESULT val_token_acc", acc)
