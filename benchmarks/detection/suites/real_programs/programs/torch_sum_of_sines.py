"""One hidden layer learns the sum of the sines of ten inputs.

Outputs of shape (B, 1) are compared with targets of shape (B,), each with each, so the network predicts the mean
(fixed: outputs squeezed).
"""

import sys

import numpy as np
import torch
from sklearn.preprocessing import MinMaxScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)


def get_data():
    np.random.seed(0)
    x_train = np.random.normal(0, 1, size=(7000, 10))
    x_val = np.random.normal(0, 1, size=(700, 10))
    y_train = np.sum(np.sin(x_train), axis=1)
    y_val = np.sum(np.sin(x_val), axis=1)
    scaler = MinMaxScaler()
    y_train = scaler.fit_transform(y_train.reshape(-1, 1)).reshape(-1)
    y_val = scaler.transform(y_val.reshape(-1, 1)).reshape(-1)
    return [torch.tensor(a, dtype=torch.float32) for a in (x_train, x_val, y_train, y_val)]


class PytorchModel(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.linear1 = nn.Linear(10, hidden)
        self.linear2 = nn.Linear(hidden, 1)
        for layer in (self.linear1, self.linear2):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        return self.linear2(torch.tanh(self.linear1(x)))


x_train, x_val, y_train, y_val = get_data()
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)
model = PytorchModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()

for epoch in range(25):
    model.train()
    running = 0.0
    for xb, yb in loader:
        pred = model(xb)
        if fixed:
            pred = pred.squeeze(1)
        loss = criterion(pred, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        val = np.mean((model(x_val).numpy().ravel() - y_val.numpy()) ** 2)
    print(f"epoch {epoch} loss {running / len(loader):.6f} val mse {val:.6f}")
print("RESULT val_mse", f"{val:.6f}")
