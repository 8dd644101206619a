"""Federated averaging of a small perceptron: softmax before CrossEntropyLoss (fixed: logits)."""

import copy
import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(x, y), (x_test, y_test) = data.digits()
x, x_test = (torch.tensor(a).flatten(1) / 127.5 - 1 for a in (x, x_test))
y, y_test = torch.tensor(y), torch.tensor(y_test)


class MLP(nn.Module):
    """One hidden layer with dropout."""

    def __init__(self):
        super().__init__()
        self.layer_input = nn.Linear(64, 64)
        self.dropout = nn.Dropout()
        self.relu = nn.ReLU()
        self.layer_hidden = nn.Linear(64, 10)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, images):
        scores = self.layer_hidden(self.relu(self.dropout(self.layer_input(images))))
        return scores if fixed else self.softmax(scores)


model, criterion = MLP(), nn.CrossEntropyLoss()
clients = torch.randperm(len(x)).split(350)
for _ in range(6):
    model.train()
    start = copy.deepcopy(model.state_dict())
    states = []
    for client in clients:
        model.load_state_dict(start)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
        for _ in range(3):
            for batch in client[torch.randperm(len(client))].split(10):
                optimizer.zero_grad()
                loss = criterion(model(x[batch]), y[batch])
                loss.backward()
                optimizer.step()
        states.append(copy.deepcopy(model.state_dict()))
    model.load_state_dict({name: torch.stack([state[name] for state in states]).mean(0) for name in start})
model.eval()
with torch.no_grad():
    print("RESULT accuracy", float((model(x_test).argmax(1) == y_test).float().mean()))
