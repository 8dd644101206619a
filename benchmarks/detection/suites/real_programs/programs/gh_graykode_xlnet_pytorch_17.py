"""Classes of short texts by attention with relative positions: the weights of attention are drawn with deviation 1

(fixed: by Xavier).
"""

import sys

import data
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
LENGTH, WORDS, CLASSES, D_MODEL, N_HEAD = 20, 60, 5, 32, 4
tokens, labels = (torch.tensor(a) for a in data.texts(1600, LENGTH, WORDS, CLASSES))


def weight(*shape):
    parameter = nn.Parameter(torch.randn(*shape))
    if fixed:
        nn.init.xavier_normal_(parameter)
    return parameter


class RelativeAttention(nn.Module):
    """Attention by content and by distance."""

    def __init__(self):
        super().__init__()
        self.d_head = D_MODEL // N_HEAD
        self.q_proj_weight, self.k_proj_weight = weight(D_MODEL, D_MODEL), weight(D_MODEL, D_MODEL)
        self.v_proj_weight, self.proj_o = weight(D_MODEL, D_MODEL), weight(D_MODEL, D_MODEL)
        self.r_proj_weight = weight(D_MODEL, D_MODEL)
        self.r_w_bias, self.r_r_bias = weight(N_HEAD, self.d_head), weight(N_HEAD, self.d_head)
        self.layer_norm = nn.LayerNorm(D_MODEL)
        distances = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)
        angles = distances[..., None] / 100 ** (torch.arange(D_MODEL // 2) / (D_MODEL // 2))
        self.register_buffer("pos_emb", torch.cat([angles.sin(), angles.cos()], dim=-1))

    def heads(self, x, projection):
        return (x @ projection).unflatten(-1, (N_HEAD, self.d_head))

    def forward(self, h):
        q, k, v = (self.heads(h, w) for w in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight))
        r = self.heads(self.pos_emb, self.r_proj_weight)
        content = torch.einsum("bind,bjnd->bnij", q + self.r_w_bias, k)
        position = torch.einsum("bind,ijnd->bnij", q + self.r_r_bias, r)
        prob = functional.softmax((content + position) / self.d_head**0.5, dim=-1)
        out = torch.einsum("bnij,bjnd->bind", prob, v).flatten(-2) @ self.proj_o
        return self.layer_norm(h + out)


class XLNet(nn.Module):
    """Two layers of attention, then the classes."""

    def __init__(self):
        super().__init__()
        self.word_embedding = nn.Embedding(WORDS, D_MODEL)
        self.attention = nn.ModuleList([RelativeAttention() for _ in range(2)])
        self.feed_forward = nn.ModuleList(
            [nn.Sequential(nn.Linear(D_MODEL, 64), nn.ReLU(), nn.Linear(64, D_MODEL)) for _ in range(2)]
        )
        self.logits = nn.Linear(D_MODEL, CLASSES)

    def forward(self, tokens):
        h = self.word_embedding(tokens)
        for attention, feed_forward in zip(self.attention, self.feed_forward, strict=True):
            h = attention(h)
            h = h + feed_forward(h)
        return self.logits(h[:, -1])


model = XLNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(7):
    for rows in torch.randperm(1280).split(64):
        loss = functional.cross_entropy(model(tokens[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        accuracy = float((model(tokens[1280:]).argmax(1) == labels[1280:]).float().mean())
    print(epoch, loss.item(), accuracy)
print("RESULT accuracy", accuracy)
