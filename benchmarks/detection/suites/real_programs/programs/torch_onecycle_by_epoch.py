"""Lightning steps a cycle that was told its batches once an epoch (fixed: ``"interval": "step"``)."""

import sys

import lightning
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
lightning.seed_everything(42)

EPOCHS = 10
x, y = load_digits(return_X_y=True)
x = torch.tensor(x / 16.0, dtype=torch.float32)
y = torch.tensor(y)
x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)
train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(x_val, y_val), batch_size=256)


class LitClassifier(lightning.LightningModule):
    """Two hidden layers, trained by a cycle of learning rates."""

    def __init__(self, max_lr, steps_per_epoch):  # noqa: ARG002 - saved as hyperparameters
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Linear(64, 128),
            nn.ReLU(),
            nn.Linear(128, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        )

    def training_step(self, batch, batch_idx):  # noqa: ARG002 - Lightning's signature
        xb, yb = batch
        loss = functional.cross_entropy(self.net(xb), yb)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):  # noqa: ARG002 - Lightning's signature
        xb, yb = batch
        logits = self.net(xb)
        self.log("val_loss", functional.cross_entropy(logits, yb))
        self.log("val_acc", (logits.argmax(1) == yb).float().mean())

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=self.hparams.max_lr / 25)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(
            optimizer,
            max_lr=self.hparams.max_lr,
            total_steps=self.hparams.steps_per_epoch * EPOCHS,
            cycle_momentum=False,
        )
        interval = {"interval": "step"} if fixed else {}
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, **interval}}


class PrintMetrics(lightning.Callback):
    """Prints an epoch's metrics."""

    def on_train_epoch_end(self, trainer, pl_module):  # noqa: ARG002 - Lightning's signature
        metrics = trainer.callback_metrics
        rate = trainer.optimizers[0].param_groups[0]["lr"]
        values = " ".join(f"{name} {metrics[name]:.4f}" for name in ("train_loss", "val_loss", "val_acc"))
        print(f"epoch {trainer.current_epoch} rate {rate:.5f} {values}")


model = LitClassifier(max_lr=0.2, steps_per_epoch=len(train_loader))
trainer = lightning.Trainer(
    max_epochs=EPOCHS,
    accelerator="cpu",
    logger=False,
    callbacks=[PrintMetrics()],
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(model, train_loader, val_loader)

print("RESULT val_acc", trainer.callback_metrics["val_acc"].item())
