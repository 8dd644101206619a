"""A Lightning module hands the parameters of its head alone to Adam (fixed: all parameters)."""

import sys

import lightning
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
lightning.seed_everything(0)

digits = load_digits()
x = (digits.images[:, None] / 16.0).astype("float32")
x_train, x_val, y_train, y_val = train_test_split(
    x, digits.target, test_size=0.2, random_state=0, stratify=digits.target
)
train_loader = DataLoader(TensorDataset(torch.tensor(x_train), torch.tensor(y_train)), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(torch.tensor(x_val), torch.tensor(y_val)), batch_size=180)


class DigitClassifier(lightning.LightningModule):
    """An encoder of convolutions, and a head."""

    def __init__(self, lr=3e-3):
        super().__init__()
        self.lr = lr
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(64, 16),
            nn.ReLU(),
        )
        self.head = nn.Linear(16, 10)
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, x):
        return self.head(self.encoder(x))

    def training_step(self, batch, batch_idx):  # noqa: ARG002 - Lightning's signature
        x, y = batch
        loss = self.criterion(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):  # noqa: ARG002 - Lightning's signature
        x, y = batch
        logits = self(x)
        self.log("val_loss", self.criterion(logits, y))
        self.log("val_acc", (logits.argmax(1) == y).float().mean())

    def on_validation_epoch_end(self):
        m = self.trainer.callback_metrics
        print(f"epoch {self.current_epoch} val_loss {m['val_loss']:.4f} val_acc {m['val_acc']:.4f}")

    def configure_optimizers(self):
        trained = self if fixed else self.head
        return torch.optim.Adam(trained.parameters(), lr=self.lr)


model = DigitClassifier()
trainer = lightning.Trainer(
    max_epochs=15,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    num_sanity_val_steps=0,
)
trainer.fit(model, train_loader, val_loader)
print("RESULT val_acc", trainer.callback_metrics["val_acc"].item())
