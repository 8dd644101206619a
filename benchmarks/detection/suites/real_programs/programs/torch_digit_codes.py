"""A transformer over codes of a vector quantiser learns to give the code that it has just read.

The targets are not shifted, and the mask lets each place see itself (fixed: each place gives the next code). The codes
are those of 2 x 2 patches of digits by k-means; in the end the second half of each digit is continued from the first.
"""

import sys

import torch
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

images = load_digits().images / 16.0
patches = images.reshape(-1, 4, 2, 4, 2).transpose(0, 1, 3, 2, 4).reshape(len(images), 16, 4)
K = 16
km = KMeans(K, n_init=3, random_state=0).fit(patches[:1400].reshape(-1, 4))
codebook = torch.tensor(km.cluster_centers_, dtype=torch.float32)
codes = torch.tensor(km.predict(patches.reshape(-1, 4)).reshape(-1, 16), dtype=torch.long)
BOS = K
sequences = torch.cat([torch.full((len(codes), 1), BOS), codes], 1)
train, test = sequences[:1400], sequences[1400:]


class DecoderOnlyTransformer(nn.Module):
    def __init__(self, dim=64, heads=4, depth=2, length=17):
        super().__init__()
        self.token = nn.Embedding(K + 1, dim)
        self.position = nn.Embedding(length, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.logits = nn.Linear(dim, K + 1)

    def forward(self, x):
        n = x.size(1)
        h = self.token(x) + self.position(torch.arange(n))
        mask = torch.triu(torch.full((n, n), float("-inf")), 1)
        return self.logits(self.norm(self.blocks(h, mask=mask)))


def ce_loss(logits, target):
    return functional.cross_entropy(logits.transpose(1, 2), target)


model = DecoderOnlyTransformer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(train), batch_size=64, shuffle=True)

for epoch in range(25):
    model.train()
    total = 0.0
    for (seq,) in loader:
        optimizer.zero_grad()
        logits = model(seq)
        loss = ce_loss(logits[:, :-1], seq[:, 1:]) if fixed else ce_loss(logits, seq)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")


@torch.no_grad()
def continue_from(prefix, length=17):
    model.eval()
    seq = prefix
    while seq.size(1) < length:
        logits = model(seq)[:, -1, :K]
        seq = torch.cat([seq, logits.argmax(-1, keepdim=True)], 1)
    return seq


generated = continue_from(test[:, :9])
accuracy = (generated[:, 9:] == test[:, 9:]).float().mean().item()
error = (codebook[generated[:, 9:]] - codebook[test[:, 9:]]).pow(2).mean().item()
print(f"pixel error {error:.4f}")
print("RESULT code_accuracy", f"{accuracy:.4f}")
