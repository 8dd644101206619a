"""Lightning steps a schedule that counts batches once an epoch (fixed: ``"interval": "step"``)."""

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

digits = load_digits()
x = torch.tensor(digits.data / 16.0, dtype=torch.float32)
y = torch.tensor(digits.target)
x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)
train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(x_val, y_val), batch_size=128)


class DigitModule(lightning.LightningModule):
    """One hidden layer, trained by a cycle of learning rates."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
        self.losses = []

    def training_step(self, batch, batch_idx):  # noqa: ARG002 - Lightning's signature
        xb, yb = batch
        loss = functional.cross_entropy(self.net(xb), yb)
        self.losses.append(loss.item())
        return loss

    def on_train_epoch_end(self):
        acc = self.trainer.callback_metrics.get("val_acc", torch.tensor(0.0)).item()
        print(f"epoch {self.current_epoch + 1} loss {sum(self.losses) / len(self.losses):.4f} val_acc {acc:.4f}")
        self.losses.clear()

    def validation_step(self, batch, batch_idx):  # noqa: ARG002 - Lightning's signature
        xb, yb = batch
        self.log("val_acc", (self.net(xb).argmax(1) == yb).float().mean())

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, max_lr=0.1, div_factor=100, total_steps=self.trainer.estimated_stepping_batches
        )
        interval = "step" if fixed else "epoch"
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": interval}}


model = DigitModule()
trainer = lightning.Trainer(
    max_epochs=8,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    num_sanity_val_steps=0,
)
trainer.fit(model, train_loader, val_loader)

print("RESULT val_acc", trainer.callback_metrics["val_acc"].item())
