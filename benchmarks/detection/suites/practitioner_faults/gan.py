"""Training of a generator of points and its discriminator."""

from __future__ import annotations

import torch
from torch import nn

import sagemaker_debug_ext.pytorch as smd

STEPS, BATCH = 120, 32


def train_gan(
    folder: str,
    *,
    seed: int,
    rates: tuple[float, float] = (5e-3, 5e-3),
    loss: nn.Module | None = None,
    detached: bool = False,
    resets: bool = True,
    real: float = 1.0,
    mixed: bool = False,
) -> None:
    """Train a generator and a discriminator in turn, and save everything at every step. A step is a turn of each.

    Args:
        folder: Folder of the trial.
        seed: Seed of data and weights.
        rates: Learning rates of generator and discriminator.
        loss: Loss of scores against 1 (a real point) and 0. Default: `BCEWithLogitsLoss`.
        detached: Whether generated points are detached in the generator's turn, too.
        resets: Whether the discriminator's gradients are reset before its turn.
        real: Target of real points.
        mixed: Whether the discriminator's targets are shuffled.
    """
    torch.manual_seed(seed)
    loss = loss or nn.BCEWithLogitsLoss()
    generator = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
    discriminator = nn.Sequential(
        nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1)
    )
    hook = smd.Hook(out_dir=folder, save_config=smd.SaveConfig(save_interval=1), save_all=True, explicit_steps=True)
    for module in (generator, discriminator):
        hook.register_module(module)
    hook.register_loss(loss)
    hook.set_mode(smd.modes.TRAIN)
    optimizers = [
        torch.optim.Adam(module.parameters(), rate, betas=(0.5, 0.99))
        for module, rate in zip((generator, discriminator), rates, strict=True)
    ]
    ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)
    for _ in range(STEPS):
        points = torch.randn(BATCH, 2) * torch.tensor([0.5, 0.3]) + torch.tensor([2.0, -1.0])
        made = generator(torch.randn(BATCH, 4))
        both, targets = torch.cat([points, made.detach()]), torch.cat([ones * real, zeros])
        if resets:
            optimizers[1].zero_grad()
        loss(discriminator(both), targets[torch.randperm(2 * BATCH)] if mixed else targets).backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        loss(discriminator(made.detach() if detached else made), ones).backward()
        optimizers[0].step()
        hook.step()
    hook.close()
