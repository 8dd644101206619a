# Pretrain an encoder as an autoencoder, freeze it, and train only a classifier on top
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

torch.manual_seed(77)
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16.0, y, test_size=0.25, stratify=y, random_state=77)
X_train, X_test = torch.tensor(X_train).float(), torch.tensor(X_test).float()
y_train, y_test = torch.tensor(y_train), torch.tensor(y_test)

encoder = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 24))
decoder = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 64))
auto = nn.Sequential(encoder, decoder)

# stage 1: reconstruction
opt = torch.optim.Adam(auto.parameters(), lr=2e-3)
mse = nn.MSELoss()
for epoch in range(40):
    auto.train()
    for idx in torch.randperm(len(X_train)).split(32):
        opt.zero_grad()
        loss = mse(auto(X_train[idx]), X_train[idx])
        loss.backward()
        opt.step()
auto.eval()
with torch.no_grad():
    train, test = mse(auto(X_train), X_train).item(), mse(auto(X_test), X_test).item()
    print(f"reconstruction mse: train {train:.4f} test {test:.4f}")

# stage 2: frozen encoder, new head; only the head's parameters go to the optimizer
for p in encoder.parameters():
    p.requires_grad = False
encoder.eval()
with torch.no_grad():
    codes = encoder(X_train)
    center, scale = codes.mean(0), codes.std(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(24, 10)
        self.register_buffer("center", center)
        self.register_buffer("scale", scale)

    def forward(self, x):
        return self.head((self.encoder(x) - self.center) / self.scale)


clf = Classifier()
opt = torch.optim.Adam(clf.head.parameters(), lr=0.01)
ce = nn.CrossEntropyLoss()
for epoch in range(30):
    for idx in torch.randperm(len(X_train)).split(32):
        opt.zero_grad()
        loss = ce(clf(X_train[idx]), y_train[idx])
        loss.backward()
        opt.step()

clf.eval()
with torch.no_grad():
    out_train, out_test = clf(X_train), clf(X_test)
    print(f"cross entropy: train {ce(out_train, y_train).item():.3f} test {ce(out_test, y_test).item():.3f}")
    train, test = ((out.argmax(1) == y).float().mean().item() for out, y in ((out_train, y_train), (out_test, y_test)))
    print(f"accuracy: train {train:.3f} test {test:.3f}")
