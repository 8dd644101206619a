"""An embedding and an LSTM tell which of 16 tokens came lately in a sequence of 48.

``nn.LSTM`` takes samples for time steps, so that of its own sequence each answer sees the last token only
(fixed: ``batch_first=True``).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(4)
rng = np.random.RandomState(4)


def make(n):
    x = rng.randint(0, 16, size=(n, 48))
    y = np.zeros((n, 16), dtype=np.float32)
    for t in range(12):  # which tokens occurred lately
        y[np.arange(n), x[:, 47 - t]] = 1.0
    return torch.tensor(x), torch.tensor(y)


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(16, 10)
        self.lstm = nn.LSTM(10, 50, batch_first=True) if fixed else nn.LSTM(10, 50)
        self.dropout = nn.Dropout(0.1)
        self.fc = nn.Linear(50, 16)

    def forward(self, x):
        x = self.embedding(x)
        x, _ = self.lstm(x, None)
        x = x[:, -1, :]
        x = self.dropout(x)
        x = self.fc(x)
        return torch.sigmoid(x)


X_train, y_train = make(4000)
X_test, y_test = make(1000)
train_loader = DataLoader(TensorDataset(X_train, y_train), batch_size=256, shuffle=True)
test_loader = DataLoader(TensorDataset(X_test, y_test), batch_size=256)

model = LSTM()
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(15):
    model.train()
    running = 0.0
    for inputs, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    right = 0.0
    with torch.no_grad():
        for inputs, labels in test_loader:
            right += ((model(inputs) > 0.5).float() == labels).float().sum().item()
    acc = right / y_test.numel()
    print(f"epoch {epoch} loss {running / len(train_loader):.4f} test acc {acc:.4f}")
print("RESULT test_accuracy", f"{acc:.4f}")
