import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(0)
X = torch.tensor(load_digits().images / 16.0, dtype=torch.float32)[:, None]


class VQ(nn.Module):
    def __init__(self, k=32, d=16):
        super().__init__()
        self.emb = nn.Embedding(k, d)
        nn.init.uniform_(self.emb.weight, -1 / k, 1 / k)

    def forward(self, z):
        f = z.permute(0, 2, 3, 1)
        d = f.pow(2).sum(-1, keepdim=True) - 2 * f @ self.emb.weight.T + self.emb.weight.pow(2).sum(1)
        q = self.emb(d.argmin(-1)).permute(0, 3, 1, 2)
        loss = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        return z + (q - z).detach(), loss


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 16, 3, 1, 1))
        self.vq = VQ()
        self.dec = nn.Sequential(nn.Conv2d(16, 32, 3, 1, 1), nn.ReLU(), nn.ConvTranspose2d(32, 1, 4, 2, 1))

    def forward(self, x):
        q, l = self.vq(self.enc(x))
        return self.dec(q), l


m = VQVAE()
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
for e in range(8):
    p = torch.randperm(1500)
    s = 0
    for i in range(0, 1500, 50):
        x = X[p[i : i + 50]]
        r, l = m(x)
        t = F.mse_loss(r, x) + l
        opt.zero_grad()
        t.backward()
        opt.step()
        s += t.item()
    m.eval()
    with torch.no_grad():
        r, l = m(X[1500:])
        print(e, s / 30, F.mse_loss(r, X[1500:]).item())
    m.train()
