"""A network with early stopping gives the expression of spots of a tissue section from their morphology.

A data module splits the spots for training and validation, but its ``train_dataloader`` reads the whole data set and
not the training split, so the spots of the validation are trained on and it never stops (fixed: the training split).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

FIXED = "--fixed" in sys.argv
torch.manual_seed(8)
rng = np.random.default_rng(8)

MORPHOLOGY, GENES = 40, 12
mix = rng.normal(0, 1, (MORPHOLOGY, 4))
load = rng.normal(0, 1, (4, GENES))


def make_section(n):
    morphology = rng.normal(0, 1, (n, MORPHOLOGY))
    state = np.tanh(morphology @ mix / np.sqrt(MORPHOLOGY) * 1.5)
    expression = state @ load / 1.5 + rng.normal(0, 0.5, (n, GENES))
    return TensorDataset(torch.tensor(morphology, dtype=torch.float32), torch.tensor(expression, dtype=torch.float32))


class SpotDataModule:
    def __init__(self, dataset, batch_size=16, validation_split=0.25):
        self.dataset = dataset
        self.batch_size = batch_size
        self.validation_split = validation_split

    def setup(self):
        n_val = int(len(self.dataset) * self.validation_split)
        self.train_dataset, self.val_dataset = random_split(self.dataset, [len(self.dataset) - n_val, n_val])

    def train_dataloader(self):
        dataset = self.train_dataset if FIXED else self.dataset
        return DataLoader(dataset=dataset, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(dataset=self.val_dataset, batch_size=100)


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        total = sum(((model(x) - y) ** 2).mean(1).sum().item() for x, y in loader)
    return total / len(loader.dataset)


data = SpotDataModule(make_section(600))
data.setup()
test_loader = DataLoader(make_section(600), batch_size=100)
model = nn.Sequential(nn.Linear(MORPHOLOGY, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, GENES))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()

best, best_state, waited = float("inf"), None, 0
for epoch in range(80):
    model.train()
    losses = []
    for x, y in data.train_dataloader():
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    val_loss = evaluate(model, data.val_dataloader())
    print(f"epoch {epoch + 1:2d}  train loss {np.mean(losses):.4f}  val loss {val_loss:.4f}")
    if val_loss < best:
        best, waited = val_loss, 0
        best_state = {k: v.clone() for k, v in model.state_dict().items()}
    else:
        waited += 1
        if waited >= 6:
            break
model.load_state_dict(best_state)
print(f"best val loss {best:.4f} after {epoch + 1} epochs")
print("RESULT test_mse", f"{evaluate(model, test_loader):.4f}")
