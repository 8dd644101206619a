"""Poses of the parts of an object are modelled by a mixture of a few hypotheses, from a code of the object.

The likelihood is the logarithm of a sum of exponentials, which become 0 or infinite (fixed: ``logsumexp``).
"""

import math
import sys

import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
PARTS, CAPS = 40, 3


def poses(n, seed):
    g = torch.Generator().manual_seed(seed)
    code = torch.rand(n, 2, generator=g) * 2 - 1
    k = torch.arange(PARTS).float()
    mode = torch.randint(0, 2, (n, 1), generator=g) * 2.0 - 1  # the object may be mirrored
    pose = mode * torch.sin(code[:, :1] * 2 + k * 0.4) + code[:, 1:] * torch.cos(k * 0.3)
    return code, pose + 0.02 * torch.randn(n, PARTS, generator=g)


class Votes(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.vote = nn.Linear(64, CAPS * PARTS)
        self.scale = nn.Linear(64, CAPS)
        self.presence = nn.Linear(64, CAPS)

    def forward(self, code):
        h = self.body(code)
        return (
            self.vote(h).view(-1, CAPS, PARTS),
            functional.softplus(self.scale(h)) + 1e-2,
            functional.log_softmax(self.presence(h), dim=-1),
        )

    def log_prob(self, code, pose):
        vote, scale, log_presence = self(code)
        z = (pose[:, None] - vote) / scale[..., None]
        vote_log_prob = (-0.5 * z**2 - torch.log(scale)[..., None] - 0.5 * math.log(2 * math.pi)).sum(-1)
        if fixed:
            return torch.logsumexp(vote_log_prob + log_presence, dim=1)
        return torch.log(torch.sum(torch.exp(vote_log_prob + log_presence), dim=1))


code, pose = poses(2000, 1)
val_code, val_pose = poses(500, 2)
model = Votes()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(60):
    order = torch.randperm(len(code))
    total = 0.0
    for i in range(0, len(order), 50):
        b = order[i : i + 50]
        optimizer.zero_grad()
        loss = -model.log_prob(code[b], pose[b]).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        val = -model.log_prob(val_code, val_pose).mean().item()
        vote, _, log_presence = model(val_code)
        error = (vote - val_pose[:, None]).abs().mean(-1).min(1).values.mean().item()
    print(f"epoch {epoch} loss {total / 40:.3f} val loss {val:.3f} pose error of the best vote {error:.4f}")
print("RESULT pose_error", f"{error:.4f}")
