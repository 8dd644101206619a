"""The model is made once more after the optimizer, which keeps the first (fixed: made once, before it)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(42)
rng = np.random.default_rng(42)

# ten garment-like silhouettes, 14x14 grey images in [0, 1]
class_names = list("abcdefghij")
coarse = rng.random((10, 7, 7)) < 0.5
prototypes = coarse.repeat(2, axis=1).repeat(2, axis=2).astype(np.float32)


def make_images(n):
    label = rng.integers(0, 10, n)
    image = prototypes[label] * rng.uniform(0.5, 1.0, (n, 1, 1))
    image = np.stack([np.roll(im, tuple(rng.integers(-1, 2, 2)), axis=(0, 1)) for im in image])
    image = np.clip(image + rng.normal(0, 0.15, image.shape), 0, 1)
    return TensorDataset(torch.tensor(image[:, None], dtype=torch.float32), torch.tensor(label))


train_dataloader = DataLoader(make_images(3200), batch_size=32, shuffle=True)
test_dataloader = DataLoader(make_images(800), batch_size=32)


class FashionMNISTModelV2(nn.Module):
    """Two blocks of two convolutions, and a linear layer."""

    def __init__(self, input_shape, hidden_units, output_shape):
        super().__init__()
        self.block_1 = nn.Sequential(
            nn.Conv2d(input_shape, hidden_units, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden_units, hidden_units, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2, stride=2),
        )
        self.block_2 = nn.Sequential(
            nn.Conv2d(hidden_units, hidden_units, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden_units, hidden_units, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(hidden_units * 3 * 3, output_shape))

    def forward(self, x):
        return self.classifier(self.block_2(self.block_1(x)))


def accuracy_fn(y_true, y_pred):
    return (y_true == y_pred).float().mean().item() * 100


torch.manual_seed(42)
model_2 = FashionMNISTModelV2(input_shape=1, hidden_units=10, output_shape=len(class_names))

loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(params=model_2.parameters(), lr=0.1)

if not fixed:
    torch.manual_seed(42)
    model_2 = FashionMNISTModelV2(input_shape=1, hidden_units=10, output_shape=len(class_names))

for epoch in range(6):
    model_2.train()
    train_loss, train_acc = 0, 0
    for x, y in train_dataloader:
        logits = model_2(x)
        loss = loss_fn(logits, y)
        train_loss += loss.item()
        train_acc += accuracy_fn(y, logits.argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model_2.eval()
    test_loss, test_acc = 0, 0
    with torch.inference_mode():
        for x, y in test_dataloader:
            logits = model_2(x)
            test_loss += loss_fn(logits, y).item()
            test_acc += accuracy_fn(y, logits.argmax(dim=1))
    n_train, n_test = len(train_dataloader), len(test_dataloader)
    train = f"train loss {train_loss / n_train:.4f} acc {train_acc / n_train:.2f}%"
    print(f"epoch {epoch}: {train} | test loss {test_loss / n_test:.4f} acc {test_acc / n_test:.2f}%")

print("RESULT test_acc", test_acc / n_test / 100)
