"""A confidence head on the features of a structure model predicts the lDDT of each token.

The layer out_token_feat_update is created for the training of the confidence head and gets gradients, but
configure_optimizers hands over only the parameters of the confidence module, so the layer stays as initialised
(fixed: the parameters of out_token_feat_update are optimised too).
"""

import sys

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
tokens, feat, steps = 10, 48, 3


class Trunk(nn.Module):
    """The structure model, trained before and frozen here: features of the tokens at each denoising step."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(12, feat)
        self.time = nn.Embedding(steps, feat)

    def forward(self, s, step):
        return torch.tanh(self.mix(s) + 0.3 * self.time(torch.tensor(step)))


class OutTokenFeatUpdate(nn.Module):
    def __init__(self, out=6):
        super().__init__()
        self.norm = nn.LayerNorm(feat)
        self.transition = nn.Linear(feat, out)

    def forward(self, acc, token_a):
        return acc + torch.tanh(self.transition(self.norm(token_a))) / steps


class ConfidenceModule(nn.Module):
    def __init__(self, rep=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * rep, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, token_rep):
        context = token_rep.mean(1, keepdim=True).expand_as(token_rep)
        return self.net(torch.cat([token_rep, context], -1)).squeeze(-1)


class Boltz(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = Trunk()
        for p in self.trunk.parameters():
            p.requires_grad = False
        self.out_token_feat_update = OutTokenFeatUpdate()
        self.confidence_module = ConfidenceModule()

    def forward(self, s):
        token_rep = torch.zeros(s.shape[0], tokens, 6)
        for step in range(steps):
            token_a = self.trunk(s, step)
            token_rep = self.out_token_feat_update(token_rep, token_a)
        return self.confidence_module(token_rep)

    def configure_optimizers(self):
        parameters = list(self.confidence_module.parameters())
        if FIXED:
            parameters += list(self.out_token_feat_update.parameters())
        return torch.optim.Adam(parameters, lr=3e-3)


def make_structures(n):
    """Tokens with 12 properties; lDDT is high in the core of the protein and low in flexible or disordered parts."""
    s = torch.randn(n, tokens, 12)
    flexible = s[..., 0] * 0.9 - s[..., 5] * 0.9
    buried = torch.relu(s[..., 7] + 0.5 * s.mean(1, keepdim=True)[..., 3])
    lddt = torch.sigmoid(1.2 - 1.6 * torch.relu(flexible) + 1.2 * buried + 0.1 * torch.randn(n, tokens))
    return s, lddt


s_train, l_train = make_structures(1600)
s_test, l_test = make_structures(300)
model = Boltz()
optimizer = model.configure_optimizers()
loader = DataLoader(TensorDataset(s_train, l_train), batch_size=64, shuffle=True)

for epoch in range(14):
    model.train()
    total = 0.0
    for s, lddt in loader:
        loss = functional.mse_loss(torch.sigmoid(model(s)), lddt)
        model.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        plddt = torch.sigmoid(model(s_test))
        corr = torch.corrcoef(torch.stack([plddt.flatten(), l_test.flatten()]))[0, 1].item()
    print(f"epoch {epoch + 1}: loss {total / len(loader):.5f}  correlation of pLDDT and lDDT {corr:.4f}")

print("RESULT plddt_correlation", f"{corr:.4f}")
