"""Topics of texts by a small transformer: ``NLLLoss`` gets probabilities of a softmax, not their logarithms.

The loss is negative, and its gradient weak (fixed: ``LogSoftmax``).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
VOCAB, CLASSES, LENGTH = 800, 20, 30

topic = rng.dirichlet(np.full(VOCAB - 1, 0.05), CLASSES)
common = rng.dirichlet(np.full(VOCAB - 1, 1.0))


def make(n):
    x = np.zeros((n, LENGTH), np.int64)
    y = rng.randint(0, CLASSES, n)
    for i in range(n):
        k = rng.randint(12, LENGTH + 1)
        p = 0.45 * topic[y[i]] + 0.55 * common
        x[i, :k] = 1 + rng.choice(VOCAB - 1, k, p=p)
    return torch.from_numpy(x), torch.from_numpy(y)


x_train, y_train = make(3000)
x_test, y_test = make(800)


class Transformer(nn.Module):
    def __init__(self, d_model=48, heads=4, layers=1):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, d_model, padding_idx=0)
        self.position = nn.Parameter(0.02 * torch.randn(LENGTH, d_model))
        layer = nn.TransformerEncoderLayer(d_model, heads, 96, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.fc = nn.Linear(d_model, CLASSES)
        self.softmax = nn.LogSoftmax(dim=1) if fixed else nn.Softmax(dim=1)

    def forward(self, x):
        pad = x == 0
        h = self.encoder(self.embed(x) + self.position, src_key_padding_mask=pad)
        h = (h * (~pad)[..., None]).sum(1) / (~pad).sum(1, keepdim=True)
        return self.softmax(self.fc(h))


model = Transformer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_op = nn.NLLLoss()
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)


def evaluate(x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


for epoch in range(9):
    model.train()
    losses = []
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = loss_op(model(xb), yb)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if epoch % 3 == 2:
        print(
            f"epoch {epoch + 1}: average training loss {np.mean(losses):.5f}, "
            f"accuracy {evaluate(x_train, y_train):.4f} / {evaluate(x_test, y_test):.4f}"
        )
print("RESULT test_accuracy", f"{evaluate(x_test, y_test):.4f}")
