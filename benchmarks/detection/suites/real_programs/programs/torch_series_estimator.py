"""An estimator class with a convolutional network predicts a number from two time series.

The network returns (N, 1) and the targets have the shape (N,), so that the squared error is taken over all pairs of
samples (fixed: the network drops the last axis).
"""

import sys
import warnings

import numpy as np
import torch
from sklearn.metrics import r2_score
from torch import nn
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv
warnings.filterwarnings("ignore")
torch.set_num_threads(1)


class SeriesDataset(Dataset):
    def __init__(self, x, y=None):
        self.X, self.y = x, y

    def __len__(self):
        return len(self.X)

    def __getitem__(self, i):
        x = torch.tensor(self.X[i], dtype=torch.float32)
        if self.y is None:
            return x
        return x, torch.tensor(self.y[i], dtype=torch.float32)


class FCNNetwork(nn.Module):
    def __init__(self, n_dims, filters=(32, 64, 32), kernels=(7, 5, 3)):
        super().__init__()
        layers, last = [], n_dims
        for f, k in zip(filters, kernels, strict=True):
            layers += [nn.Conv1d(last, f, k, padding=k // 2), nn.BatchNorm1d(f), nn.ReLU()]
            last = f
        self.conv = nn.Sequential(*layers)
        self.out = nn.Linear(last, 1)

    def forward(self, x):
        z = self.out(self.conv(x).mean(dim=2))
        if FIXED:
            z = z.squeeze(-1)
        return z


class FCNRegressor:
    def __init__(self, num_epochs=15, batch_size=32, lr=1e-3, random_state=0):
        self.num_epochs, self.batch_size, self.lr, self.random_state = num_epochs, batch_size, lr, random_state

    def fit(self, x, y):
        torch.manual_seed(self.random_state)
        self.network = FCNNetwork(x.shape[1])
        self._criterion = nn.MSELoss()
        self._optimizer = torch.optim.Adam(self.network.parameters(), lr=self.lr)
        loader = DataLoader(SeriesDataset(x, y), batch_size=self.batch_size, shuffle=True)
        for epoch in range(self.num_epochs):
            self._run_epoch(epoch, loader)
        return self

    def _run_epoch(self, epoch, loader):
        self.network.train()
        losses = []
        for inputs, outputs in loader:
            y_pred = self.network(inputs)
            loss = self._criterion(y_pred, outputs)
            self._optimizer.zero_grad()
            loss.backward()
            self._optimizer.step()
            losses.append(loss.item())
        print(f"Epoch {epoch + 1}: Loss: {np.mean(losses):.4f}")

    def predict(self, series):
        self.network.eval()
        loader = DataLoader(SeriesDataset(series), batch_size=self.batch_size)
        with torch.no_grad():
            return np.concatenate([self.network(x).numpy().reshape(-1) for x in loader])


def make_series(n, rng, length=60):
    t = np.arange(length)
    speed = rng.uniform(0.1, 0.6, n)
    gain = rng.uniform(0.5, 1.5, n)
    phase = rng.uniform(0, 2 * np.pi, (n, 1))
    a = gain[:, None] * np.sin(speed[:, None] * t + phase)
    b = np.cos(0.5 * speed[:, None] * t + phase)
    x = np.stack([a, b], 1) + rng.normal(0, 0.15, (n, 2, length))
    y = 20 * speed * gain + rng.normal(0, 0.3, n)
    return x, y


rng = np.random.default_rng(1)
X_train, y_train = make_series(1000, rng)
X_test, y_test = make_series(300, rng)
mean, std = y_train.mean(), y_train.std()
reg = FCNRegressor().fit(X_train, (y_train - mean) / std)
pred = reg.predict(X_test) * std + mean
print("first predictions", pred[:5].round(2), "targets", y_test[:5].round(2))
print("RESULT test_r2", f"{r2_score(y_test, pred):.4f}")
