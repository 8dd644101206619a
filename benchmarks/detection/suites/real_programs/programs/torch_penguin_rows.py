"""A network of a course tells the species of penguins from four measures.

The rows are copied before the split, so training and test share rows, which hides overfitting (fixed: no copies).
"""

import sys

import numpy as np
import pandas as pd
import torch
import torch.utils.data as td
from sklearn.model_selection import train_test_split
from torch import nn

fixed = "--fixed" in sys.argv
np.random.seed(0)
torch.manual_seed(0)


def island(n):
    species = np.random.randint(0, 3, n)
    centre = np.array([[38.8, 18.3, 19.0, 37.0], [43.5, 16.2, 20.6, 43.0], [46.5, 17.5, 19.8, 39.5]])
    spread = np.array([3.3, 1.3, 1.0, 4.5])
    v = centre[species] + spread * np.random.randn(n, 4)
    df = pd.DataFrame(v, columns=["CulmenLength", "CulmenDepth", "FlipperLength", "BodyMass"])
    df["Species"] = species
    return df


penguins = island(260)
next_year = island(2000)
features = ["CulmenLength", "CulmenDepth", "FlipperLength", "BodyMass"]

# the table is small, so it is copied to have more rows
if not fixed:
    for _ in range(2):
        penguins = pd.concat([penguins, penguins])
train_df, test_df = train_test_split(penguins, test_size=0.30, random_state=0)

mean, std = train_df[features].mean().values, train_df[features].std().values


def tensors(df):
    x = torch.tensor((df[features].values - mean) / std, dtype=torch.float32)
    return x, torch.tensor(df["Species"].values)


x_train, y_train = tensors(train_df)
x_test, y_test = tensors(test_df)
train_loader = td.DataLoader(td.TensorDataset(x_train, y_train), batch_size=20, shuffle=True)


class PenguinNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 128)
        self.fc2 = nn.Linear(128, 128)
        self.fc3 = nn.Linear(128, 3)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


model = PenguinNet()
loss_criteria = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
best_acc, best_state = 0.0, None

for epoch in range(1, 36):
    model.train()
    train_loss = 0.0
    for data, target in train_loader:
        optimizer.zero_grad()
        loss = loss_criteria(model(data), target)
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
    model.eval()
    with torch.no_grad():
        out = model(x_test)
        test_loss = loss_criteria(out, y_test).item()
        acc = (out.argmax(1) == y_test).float().mean().item()
    if acc > best_acc:
        best_acc, best_state = acc, {k: v.clone() for k, v in model.state_dict().items()}
    if epoch % 10 == 0:
        mean_loss = train_loss / len(train_loader)
        print(f"Epoch {epoch} train loss {mean_loss:.4f} test loss {test_loss:.4f} test accuracy {acc:.4f}")

model.load_state_dict(best_state)
x_new, y_new = tensors(next_year)
with torch.no_grad():
    new_acc = (model(x_new).argmax(1) == y_new).float().mean().item()
print(f"best test accuracy {best_acc:.4f}, accuracy next year {new_acc:.4f}")
print("RESULT test_minus_next_year", f"{best_acc - new_acc:.4f}")
