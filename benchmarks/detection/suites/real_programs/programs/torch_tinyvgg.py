"""A TinyVGG, the second model of a notebook, learns small grey images of ten classes.

The optimizer has the parameters of a first instance of the model, which is then made again and trained (fixed: the
optimizer is made after the last instance).
"""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(42)

digits = load_digits()
images = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
images = functional.interpolate(images, size=(28, 28), mode="bilinear", align_corners=False)
labels = torch.tensor(digits.target)
tr, te = train_test_split(range(len(labels)), test_size=0.25, random_state=0, stratify=digits.target)
images = (images - images[tr].mean()) / images[tr].std()
train_dataloader = DataLoader(TensorDataset(images[tr], labels[tr]), batch_size=32, shuffle=True)
test_dataloader = DataLoader(TensorDataset(images[te], labels[te]), batch_size=32)


class ModelV2(nn.Module):
    def __init__(self, input_shape, hidden_units, output_shape):
        super().__init__()
        self.conv_block_1 = nn.Sequential(
            nn.Conv2d(input_shape, hidden_units, kernel_size=3, stride=1, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden_units, hidden_units, kernel_size=3, stride=1, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=2, stride=2),
        )
        self.conv_block_2 = nn.Sequential(
            nn.Conv2d(hidden_units, hidden_units, kernel_size=3, stride=1, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden_units, hidden_units, kernel_size=3, stride=1, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=2, stride=2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(hidden_units * 7 * 7, output_shape))

    def forward(self, x):
        return self.classifier(self.conv_block_2(self.conv_block_1(x)))


def accuracy_fn(y_true, y_pred):
    return (y_true == y_pred).float().mean().item() * 100


def train_step(model, data_loader, loss_fn, optimizer):
    model.train()
    train_loss, train_acc = 0, 0
    for x, y in data_loader:
        y_pred = model(x)
        loss = loss_fn(y_pred, y)
        train_loss += loss.item()
        train_acc += accuracy_fn(y, y_pred.argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"Train loss: {train_loss / len(data_loader):.5f} | Train accuracy: {train_acc / len(data_loader):.2f}%")


def test_step(model, data_loader, loss_fn):
    model.eval()
    test_loss, hits, count = 0, 0, 0
    with torch.inference_mode():
        for x, y in data_loader:
            test_pred = model(x)
            test_loss += loss_fn(test_pred, y).item()
            hits += (test_pred.argmax(dim=1) == y).sum().item()
            count += len(y)
    print(f"Test loss: {test_loss / len(data_loader):.5f} | Test accuracy: {100 * hits / count:.2f}%")
    return hits / count


model_2 = ModelV2(input_shape=1, hidden_units=10, output_shape=10)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(params=model_2.parameters(), lr=1e-3)

torch.manual_seed(42)
model_2 = ModelV2(input_shape=1, hidden_units=10, output_shape=10)
if FIXED:
    optimizer = torch.optim.Adam(params=model_2.parameters(), lr=1e-3)

acc = 0.0
for epoch in range(7):
    print(f"Epoch: {epoch}\n---------")
    train_step(model_2, train_dataloader, loss_fn, optimizer)
    acc = test_step(model_2, test_dataloader, loss_fn)
print("RESULT test_accuracy", f"{acc:.4f}")
