"""A regression compares a column of predictions with a row of targets (fixed: the predictions are made a row)."""

import sys

import torch
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

data = load_diabetes()
x_train, x_test, y_train, y_test = train_test_split(data.data, data.target, test_size=0.2, random_state=1)
scaler = StandardScaler().fit(x_train)
y_mean, y_std = y_train.mean(), y_train.std()

x_train = torch.tensor(scaler.transform(x_train), dtype=torch.float32)
x_test = torch.tensor(scaler.transform(x_test), dtype=torch.float32)
y_train = torch.tensor((y_train - y_mean) / y_std, dtype=torch.float32)
y_test = torch.tensor((y_test - y_mean) / y_std, dtype=torch.float32)

loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)

net = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=1e-3)

for epoch in range(40):
    net.train()
    running = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        outputs = net(inputs).squeeze(1) if fixed else net(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(inputs)
    if (epoch + 1) % 5 == 0:
        print(f"epoch {epoch + 1}: mse {running / len(x_train):.4f}")

net.eval()
with torch.no_grad():
    pred = net(x_test).flatten()
r2 = 1 - ((pred - y_test) ** 2).sum() / ((y_test - y_test.mean()) ** 2).sum()
print("RESULT test_r2", r2.item())
