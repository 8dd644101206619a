"""A small convolutional network learns digits and then predicts the test data for a confusion matrix.

The predictions for the matrix come from a softmax over the samples of a batch, not over the classes, and are worse than
the accuracy during training says (fixed: softmax over dimension 1).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(42)

digits = load_digits()
X_train, X_test, y_train, y_test = train_test_split(
    (digits.images / 16.0).astype(np.float32)[:, None],
    digits.target,
    test_size=0.3,
    random_state=42,
    stratify=digits.target,
)
train_dataloader = DataLoader(
    TensorDataset(torch.from_numpy(X_train), torch.from_numpy(y_train)), batch_size=32, shuffle=True
)
test_dataloader = DataLoader(TensorDataset(torch.from_numpy(X_test), torch.from_numpy(y_test)), batch_size=32)


class Net(nn.Module):
    def __init__(self, hidden_units=16):
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv2d(1, hidden_units, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden_units, hidden_units, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(hidden_units * 16, 10))

    def forward(self, x):
        return self.classifier(self.block(x))


model = Net()
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(15):
    model.train()
    train_loss = 0.0
    for X, y in train_dataloader:
        loss = loss_fn(model(X), y)
        train_loss += loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    hits = 0
    with torch.inference_mode():
        for X, y in test_dataloader:
            hits += (model(X).argmax(dim=1) == y).sum().item()
    print(
        f"epoch {epoch + 1}  train loss {train_loss / len(train_dataloader):.4f}  "
        f"test accuracy {hits / len(y_test):.4f}"
    )

y_preds = []
model.eval()
with torch.inference_mode():
    for X, _ in test_dataloader:
        y_logit = model(X)
        y_pred = torch.softmax(y_logit, dim=1 if FIXED else 0).argmax(dim=1)
        y_preds.append(y_pred)
y_pred_tensor = torch.cat(y_preds).numpy()
print(confusion_matrix(y_test, y_pred_tensor))
print("RESULT accuracy_of_predictions", f"{(y_pred_tensor == y_test).mean():.4f}")
