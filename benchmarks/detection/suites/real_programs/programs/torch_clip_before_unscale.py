"""Gradients are clipped while they are multiplied by the loss scale (fixed: unscaled before)."""

import sys

import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
device = "cpu"

x, y = make_classification(
    n_samples=4000, n_features=20, n_informative=10, n_classes=4, n_clusters_per_class=2, class_sep=1.6, random_state=7
)
x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=0.2, random_state=7, stratify=y)
sc = StandardScaler().fit(x_train)
train_set = TensorDataset(torch.tensor(sc.transform(x_train), dtype=torch.float32), torch.tensor(y_train))
val_x = torch.tensor(sc.transform(x_val), dtype=torch.float32)
val_y = torch.tensor(y_val)
loader = DataLoader(train_set, batch_size=64, shuffle=True)

model = nn.Sequential(
    nn.Linear(20, 64),
    nn.ReLU(),
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Linear(64, 4),
).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler(device)

for epoch in range(15):
    model.train()
    total = 0.0
    for batch in loader:
        xb, yb = (part.to(device) for part in batch)
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.float16):
            loss = criterion(model(xb), yb)
        scaler.scale(loss).backward()
        if fixed:
            scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        scaler.step(optimizer)
        scaler.update()
        total += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        acc = (model(val_x).argmax(1) == val_y).float().mean().item()
    print(f"epoch {epoch + 1} loss {total / len(train_set):.4f} val_acc {acc:.4f}")

print("RESULT val_acc", acc)
