import lightning as L
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

L.seed_everything(0)


class LitAE(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8))
        self.decoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 64))

    def _loss(self, b):
        x, _ = b
        return nn.functional.mse_loss(self.decoder(self.encoder(x)), x)

    def training_step(self, b, i):
        l = self._loss(b)
        self.log("train_loss", l)
        return l

    def validation_step(self, b, i):
        self.log("val_loss", self._loss(b))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


d = load_digits()
ds = TensorDataset(torch.tensor(d.data / 16.0, dtype=torch.float32), torch.tensor(d.target))
a, b = random_split(ds, [1500, 297])
L.Trainer(max_epochs=8, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False).fit(
    LitAE(), DataLoader(a, 32, shuffle=True), DataLoader(b, 64)
)
