"""An LSTM reads pictures of digits row by row and classifies them.

It gets the batch first but expects time first, so it runs over the samples (fixed: ``batch_first=True``).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
batch_size = 100
learning_rate = 1e-2
num_epochs = 20

x_all, y_all = load_digits(return_X_y=True)
x_all = (x_all.reshape(-1, 8, 8) / 16).astype(np.float32)
x_train, x_test, y_train, y_test = train_test_split(x_all, y_all, test_size=0.25, random_state=0, stratify=y_all)
train_loader = DataLoader(
    TensorDataset(torch.from_numpy(x_train), torch.from_numpy(y_train)), batch_size=batch_size, shuffle=True
)
test_loader = DataLoader(
    TensorDataset(torch.from_numpy(x_test), torch.from_numpy(y_test)), batch_size=batch_size, shuffle=False
)


class Rnn(nn.Module):
    def __init__(self, in_dim, hidden_dim, n_layer, n_class):
        super().__init__()
        self.n_layer = n_layer
        self.hidden_dim = hidden_dim
        if fixed:
            self.lstm = nn.LSTM(in_dim, hidden_dim, n_layer, batch_first=True)
        else:
            self.lstm = nn.LSTM(in_dim, hidden_dim, n_layer)
        self.classifier = nn.Linear(hidden_dim, n_class)

    def forward(self, x):
        out, _ = self.lstm(x)
        out = out[:, -1, :]
        return self.classifier(out)


model = Rnn(8, 64, 2, 10)
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=learning_rate)
for epoch in range(num_epochs):
    running_loss, running_acc = 0.0, 0.0
    model.train()
    for img, label in train_loader:
        out = model(img)
        loss = criterion(out, label)
        running_loss += loss.item() * label.size(0)
        running_acc += (out.argmax(1) == label).sum().item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"Finish {epoch + 1} epoch, Loss: {running_loss / len(x_train):.6f}, Acc: {running_acc / len(x_train):.6f}")
model.eval()
acc = 0
with torch.no_grad():
    for img, label in test_loader:
        acc += (model(img).argmax(1) == label).sum().item()
print("RESULT test_acc", f"{acc / len(x_test):.4f}")
