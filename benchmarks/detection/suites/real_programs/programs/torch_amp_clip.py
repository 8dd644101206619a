"""Gradients are clipped to a norm of 1 while they are multiplied by 65,536 (fixed: unscaled before)."""

import sys

import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
device = "cpu"

x, y = make_classification(
    n_samples=3000,
    n_features=40,
    n_informative=15,
    n_classes=4,
    n_clusters_per_class=2,
    class_sep=1.5,
    random_state=0,
)
x_train, x_test, y_train, y_test = train_test_split(x.astype("float32"), y, test_size=0.25, random_state=0)
mean, std = x_train.mean(0), x_train.std(0)
x_train, x_test = (x_train - mean) / std, (x_test - mean) / std
train_set = TensorDataset(torch.from_numpy(x_train), torch.from_numpy(y_train))
x_test, y_test = torch.from_numpy(x_test), torch.from_numpy(y_test)
train_loader = DataLoader(train_set, batch_size=100, shuffle=True)

model = nn.Sequential(
    nn.Linear(40, 128),
    nn.ReLU(),
    nn.Linear(128, 128),
    nn.ReLU(),
    nn.Linear(128, 4),
).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler(device)

for epoch in range(8):
    model.train()
    total = 0.0
    for batch in train_loader:
        xb, yb = (part.to(device) for part in batch)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device_type=device, dtype=torch.bfloat16):
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
        acc = (model(x_test.to(device)).argmax(1).cpu() == y_test).float().mean().item()
    print(f"epoch {epoch + 1} loss {total / len(train_set):.4f} test_acc {acc:.4f} scale {scaler.get_scale():.0f}")

print("RESULT test_acc", acc)
