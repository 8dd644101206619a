import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(13)

data = load_digits()
images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16.0
images = (images - 0.305) / 0.376  # zero mean, unit variance
labels = torch.tensor(data.target, dtype=torch.long)
itr, ite = train_test_split(range(len(labels)), test_size=0.2, stratify=data.target, random_state=13)
train_loader = DataLoader(TensorDataset(images[itr], labels[itr]), batch_size=64, shuffle=True)
test_loader = DataLoader(TensorDataset(images[ite], labels[ite]), batch_size=128)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(24 * 2 * 2, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(self.drop(x.flatten(1)))  # raw logits for CrossEntropyLoss


def evaluate(model, loader):
    model.eval()
    loss, hits, n = 0.0, 0, 0
    with torch.no_grad():
        for xb, yb in loader:
            out = model(xb)
            loss += F.cross_entropy(out, yb, reduction="sum").item()
            hits += (out.argmax(1) == yb).sum().item()
            n += len(yb)
    return loss / n, hits / n


model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=8, gamma=0.5)

for epoch in range(18):
    model.train()
    for xb, yb in train_loader:
        noisy = xb + 0.2 * torch.randn_like(xb)  # a little noise as augmentation
        optimizer.zero_grad()
        loss = criterion(model(noisy), yb)
        loss.backward()
        optimizer.step()
    scheduler.step()
    if epoch % 3 == 2:
        tr, te = evaluate(model, train_loader), evaluate(model, test_loader)
        print(f"epoch {epoch + 1:2d}: train loss {tr[0]:.3f} acc {tr[1]:.3f}  test loss {te[0]:.3f} acc {te[1]:.3f}")
