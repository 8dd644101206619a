# The classic: iris with the whole training set as one batch
import torch
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn

torch.manual_seed(5)
X, y = load_iris(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=5)
sc = StandardScaler().fit(X_train)
X_train = torch.from_numpy(sc.transform(X_train)).float()
X_test = torch.from_numpy(sc.transform(X_test)).float()
y_train, y_test = torch.from_numpy(y_train).long(), torch.from_numpy(y_test).long()

model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=150, eta_min=1e-3)
criterion = nn.CrossEntropyLoss()

for step in range(150):
    model.train()
    optimizer.zero_grad()
    loss = criterion(model(X_train), y_train)
    loss.backward()
    optimizer.step()
    scheduler.step()
    if (step + 1) % 25 == 0:
        model.eval()
        with torch.no_grad():
            test_loss = criterion(model(X_test), y_test).item()
        print(f"{step + 1:4d}  train {loss.item():.4f}  test {test_loss:.4f}")

model.eval()
with torch.no_grad():
    acc = (model(X_test).argmax(1) == y_test).float().mean().item()
print(f"test accuracy: {acc:.3f}")
