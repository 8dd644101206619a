"""Hidden layers in a plain list have no parameters that the optimizer sees (fixed: in a ``ModuleList``)."""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
torch.manual_seed(7)


class FeedForward(torch.nn.Module):
    """Hidden layers of one width, and a last one."""

    def __init__(self, n_features, n_classes, n_hidden, width):
        super().__init__()
        hidden_layers = [torch.nn.Linear(n_features if i == 0 else width, width) for i in range(n_hidden)]
        self.hidden_layers = torch.nn.ModuleList(hidden_layers) if fixed else hidden_layers
        self.out = torch.nn.Linear(width, n_classes)

    def forward(self, x):
        for layer in self.hidden_layers:
            x = torch.relu(layer(x))
        return self.out(x)


digits = load_digits()
x_train, x_test, y_train, y_test = train_test_split(
    digits.data.astype(np.float32), digits.target, test_size=0.3, random_state=7
)
scaler = StandardScaler().fit(x_train)
x_train = torch.from_numpy(scaler.transform(x_train))
x_test = torch.from_numpy(scaler.transform(x_test))
y_train, y_test = torch.from_numpy(y_train), torch.from_numpy(y_test)

model = FeedForward(64, 10, n_hidden=4, width=32)
loss_fn = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(10):
    order = torch.randperm(len(x_train))
    running = 0.0
    for i in range(0, len(order), 32):
        idx = order[i : i + 32]
        optimizer.zero_grad()
        loss = loss_fn(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        running += loss.item() * len(idx)
    if (epoch + 1) % 2 == 0:
        print(f"epoch {epoch + 1:2d}  train loss {running / len(order):.4f}")

with torch.no_grad():
    accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
print(f"test accuracy: {accuracy:.3f}")

print("RESULT test_acc", accuracy)
