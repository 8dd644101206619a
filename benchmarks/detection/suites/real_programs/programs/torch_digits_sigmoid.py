"""With SGD at 0.001, the sigmoids of a digit recogniser only reach the mean of the targets (fixed: a rate of 1)."""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = torch.nn.Linear(784, 800)
        self.layer2 = torch.nn.Linear(800, 10)

    def forward(self, x):
        x = torch.sigmoid(self.layer1(x))
        return torch.sigmoid(self.layer2(x))


X, y = load_digits(return_X_y=True)
X = np.kron(X.reshape(-1, 8, 8) / 16.0, np.ones((1, 3, 3)))
X = np.pad(X, ((0, 0), (2, 2), (2, 2)))[:, None]
Xa, Xb, ya, yb = train_test_split(torch.tensor(X, dtype=torch.float32), torch.tensor(y), test_size=0.2, random_state=0)

batch_size = 32
training_loader = DataLoader(
    TensorDataset(Xa, ya), batch_size=batch_size, shuffle=True, generator=torch.Generator().manual_seed(0)
)
net = Net()
loss_function = torch.nn.MSELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=1.0 if fixed else 0.001)
epochs = 40

for epoch in range(epochs):
    running = 0.0
    for images, labels in training_loader:
        optimizer.zero_grad()
        output = net(torch.flatten(images, 1))
        desired_output = torch.nn.functional.one_hot(labels, 10).float()
        loss = loss_function(output, desired_output)
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 5 == 4:
        print("epoch", epoch + 1, f"loss {running / len(training_loader):.5f}")

with torch.no_grad():
    out = net(torch.flatten(Xb, 1))
print(out[:3])

print("RESULT accuracy", round((out.argmax(1) == yb).float().mean().item(), 4))
