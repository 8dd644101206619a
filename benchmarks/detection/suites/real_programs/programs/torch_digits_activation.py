"""A small convolutional network reads digits, to compare activations at its end.

``NLLLoss`` gets the outputs of a sigmoid for log probabilities, so all ten of them are driven to 1
(fixed: ``log_softmax``).
"""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(1)

data = load_digits()
images = torch.tensor(data.images / 16.0, dtype=torch.float32).unsqueeze(1)
images = functional.interpolate(images, size=(16, 16), mode="bilinear", align_corners=False)
images = (images - images.mean()) / images.std()
labels = torch.tensor(data.target)
xa, xb, ya, yb = train_test_split(images, labels, test_size=0.25, random_state=0)
train_loader = DataLoader(
    TensorDataset(xa, ya), batch_size=64, shuffle=True, generator=torch.Generator().manual_seed(0)
)
test_loader = DataLoader(TensorDataset(xb, yb), batch_size=256)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(10, 20, kernel_size=3, padding=1)
        self.conv2_drop = nn.Dropout2d(0.2)
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x):
        x = functional.relu(functional.max_pool2d(self.conv1(x), 2))
        x = functional.relu(functional.max_pool2d(self.conv2_drop(self.conv2(x)), 2))
        x = x.view(-1, 320)
        x = functional.relu(self.fc1(x))
        x = functional.dropout(x, 0.2, training=self.training)
        x = self.fc2(x)
        if fixed:
            return functional.log_softmax(x, dim=1)
        return torch.sigmoid(x)


model = Net()
criterion = nn.NLLLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def train():
    model.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    return total / len(train_loader.dataset)


def test():
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in test_loader:
            correct += (model(x).argmax(1) == y).sum().item()
    return correct / len(test_loader.dataset)


for epoch in range(1, 16):
    loss = train()
    accuracy = test()
    print(f"epoch {epoch} train loss {loss:.4f} test accuracy {accuracy:.4f}")
print("RESULT accuracy", f"{accuracy:.4f}")
