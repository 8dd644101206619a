"""A sigmoid rebuilds images in -1 to 1, by a mean that its divergence outweighs (fixed: 0 to 1, a Gaussian's sum)."""

import sys

import lightning
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
lightning.seed_everything(0)


class DigitsDataModule(lightning.LightningDataModule):
    """Digits, a fifth of them for validation."""

    def setup(self, stage=None):  # noqa: ARG002 - Lightning's signature
        images = torch.tensor(load_digits().data / 16.0, dtype=torch.float32)
        if not fixed:
            images = (images - 0.5) / 0.5
        train, val = train_test_split(images, test_size=0.2, random_state=0)
        self.train_set, self.val_set = TensorDataset(train), TensorDataset(val)

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=32, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val_set, batch_size=128)


class VAE(lightning.LightningModule):
    """Three layers on the way to the latent numbers, and three on the way back."""

    def __init__(self, latent_dim=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
        self.mu = nn.Linear(64, latent_dim)
        self.log_var = nn.Linear(64, latent_dim)
        self.decoder = nn.Sequential(
            nn.Linear(latent_dim, 64), nn.ReLU(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.Sigmoid()
        )

    def forward(self, x):
        h = self.encoder(x)
        mu, log_var = self.mu(h), self.log_var(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * log_var)
        return self.decoder(z), mu, log_var

    def loss(self, x):
        predictions, mu, log_var = self(x)
        r_loss = functional.mse_loss(predictions, x)
        if fixed:
            log_sigma = 0.5 * r_loss.log()
            r_loss = (0.5 * ((x - predictions) / log_sigma.exp()) ** 2 + log_sigma).sum(dim=1).mean()
        kl_loss = (-0.5 * (1 + log_var - mu.pow(2) - log_var.exp()).sum(dim=1)).mean()
        return r_loss + kl_loss, r_loss, kl_loss

    def training_step(self, batch, batch_idx):  # noqa: ARG002 - Lightning's signature
        loss, _, _ = self.loss(batch[0])
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):  # noqa: ARG002 - Lightning's signature
        loss, r_loss, kl_loss = self.loss(batch[0])
        self.log_dict({"val_loss": loss, "val_r": r_loss, "val_kl": kl_loss})

    def on_train_epoch_end(self):
        print({k: round(v.item(), 4) for k, v in self.trainer.callback_metrics.items()})

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


digits = DigitsDataModule()
vae = VAE()
trainer = lightning.Trainer(
    max_epochs=25,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(vae, digits)

x = digits.val_set.tensors[0]
vae.eval()
with torch.no_grad():
    recon = vae(x)[0]
unexplained = (functional.mse_loss(recon, x) / x.var(0).mean()).item()
print("spread of the images over the set", x.std(0).mean().item())
print("spread of the reconstructions    ", recon.std(0).mean().item())
print("error / variance", unexplained)

print("RESULT unexplained", unexplained)
