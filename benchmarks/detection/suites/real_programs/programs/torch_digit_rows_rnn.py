"""An LSTM reads pictures of digits row by row, after a tutorial whose ``batch_first=True`` was taken away.

The batch is reshaped to (rows, batch, pixels), which puts rows of different pictures into one sequence
(fixed: ``permute``).
"""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)

sequence_length = 8
input_size = 8
hidden_size = 128
num_layers = 1
num_classes = 10
batch_size = 100
num_epochs = 12
learning_rate = 0.01

digits = load_digits()
images = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
labels = torch.tensor(digits.target)
x_train, x_test, y_train, y_test = train_test_split(
    images, labels, test_size=0.2, random_state=0, stratify=digits.target
)
train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=batch_size, shuffle=True)
test_loader = DataLoader(TensorDataset(x_test, y_test), batch_size=batch_size, shuffle=False)


class RNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers)
        self.fc = nn.Linear(hidden_size, num_classes)

    def forward(self, x):
        h0 = torch.zeros(num_layers, x.size(1), hidden_size)
        c0 = torch.zeros(num_layers, x.size(1), hidden_size)
        out, _ = self.lstm(x, (h0, c0))
        return self.fc(out[-1])


def to_sequences(images):
    if FIXED:
        return images.squeeze(1).permute(1, 0, 2)
    return images.reshape(sequence_length, -1, input_size)


model = RNN()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)

for epoch in range(num_epochs):
    for images, labels in train_loader:
        outputs = model(to_sequences(images))
        loss = criterion(outputs, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"Epoch [{epoch + 1}/{num_epochs}], Loss: {loss.item():.4f}")

model.eval()
with torch.no_grad():
    correct = 0
    for images, labels in test_loader:
        predicted = model(to_sequences(images)).argmax(1)
        correct += (predicted == labels).sum().item()
print("RESULT test_accuracy", f"{correct / len(y_test):.4f}")
