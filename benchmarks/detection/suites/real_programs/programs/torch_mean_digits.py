"""A network of two sigmoid layers recognises digits with the mean squared error.

It makes one pass over shifted pictures in batches of 32, with the gradients summed over each batch. SGD with a
learning rate of 0.001 only moves the outputs towards the mean of the targets, 0.1 for every digit (fixed: a learning
rate of 0.1).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
batch_size = 32


def to_28(images):
    big = np.zeros((len(images), 28, 28), dtype="float32")
    for i, image in enumerate(np.kron(images, np.ones((1, 3, 3))) / 16.0):
        dy, dx = rng.randint(0, 5, 2)
        big[i, dy : dy + 24, dx : dx + 24] = image
    return torch.tensor(big)


digits = load_digits()
train_x, test_x, train_y, test_y = train_test_split(digits.images, digits.target, test_size=0.2, random_state=0)
index = np.concatenate([rng.permutation(len(train_x)) for _ in range(24)])
images, labels = to_28(train_x[index]), torch.tensor(train_y[index])
test_images, test_labels = to_28(test_x), torch.tensor(test_y)
training_set = TensorDataset(images, labels)
training_loader = DataLoader(training_set, batch_size=batch_size, drop_last=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(784, 200)
        self.layer2 = nn.Linear(200, 10)

    def forward(self, x):
        x = torch.sigmoid(self.layer1(x))
        return torch.sigmoid(self.layer2(x))


net = Net()
loss_function = nn.MSELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1 if FIXED else 0.001)

for step, (images, labels) in enumerate(training_loader):
    optimizer.zero_grad()
    output = net(torch.flatten(images, 1))
    desired_output = nn.functional.one_hot(labels, 10).float()
    loss = loss_function(output, desired_output)
    (loss * batch_size).backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"step {step} loss {loss.item():.4f}")

with torch.no_grad():
    outputs = net(test_images.flatten(1))
print(outputs[:3])
accuracy = (outputs.argmax(1) == test_labels).float().mean().item()
print("RESULT accuracy", f"{accuracy:.4f}")
