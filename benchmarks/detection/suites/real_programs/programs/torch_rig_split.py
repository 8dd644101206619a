"""A network gives the mesh points of a face rig from its controls; a validation set chooses when to stop.

Rows up to the last 100 train and rows from 100 on validate, so most are in both (fixed: training and validation rows
do not overlap).
"""

import copy
import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
n_controls, n_points = 12, 30
mixing = rng.normal(size=(n_controls, 40))
outputs = rng.normal(size=(40, n_points)) / 6


def rig(n):
    values = rng.uniform(-1, 1, (n, n_controls))
    mesh = np.tanh(values @ mixing) @ outputs + rng.normal(0, 0.25, (n, n_points))
    return values.astype(np.float32), mesh.astype(np.float32)


controls, points = rig(500)
new_controls, new_points = rig(1000)  # poses of an animation recorded later


class ToyDataset(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


dataset = ToyDataset(controls[:-100], points[:-100])
validate_dataset = ToyDataset(controls[-100:], points[-100:]) if fixed else ToyDataset(controls[100:], points[100:])
loader = DataLoader(dataset, batch_size=32, shuffle=True)
val_loader = DataLoader(validate_dataset, batch_size=100)

model = nn.Sequential(nn.Linear(n_controls, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, n_points))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
best, best_state, best_epoch = 1e9, None, -1
for epoch in range(120):
    model.train()
    train_loss = 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() / len(loader)
    model.eval()
    val_loss, n = 0, 0
    with torch.no_grad():
        for x, y in val_loader:
            val_loss += criterion(model(x), y).item() * len(x)
            n += len(x)
    val_loss /= n
    if val_loss < best:
        best, best_state, best_epoch = val_loss, copy.deepcopy(model.state_dict()), epoch
    if epoch % 10 == 9:
        print(f"epoch {epoch} train {train_loss:.5f} validate {val_loss:.5f} best {best:.5f} (epoch {best_epoch})")
model.load_state_dict(best_state)
with torch.no_grad():
    new_loss = criterion(model(torch.tensor(new_controls)), torch.tensor(new_points)).item()
print(f"validation said {best:.5f}, new poses {new_loss:.5f}")
print("RESULT new_error_over_validation_error", f"{new_loss / best:.3f}")
