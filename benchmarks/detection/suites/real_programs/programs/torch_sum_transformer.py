"""A transformer encoder predicts the sum of a short sequence of numbers.

Its layers are built with the default batch_first=False while the batch comes first, so attention runs over the
samples of the batch and never over the steps of a sequence, and the loss stays high (fixed: batch_first=True).
"""

import sys

import torch
from torch import nn, optim

FIXED = "--fixed" in sys.argv
torch.manual_seed(42)

seq_length = 10
num_samples = 400
input_dim = 1
X = torch.rand(num_samples, seq_length, input_dim)
y = torch.sum(X, dim=1)
X_test = torch.rand(100, seq_length, input_dim)
y_test = torch.sum(X_test, dim=1)


class TransformerModel(nn.Module):
    def __init__(self, input_dim, embed_dim, num_heads, num_layers, ff_dim, output_dim):
        super().__init__()
        self.embedding = nn.Linear(input_dim, embed_dim)
        if FIXED:
            layer = nn.TransformerEncoderLayer(embed_dim, num_heads, ff_dim, dropout=0.0, batch_first=True)
        else:
            layer = nn.TransformerEncoderLayer(embed_dim, num_heads, ff_dim, dropout=0.0)
        self.transformer_encoder = nn.TransformerEncoder(layer, num_layers)
        self.output_layer = nn.Linear(embed_dim, output_dim)

    def forward(self, x):
        x = self.embedding(x)
        x = self.transformer_encoder(x)
        x = x[:, -1, :]
        return self.output_layer(x)


model = TransformerModel(input_dim, 16, 2, 2, 64, 1)
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=0.002)
batch_size = 40

for epoch in range(80):
    model.train()
    perm = torch.randperm(num_samples)
    total = 0.0
    for i in range(0, num_samples, batch_size):
        idx = perm[i : i + batch_size]
        optimizer.zero_grad()
        predictions = model(X[idx])
        loss = criterion(predictions, y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if (epoch + 1) % 10 == 0:
        print(f"Epoch [{epoch + 1}/80], Loss: {total / num_samples:.4f}")

model.eval()
with torch.no_grad():
    test_loss = criterion(model(X_test), y_test).item()
print("RESULT test_mse", f"{test_loss:.4f}")
