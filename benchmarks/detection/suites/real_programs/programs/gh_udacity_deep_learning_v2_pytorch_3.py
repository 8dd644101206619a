"""A network of dense layers with dropout is validated in training mode (fixed: in evaluation mode)."""

import sys

import data
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(train_x, train_y), (test_x, test_y) = data.digits()
train_x, train_y, test_x, test_y = map(torch.tensor, (train_x / 255, train_y, test_x / 255, test_y))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 256)
        self.fc2 = nn.Linear(256, 256)
        self.fc3 = nn.Linear(256, 10)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        x = self.dropout(functional.relu(self.fc1(x.flatten(1))))
        return self.fc3(self.dropout(functional.relu(self.fc2(x))))


model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(20):
    model.train()
    for batch in torch.randperm(len(train_x)).split(20):
        optimizer.zero_grad()
        criterion(model(train_x[batch]), train_y[batch]).backward()
        optimizer.step()
    if fixed:
        model.eval()
    with torch.no_grad():
        loss = criterion(model(test_x), test_y)
print("RESULT loss", float(loss))
