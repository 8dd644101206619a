"""The network ends in a sigmoid, and ``BCEWithLogitsLoss`` applies another (fixed: it ends in logits)."""

import sys

import numpy as np
import torch
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(1234)
rng = np.random.default_rng(1234)

# stand-in for the census table: numbers and one-hot columns, a quarter of the people earns >50K
n = 4000
age = rng.uniform(18, 80, n)
education = rng.integers(1, 17, n)
hours = rng.normal(40, 11, n).clip(5, 99)
gain = np.where(rng.random(n) < 0.1, rng.exponential(9000, n), 0)
job = rng.integers(0, 8, n)
status = rng.integers(0, 4, n)
score = (
    0.45 * (education - 10)
    + 0.05 * (hours - 40)
    - 0.004 * (age - 50) ** 2
    + gain / 2500
    + np.array([-1.5, -1, -0.5, 0, 0.3, 0.8, 1.2, 1.7])[job]
    + np.array([2.5, -1.5, -1, -2])[status]
)
income = (score + rng.logistic(0, 0.4, n) > np.quantile(score, 0.76)).astype(np.float32)

numbers = np.column_stack([age, education, hours, gain])
onehot = np.column_stack([np.eye(8)[job], np.eye(4)[status]])
train_idx, test_idx = train_test_split(np.arange(n), test_size=0.25, random_state=0, stratify=income)
scaler = StandardScaler().fit(numbers[train_idx])
features = np.column_stack([scaler.transform(numbers), onehot]).astype(np.float32)


def make_loader(idx, shuffle):
    data = TensorDataset(torch.from_numpy(features[idx]), torch.from_numpy(income[idx]))
    return DataLoader(data, batch_size=64, shuffle=shuffle)


train_loader, test_loader = make_loader(train_idx, shuffle=True), make_loader(test_idx, shuffle=False)


class AdultNet(nn.Module):
    """Three linear layers."""

    def __init__(self, input_size, hidden_size, num_classes):
        super().__init__()
        self.fc1 = nn.Linear(input_size, hidden_size)
        self.fc2 = nn.Linear(hidden_size, hidden_size)
        self.fc3 = nn.Linear(hidden_size, num_classes)
        self.relu = nn.ReLU()
        if not fixed:
            self.sigmoid = nn.Sigmoid()

    def forward(self, x):
        out = self.relu(self.fc1(x))
        out = self.relu(self.fc2(out))
        out = self.fc3(out)
        return out if fixed else self.sigmoid(out)


model = AdultNet(features.shape[1], 64, 1)
criterion = nn.BCEWithLogitsLoss()
optimizer = optim.SGD(model.parameters(), lr=0.05)


def run(loader, train):
    model.train(train)
    loss_sum, correct = 0.0, 0
    for data, labels in loader:
        target = labels.unsqueeze(1)
        with torch.set_grad_enabled(train):
            output = model(data)
            loss = criterion(output, target)
        if train:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        pred = torch.sigmoid(output) >= 0.5
        loss_sum += loss.item()
        correct += pred.eq(target).sum().item()
    return loss_sum / len(loader), correct / len(loader.dataset)


for e in range(20):
    train_loss, train_acc = run(train_loader, train=True)
    test_loss, test_acc = run(test_loader, train=False)
    if e % 4 == 3:
        print(f"epoch {e + 1}: train {train_loss:.4f} / {train_acc:.4f}, test {test_loss:.4f} / {test_acc:.4f}")

print("RESULT test_acc", test_acc)
