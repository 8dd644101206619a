"""Training images are normalised by their transform, test images are not (fixed: both are)."""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

digits = load_digits()
train_idx, test_idx = train_test_split(range(len(digits.target)), test_size=0.2, random_state=0, stratify=digits.target)
mean = digits.images[train_idx].mean()
std = digits.images[train_idx].std()


def to_tensor(image):
    return torch.tensor(image, dtype=torch.float32).unsqueeze(0)


def normalize(tensor):
    return (tensor - mean) / std


class DigitImages(Dataset):
    """Images of digits that go through transforms."""

    def __init__(self, idx, transforms):
        self.idx, self.transforms = idx, transforms

    def __len__(self):
        return len(self.idx)

    def __getitem__(self, i):
        image = digits.images[self.idx[i]]
        for transform in self.transforms:
            image = transform(image)
        return image, int(digits.target[self.idx[i]])


train_transform = [to_tensor, normalize]
test_transform = [to_tensor, normalize] if fixed else [to_tensor]
train_loader = DataLoader(DigitImages(train_idx, train_transform), batch_size=32, shuffle=True)
test_loader = DataLoader(DigitImages(test_idx, test_transform), batch_size=128)


class Block(nn.Module):
    """Two convolutions, and a way around them."""

    def __init__(self, c):
        super().__init__()
        self.conv1 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(c)
        self.conv2 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(c)

    def forward(self, x):
        out = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(out)) + x)


model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1, bias=False),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    Block(16),
    nn.MaxPool2d(2),
    Block(16),
    nn.AdaptiveAvgPool2d(2),
    nn.Flatten(),
    nn.Linear(64, 10),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(10):
    model.train()
    loss_sum = right = 0
    for x, y in train_loader:
        optimizer.zero_grad()
        out = model(x)
        loss = functional.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * len(y)
        right += (out.argmax(1) == y).sum().item()
    model.eval()
    test_right = 0
    with torch.no_grad():
        for x, y in test_loader:
            test_right += (model(x).argmax(1) == y).sum().item()
    train_acc, test_acc = right / len(train_idx), test_right / len(test_idx)
    print(f"epoch {epoch} loss {loss_sum / len(train_idx):.4f} train acc {train_acc:.4f} test acc {test_acc:.4f}")

print("RESULT test_acc", test_acc)
