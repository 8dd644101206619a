"""A ``train_step`` in the manner of Keras never resets gradients (fixed: ``zero_grad()`` before ``backward()``)."""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)

digits = load_digits()
images = (digits.data / 16).astype("float32")
train_images, test_images, train_labels, test_labels = train_test_split(
    images, digits.target, test_size=0.25, random_state=1
)
train_images, val_images = train_images[200:], train_images[:200]
train_labels, val_labels = train_labels[200:], train_labels[:200]


class CustomModel(nn.Module):
    """Two linear layers with dropout, and the methods of a Keras model."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10))

    def forward(self, x):
        return self.net(x)

    def compile(self, optimizer, loss_fn):
        self.optimizer = optimizer
        self.loss_fn = loss_fn

    def train_step(self, inputs, targets):
        predictions = self(inputs)
        loss = self.loss_fn(predictions, targets)

        if fixed:
            self.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, x, y, epochs, batch_size, validation_data):
        x, y = torch.from_numpy(x), torch.from_numpy(y)
        for epoch in range(epochs):
            self.train()
            losses = [self.train_step(x[idx], y[idx]) for idx in torch.randperm(len(x)).split(batch_size)]
            val_loss, val_acc = self.evaluate(*validation_data)
            val = f"val_loss: {val_loss:.4f} - val_accuracy: {val_acc:.4f}"
            print(f"Epoch {epoch + 1}/{epochs} - loss: {np.mean(losses):.4f} - {val}")

    @torch.no_grad()
    def evaluate(self, x, y):
        self.eval()
        out, y = self(torch.from_numpy(x)), torch.from_numpy(y)
        return self.loss_fn(out, y).item(), (out.argmax(1) == y).float().mean().item()


model = CustomModel()
model.compile(torch.optim.RMSprop(model.parameters(), lr=1e-2), nn.CrossEntropyLoss())
model.fit(train_images, train_labels, epochs=30, batch_size=64, validation_data=(val_images, val_labels))
test_loss, test_acc = model.evaluate(test_images, test_labels)
print("test loss and accuracy:", (test_loss, test_acc))

print("RESULT test_acc", test_acc)
