"""XOR is learnt by two linear layers without an activation between them (fixed: ReLU between them)."""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)


def make_xor(n):
    bits = torch.randint(0, 2, (n, 2)).float()
    label = (bits[:, 0] != bits[:, 1]).float().unsqueeze(1)
    return bits + 0.1 * torch.randn(n, 2), label


x_train, y_train = make_xor(1000)
x_test, y_test = make_xor(300)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)

model = nn.Sequential(
    nn.Linear(2, 8),
    *([nn.ReLU()] if fixed else []),
    nn.Linear(8, 1),
    nn.Sigmoid(),
)
criterion = nn.BCELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

for epoch in range(30):
    running = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        predicted = model(x)
        loss = criterion(predicted, y)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(y)
    print(f"epoch {epoch} loss {running / len(x_train):.4f}")

with torch.no_grad():
    predicted = model(x_test)
accuracy = ((predicted > 0.5).float() == y_test).float().mean().item()
print("accuracy", accuracy)
print(model(torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])).detach())

print("RESULT test_acc", accuracy)
