"""Small batch-norm CNN on the 8x8 digits, Adam, step decay, mini-batches through a DataLoader."""

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32").reshape(-1, 1, 8, 8)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
mean, std = Xtr.mean(), Xtr.std()
Xtr, Xte = (Xtr - mean) / std, (Xte - mean) / std
train = DataLoader(TensorDataset(torch.tensor(Xtr), torch.tensor(ytr)), batch_size=64, shuffle=True)
test = DataLoader(TensorDataset(torch.tensor(Xte), torch.tensor(yte)), batch_size=256)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.25), nn.Linear(256, 10))

    def forward(self, x):
        return self.head(self.features(x))


model = Net()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=6, gamma=0.3)
loss_fn = nn.CrossEntropyLoss()


def evaluate():
    model.eval()
    right = total = 0
    with torch.no_grad():
        for xb, yb in test:
            right += (model(xb).argmax(1) == yb).sum().item()
            total += len(yb)
    return right / total


for epoch in range(14):
    model.train()
    run = 0.0
    for xb, yb in train:
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
        run += loss.item() * len(yb)
    sched.step()
    print(f"epoch {epoch} loss {run / len(ytr):.4f} test acc {evaluate():.4f}")
print("RESULT accuracy %.4f" % evaluate())
