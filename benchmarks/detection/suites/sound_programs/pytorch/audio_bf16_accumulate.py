"""Sound events (sweeps, tones, chords, noise bursts, clicks) from log-spectrograms:
bf16 autocast, gradient accumulation over 4 micro batches,
averaged weights (EMA) with warm-up, AdamW."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

rng = np.random.default_rng(3)
torch.manual_seed(3)
SR, L = 4000, 4000
t = np.arange(L) / SR


def clip(c):
    f = rng.uniform(200, 900)
    start, dur = rng.uniform(0, 0.4), rng.uniform(0.3, 0.6)
    env = ((t > start) & (t < start + dur)) * np.exp(-(t - start) * rng.uniform(0, 2))
    if c == 0:
        s = np.sin(2 * np.pi * f * t)
    elif c in (1, 2):
        k = rng.uniform(500, 1200) * (1 if c == 1 else -1)
        base = f if c == 1 else f + 900
        s = np.sin(2 * np.pi * (base * (t - start) + 0.5 * k * (t - start) ** 2))
    elif c == 3:
        s = sum(np.sin(2 * np.pi * f * r * t + rng.uniform(0, 6)) for r in (1, 1.25, 1.5)) / 1.7
    elif c == 4:
        s = np.sin(2 * np.pi * f * t + 6 * np.sin(2 * np.pi * rng.uniform(5, 9) * t))
    else:
        s = rng.normal(0, 0.7, L)
    return env * s * rng.uniform(0.4, 1.0) + rng.normal(0, 0.12, L)


def dataset(n):
    y = rng.integers(0, 6, n)
    w = torch.tensor(np.stack([clip(c) for c in y]), dtype=torch.float32)
    spec = torch.stft(w, 128, hop_length=100, window=torch.hann_window(128), return_complex=True).abs()
    return torch.log(spec[:, 1:] + 1e-2).unsqueeze(1), torch.tensor(y)


xtr, ytr = dataset(1008)
xva, yva = dataset(400)
m, s = xtr.mean(), xtr.std()
xtr, xva = (xtr - m) / s, (xva - m) / s


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.SiLU(), nn.MaxPool2d(2))


model = nn.Sequential(
    block(1, 8),
    block(8, 16),
    block(16, 32),
    nn.AdaptiveAvgPool2d((2, 2)),
    nn.Flatten(),
    nn.Dropout(0.1),
    nn.Linear(128, 6),
)
ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.95))
opt = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-2)
ACC, MICRO, EPOCHS = 4, 12, 11
total = EPOCHS * (len(xtr) // (ACC * MICRO))
sched = torch.optim.lr_scheduler.SequentialLR(
    opt,
    [
        torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=15),
        torch.optim.lr_scheduler.CosineAnnealingLR(opt, total - 15),
    ],
    milestones=[15],
)


@torch.no_grad()
def evaluate(m):
    m.eval()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = m(xva)
    return F.cross_entropy(out.float(), yva).item(), (out.argmax(1) == yva).float().mean().item()


for epoch in range(EPOCHS):
    model.train()
    run = 0.0
    opt.zero_grad()
    for i, idx in enumerate(torch.randperm(len(xtr)).split(MICRO)):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(xtr[idx])
        loss = F.cross_entropy(out.float(), ytr[idx])
        (loss / ACC).backward()
        run += loss.item()
        if (i + 1) % ACC == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            sched.step()
            opt.zero_grad()
            ema.update_parameters(model)
    vl, va = evaluate(model)
    el, ea = evaluate(ema)
    print(f"epoch {epoch + 1} train {run / (i + 1):.4f} val {vl:.4f} acc {va:.4f} | ema val {el:.4f} acc {ea:.4f}")
print(f"RESULT val_accuracy_ema {ea:.4f}")
