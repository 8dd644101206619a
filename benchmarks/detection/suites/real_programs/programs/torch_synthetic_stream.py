"""A convolutional network finds a spot in noisy pictures, which a worker of the loader makes on the fly.

The worker gives NumPy the same seed at every epoch, so the same 256 pictures come again and again (fixed: a seed that
is new at every epoch).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
SIZE = 16


class Spots(Dataset):
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        position = np.random.uniform(3, SIZE - 3, 2)
        yy, xx = np.mgrid[:SIZE, :SIZE]
        spot = np.exp(-((yy - position[0]) ** 2 + (xx - position[1]) ** 2) / 4.0)
        image = spot + np.random.normal(0, 0.5, (SIZE, SIZE))
        return image[None].astype(np.float32), (position / SIZE * 2 - 1).astype(np.float32)


def worker_init(worker_id):
    if fixed:
        np.random.seed((torch.initial_seed() + worker_id) % 2**32)
    else:
        np.random.seed(100 + worker_id)


if __name__ == "__main__":
    train_loader = DataLoader(Spots(256), batch_size=32, num_workers=1, worker_init_fn=worker_init)
    np.random.seed(999)
    val = [Spots(1)[0] for _ in range(500)]
    val_x, val_y = torch.tensor(np.stack([v[0] for v in val])), torch.tensor(np.stack([v[1] for v in val]))

    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(512, 64),
        nn.ReLU(),
        nn.Linear(64, 2),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.MSELoss()
    for epoch in range(80):
        model.train()
        losses = []
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            val_loss = criterion(model(val_x), val_y).item()
        if epoch % 5 == 4:
            print(f"epoch {epoch} loss {np.mean(losses):.5f} val loss {val_loss:.5f}")
    print("RESULT val_mse", f"{val_loss:.5f}")
