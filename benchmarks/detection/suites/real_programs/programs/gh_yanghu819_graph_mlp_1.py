"""Classes of nodes from their words, neighbours drawn together by a contrastive loss: some nodes of a batch have no

neighbour in it, so the loss takes the log of 0 (fixed: 1e-8 is added).
"""

import sys

import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
NODES, CLASSES = 600, 5
labels = torch.randint(CLASSES, (NODES,))
linked = torch.rand(NODES, NODES) < torch.where(labels[:, None] == labels, 0.03, 0.001)
adjacency = (linked | linked.T).float().fill_diagonal_(0)
words = torch.bernoulli(0.05 + 0.3 * torch.rand(CLASSES, 80)[labels] ** 4)
degrees = adjacency.sum(1).clamp(min=1)
adj_label = adjacency / degrees.sqrt()[:, None] / degrees.sqrt()
idx_train, idx_test = torch.arange(60), torch.arange(200, NODES)


class GraphMLP(nn.Module):
    """A perceptron without messages between nodes."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(80, 64), nn.Linear(64, 64)
        self.layernorm = nn.LayerNorm(64)
        self.classifier = nn.Linear(64, CLASSES)

    def forward(self, x):
        x = functional.dropout(self.layernorm(functional.gelu(self.fc1(x))), 0.3, self.training)
        x = self.fc2(x)
        return functional.log_softmax(self.classifier(x), dim=1), x


def get_feature_dis(x):
    x = functional.normalize(x)
    return (x @ x.T) * (1 - torch.eye(len(x)))


def ncontrast(x_dis, adj_label, tau):
    x_dis = torch.exp(tau * x_dis)
    positive = (x_dis * adj_label).sum(1) / x_dis.sum(1)
    return -torch.log(positive + 1e-8 if fixed else positive).mean()


model = GraphMLP()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
for epoch in range(100):
    model.train()
    optimizer.zero_grad()
    batch = torch.cat([idx_train, torch.randperm(NODES)[:240]])
    output, features = model(words[batch])
    loss = functional.nll_loss(output[: len(idx_train)], labels[idx_train])
    loss = loss + 1.0 * ncontrast(get_feature_dis(features), adj_label[batch][:, batch], tau=2)
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        model.eval()
        with torch.no_grad():
            print(epoch, loss.item(), float((model(words)[0].argmax(1) == labels)[idx_test].float().mean()))
model.eval()
with torch.no_grad():
    print("RESULT accuracy", float((model(words)[0].argmax(1) == labels)[idx_test].float().mean()))
