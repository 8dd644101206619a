"""A new classifier on frozen layers adds up its gradients over all steps (fixed: ``zero_grad`` before each)."""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16.0, dtype=torch.float32).view(-1, 1, 8, 8)
y = torch.tensor(y)

# --- the network "from the zoo": knows the figures 0 to 4
features = nn.Sequential(
    nn.Conv2d(1, 32, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(32, 64, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
)
zoo = nn.Sequential(features, nn.Linear(256, 5))
old = y < 5
opt = optim.Adam(zoo.parameters(), lr=0.002)
for _ in range(8):
    perm = torch.randperm(int(old.sum()))
    for i in range(0, len(perm), 32):
        opt.zero_grad()
        nn.functional.cross_entropy(zoo(X[old][perm[i : i + 32]]), y[old][perm[i : i + 32]]).backward()
        opt.step()

# --- the new task: the figures 5 to 9
Xa, Xb, ya, yb = train_test_split(X[~old], y[~old] - 5, test_size=0.3, random_state=0, stratify=y[~old])
trainloader = DataLoader(TensorDataset(Xa, ya), batch_size=32, shuffle=True, generator=torch.Generator().manual_seed(0))
testloader = DataLoader(TensorDataset(Xb, yb), batch_size=64)

for param in features.parameters():
    param.requires_grad = False
model = nn.Sequential(
    features, nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, 5), nn.LogSoftmax(dim=1))
)
criterion = nn.NLLLoss()
optimizer = optim.Adam(model[1].parameters(), lr=0.003)


def test():
    test_loss, accuracy = 0.0, 0.0
    model.eval()
    with torch.no_grad():
        for inputs, labels in testloader:
            logps = model(inputs)
            test_loss += criterion(logps, labels).item() * len(labels)
            accuracy += (logps.argmax(1) == labels).sum().item()
    model.train()
    return test_loss / len(yb), accuracy / len(yb)


epochs, steps, running_loss, print_every = 12, 0, 0, 50
for epoch in range(epochs):
    for inputs, labels in trainloader:
        steps += 1
        if fixed:
            optimizer.zero_grad()
        logps = model(inputs)
        loss = criterion(logps, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        if steps % print_every == 0:
            tl, ac = test()
            print(
                f"Epoch {epoch + 1}/{epochs}.. Train loss: {running_loss / print_every:.3f}.. "
                f"Test loss: {tl:.3f}.. Test accuracy: {ac:.3f}"
            )
            running_loss = 0

print("RESULT test_accuracy", round(test()[1], 4))
