# One weight, one bias, batch size 1
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

x = torch.linspace(-1, 1, 120).unsqueeze(1)
y = 2.5 * x - 0.7 + 0.05 * torch.randn_like(x)

perm = torch.randperm(len(x))
train_idx, val_idx = perm[:96], perm[96:]
train = DataLoader(TensorDataset(x[train_idx], y[train_idx]), batch_size=1, shuffle=True)

model = nn.Linear(1, 1)
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

for epoch in range(30):
    model.train()
    total = 0.0
    for xb, yb in train:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if (epoch + 1) % 5 == 0:
        model.eval()
        with torch.no_grad():
            val = criterion(model(x[val_idx]), y[val_idx]).item()
        print(f"epoch {epoch + 1}: train {total / len(train):.5f} val {val:.5f}")

print(f"w = {model.weight.item():.3f} (2.5)   b = {model.bias.item():.3f} (-0.7)")
