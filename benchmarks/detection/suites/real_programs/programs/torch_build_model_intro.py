"""The model of an introduction, three linear layers with ReLU, learns to tell ten kinds of pictures apart.

It has ``CrossEntropyLoss`` and SGD. There is a ReLU after the last layer too, so scores below zero are cut off and
some classes never get a gradient (fixed: no ReLU after the last layer).
"""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)

X, y = load_digits(return_X_y=True)
x_train, x_test, y_train, y_test = train_test_split(
    (X / 16).astype("float32"), y, test_size=0.25, random_state=0, stratify=y
)
training_data = TensorDataset(torch.tensor(x_train).view(-1, 1, 8, 8), torch.tensor(y_train))
test_data = TensorDataset(torch.tensor(x_test).view(-1, 1, 8, 8), torch.tensor(y_test))
train_dataloader = DataLoader(training_data, batch_size=64, shuffle=True)
test_dataloader = DataLoader(test_data, batch_size=64)


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        layers = [nn.Linear(8 * 8, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)]
        if not FIXED:
            layers.append(nn.ReLU())
        self.linear_relu_stack = nn.Sequential(*layers)

    def forward(self, x):
        return self.linear_relu_stack(self.flatten(x))


model = NeuralNetwork()
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def train_loop(dataloader, model, loss_fn, optimizer):
    model.train()
    for pictures, y in dataloader:
        loss = loss_fn(model(pictures), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def test_loop(dataloader, model, loss_fn):
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for pictures, y in dataloader:
            pred = model(pictures)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).sum().item()
    return test_loss / len(dataloader), correct / len(dataloader.dataset)


for t in range(40):
    loss = train_loop(train_dataloader, model, loss_fn, optimizer)
    test_loss, accuracy = test_loop(test_dataloader, model, loss_fn)
    if t % 5 == 4:
        print(f"Epoch {t + 1} loss {loss:.4f} test loss {test_loss:.4f} accuracy {accuracy:.3f}")
print("RESULT accuracy", f"{accuracy:.4f}")
