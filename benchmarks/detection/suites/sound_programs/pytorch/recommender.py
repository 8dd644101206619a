# Matrix factorisation with user and item embeddings
import numpy as np
import torch
from torch import nn

torch.manual_seed(41)
rng = np.random.default_rng(41)

N_USERS, N_ITEMS = 80, 60
U, V = rng.normal(size=(N_USERS, 2)), rng.normal(size=(N_ITEMS, 2))
bias = rng.normal(size=N_ITEMS) * 0.5
full = U @ V.T * 0.7 + bias  # centred ratings
users, items = np.meshgrid(np.arange(N_USERS), np.arange(N_ITEMS), indexing="ij")
users, items = users.ravel(), items.ravel()
ratings = full.ravel() + rng.normal(0, 0.25, full.size)

perm = rng.permutation(full.size)
cut = int(0.85 * full.size)
users = torch.tensor(users[perm], dtype=torch.long)
items = torch.tensor(items[perm], dtype=torch.long)
ratings = torch.tensor(ratings[perm], dtype=torch.float32)


class MF(nn.Module):
    def __init__(self, dim=2):
        super().__init__()
        self.user = nn.Embedding(N_USERS, dim)
        self.item = nn.Embedding(N_ITEMS, dim)
        self.item_bias = nn.Embedding(N_ITEMS, 1)
        nn.init.normal_(self.user.weight, std=0.3)
        nn.init.normal_(self.item.weight, std=0.3)
        nn.init.zeros_(self.item_bias.weight)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(1) + self.item_bias(i).squeeze(1)


model = MF()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
mse = nn.MSELoss()

for epoch in range(30):
    model.train()
    order = torch.randperm(cut)
    total = 0.0
    for idx in order.split(128):
        optimizer.zero_grad()
        loss = mse(model(users[idx], items[idx]), ratings[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if (epoch + 1) % 6 == 0:
        model.eval()
        with torch.no_grad():
            held = mse(model(users[cut:], items[cut:]), ratings[cut:]).item()
        print(f"epoch {epoch + 1}: train mse {total / cut:.4f}, held-out mse {held:.4f}")
print(f"variance of the held-out ratings: {ratings[cut:].var().item():.3f} (noise alone: 0.0625)")
