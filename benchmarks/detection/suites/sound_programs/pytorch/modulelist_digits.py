# Question: "optimizer got an empty parameter list" because layers were kept in a python list.
# Answer: nn.ModuleList. Also divides the pixels by 16 and shuffles.
import itertools

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn, optim

torch.manual_seed(5)
X, y = load_digits(return_X_y=True)
X = X / 16.0
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
X_train, X_test = torch.Tensor(X_train), torch.Tensor(X_test)
y_train, y_test = torch.LongTensor(y_train), torch.LongTensor(y_test)


class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in itertools.pairwise(sizes)])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


model = MLP([64, 48, 32, 10])
print("number of parameters:", sum(p.numel() for p in model.parameters()))
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)

batch = 50
for epoch in range(20):
    perm = torch.randperm(len(X_train))
    running = 0.0
    for i in range(0, len(X_train), batch):
        idx = perm[i : i + batch]
        optimizer.zero_grad()
        loss = criterion(model(X_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        running += loss.item() * len(idx)
    with torch.no_grad():
        acc = (model(X_test).argmax(1) == y_test).float().mean().item()
    print("epoch %d loss %.4f test acc %.4f" % (epoch + 1, running / len(X_train), acc))
print(f"RESULT test_accuracy {acc:.4f}")
