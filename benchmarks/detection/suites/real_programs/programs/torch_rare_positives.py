"""A binary classifier looks for the rare positives of a table with 20 columns.

A sigmoid comes before ``BCEWithLogitsLoss``, and the class weights are the wrong way round, so everything is called
negative (fixed: no sigmoid, and ``pos_weight``).
"""

import sys

import torch
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(5)

X, y = make_classification(
    n_samples=4000,
    n_features=20,
    n_informative=8,
    n_redundant=2,
    weights=[0.84, 0.16],
    class_sep=0.8,
    flip_y=0.02,
    random_state=5,
)
Xtr, Xva, ytr, yva = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
sc = StandardScaler().fit(Xtr)
Xtr, Xva = (torch.tensor(sc.transform(a), dtype=torch.float32) for a in (Xtr, Xva))
ytr, yva = torch.tensor(ytr), torch.tensor(yva)
loader = DataLoader(TensorDataset(Xtr, ytr), batch_size=32, shuffle=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.head = nn.Linear(64, 1 if fixed else 2)

    def forward(self, x):
        return self.head(self.body(x))


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
if fixed:
    criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(84.0 / 16.0))
else:
    criterion = nn.BCEWithLogitsLoss(reduction="none")


def step(x, labels):
    out = model(x)
    labels = labels.float()
    if fixed:
        out = out[:, 0]
        return (out > 0).long(), criterion(out, labels)
    weight = torch.tensor([0.84, 0.16])
    weight_ = weight[labels.view(-1).long()].view_as(labels)
    m = nn.Sigmoid()
    loss = criterion(m(out[:, 1] - out[:, 0]), labels)
    return out.max(1)[1], (loss * weight_).mean()


for epoch in range(20):
    model.train()
    running = 0.0
    for xb, yb in loader:
        _, loss = step(xb, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        pred, vloss = step(Xva, yva)
    bal = balanced_accuracy_score(yva, pred)
    print(
        f"epoch {epoch} train loss {running / len(loader):.4f} val loss {vloss.item():.4f} "
        f"acc {(pred == yva).float().mean().item():.3f} balanced acc {bal:.3f} positives predicted {int(pred.sum())}"
    )
print("RESULT val_balanced_accuracy", f"{bal:.4f}")
