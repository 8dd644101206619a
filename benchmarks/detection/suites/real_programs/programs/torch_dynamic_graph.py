"""A recurrent graph network predicts the links of a growing graph over 39 steps.

Gradients are clipped only after the step of the optimizer, which has no effect, and they explode (fixed: clipped before
the step).
"""

import sys

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(5)
np.random.seed(5)
torch.set_num_threads(1)

N, STEPS, DIM, HID = 20, 40, 8, 24


def sequence(rng):
    """Nodes drift on a plane, near nodes are linked; the features are noisy views of where a node moves."""
    pos = rng.normal(0, 1.0, (N, 2))
    vel = rng.normal(0, 0.08, (N, 2))
    project = np.random.default_rng(0).normal(0, 1, (4, DIM))
    adjs, feats = [], []
    for _ in range(STEPS):
        vel = 0.97 * vel + rng.normal(0, 0.01, (N, 2))
        pos = 0.98 * pos + vel
        dist = np.linalg.norm(pos[:, None] - pos[None], axis=2)
        adjs.append(((dist < 0.8) & ~np.eye(N, dtype=bool)).astype(np.float32))
        feats.append(np.concatenate([pos, 10 * vel], 1) @ project + rng.normal(0, 0.5, (N, DIM)))
    return torch.tensor(np.stack(adjs)), torch.tensor(np.stack(feats), dtype=torch.float32)


class GraphRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(DIM, HID)
        self.rec = nn.Linear(HID, HID, bias=False)
        self.out = nn.Sequential(nn.Linear(HID, 32), nn.ReLU(), nn.Linear(32, 12))
        self.bias = nn.Parameter(torch.zeros(1))
        nn.init.orthogonal_(self.rec.weight)

    def forward(self, adjs, feats):
        h = torch.zeros(adjs.shape[0], N, HID)
        logits = []
        for t in range(STEPS - 1):
            a = adjs[:, t] + torch.eye(N)
            d = a.sum(2, keepdim=True).rsqrt()
            a = d * a * d.transpose(1, 2)
            h = functional.relu(a @ (self.inp(feats[:, t]) + self.rec(h)))
            z = self.out(h)
            logits.append(-torch.cdist(z, z).pow(2) + self.bias)
        return torch.stack(logits, 1)


rng = np.random.default_rng(1)
data = [sequence(rng) for _ in range(60)]
adjs, feats = torch.stack([d[0] for d in data]), torch.stack([d[1] for d in data])
off = ~torch.eye(N, dtype=torch.bool)
train, test = slice(0, 48), slice(48, 60)
model = GraphRNN()
optimizer = torch.optim.SGD(model.parameters(), lr=0.15, momentum=0.9)

for epoch in range(30):
    model.train()
    total = 0.0
    for i in range(0, 48, 8):
        logits = model(adjs[i : i + 8], feats[i : i + 8])
        loss = functional.binary_cross_entropy_with_logits(logits[..., off], adjs[i : i + 8, 1:][..., off])
        optimizer.zero_grad()
        loss.backward()
        if fixed:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if not fixed:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1} loss {total / 6:.4f}")
model.eval()
with torch.no_grad():
    logits = torch.nan_to_num(model(adjs[test], feats[test])[..., off])
    auc = roc_auc_score(adjs[test, 1:][..., off].flatten().numpy(), logits.flatten().numpy())
print("RESULT link_AUC", f"{auc:.4f}")
