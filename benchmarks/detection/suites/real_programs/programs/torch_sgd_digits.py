"""The usual MNIST example, two convolutions with dropout and ``log_softmax``, on small pictures of digits.

Its optimizer was changed from Adadelta to plain SGD and the rate of 1.0 kept, which is far too much for SGD: the loss
jumps up and never comes down (fixed: a rate of 0.05).
"""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn, optim
from torch.nn import functional
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

LR = 0.05 if "--fixed" in sys.argv else 1.0
torch.manual_seed(1)

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
images = (images - 0.305) / 0.376
train_x, test_x, train_y, test_y = train_test_split(
    images, torch.from_numpy(digits.target), test_size=0.25, random_state=1, stratify=digits.target
)
train_loader = DataLoader(TensorDataset(train_x, train_y), batch_size=64, shuffle=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, 1, padding=1)
        self.conv2 = nn.Conv2d(32, 64, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(576, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = functional.relu(self.conv1(x))
        x = functional.relu(self.conv2(x))
        x = self.dropout1(functional.max_pool2d(x, 2))
        x = torch.flatten(x, 1)
        x = self.dropout2(functional.relu(self.fc1(x)))
        return functional.log_softmax(self.fc2(x), dim=1)


model = Net()
optimizer = optim.SGD(model.parameters(), lr=LR)
scheduler = StepLR(optimizer, step_size=1, gamma=0.95)

for epoch in range(1, 15):
    model.train()
    for batch, (data, target) in enumerate(train_loader):
        optimizer.zero_grad()
        loss = functional.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        if batch % 10 == 0:
            print(f"Train Epoch: {epoch} [{batch}/{len(train_loader)}] Loss: {loss.item():.6f}")
    model.eval()
    with torch.no_grad():
        output = model(test_x)
        accuracy = (output.argmax(1) == test_y).float().mean().item()
    print(f"Test set: loss {functional.nll_loss(output, test_y).item():.4f}, accuracy {accuracy:.4f}")
    scheduler.step()

print("RESULT test_accuracy", f"{accuracy:.4f}")
