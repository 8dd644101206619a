"""Pictures of a mouth are to follow a sound, but the generator's optimizer is never stepped.

Only the discriminator learns (fixed: ``optim_gen.step()`` after the backward pass).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
S, WINDOW = 16, 256


def clip():
    """loudness opens the mouth, pitch makes it round"""
    loud, pitch = rng.uniform(0.1, 1.0), rng.uniform(0, 1)
    t = np.arange(WINDOW) / 8000
    f0 = 150 + 500 * pitch
    wave = sum(loud / k * np.sin(2 * np.pi * f0 * k * t + rng.uniform(0, 6.28)) for k in (1, 2, 3))
    wave = 0.5 * wave + rng.normal(0, 0.02, WINDOW)
    height, width = 0.5 + 5 * loud, 7 - 3.5 * pitch
    r, c = np.mgrid[0:S, 0:S] - (S - 1) / 2
    d = (r / height) ** 2 + (c / width) ** 2
    return wave.astype(np.float32), np.tanh(2.0 * (d - 1)).astype(np.float32)


def make(n):
    items = [clip() for _ in range(n)]
    return (
        torch.from_numpy(np.stack([a for a, _ in items])),
        torch.from_numpy(np.stack([v for _, v in items]))[:, None],
    )


audio, frames = make(1500)
audio_test, frames_test = make(300)
hann = torch.hann_window(WINDOW)


def spectrum(a):
    return torch.log1p(torch.fft.rfft(a * hann).abs())[:, :96] / 2


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.audio_enc = nn.Sequential(nn.Linear(96, 128), nn.ReLU(), nn.Linear(128, 32 * 4 * 4), nn.ReLU())
        self.dec = nn.Sequential(
            nn.ConvTranspose2d(32, 24, 4, 2, 1),
            nn.BatchNorm2d(24),
            nn.ReLU(),
            nn.ConvTranspose2d(24, 12, 4, 2, 1),
            nn.BatchNorm2d(12),
            nn.ReLU(),
            nn.Conv2d(12, 1, 3, padding=1),
            nn.Tanh(),
        )

    def forward(self, a):
        return self.dec(self.audio_enc(spectrum(a)).view(-1, 32, 4, 4))


class IdentityDiscriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.img = nn.Sequential(
            nn.Conv2d(1, 12, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(12, 24, 4, 2, 1), nn.LeakyReLU(0.2)
        )
        self.snd = nn.Linear(96, 32)
        self.out = nn.Sequential(nn.Linear(24 * 16 + 32, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, a, v):
        return self.out(torch.cat([self.img(v).flatten(1), functional.leaky_relu(self.snd(spectrum(a)), 0.2)], 1))


class Wav2Mov:
    def __init__(self):
        self.gen, self.id = Generator(), IdentityDiscriminator()
        self.optim_gen = torch.optim.Adam(self.gen.parameters(), lr=1e-3, betas=(0.5, 0.999))
        self.optim_id = torch.optim.Adam(self.id.parameters(), lr=2e-4, betas=(0.5, 0.999))
        self.lambda_l1 = 30.0

    def adversarial(self, logits, real):
        return functional.binary_cross_entropy_with_logits(logits, torch.full_like(logits, float(real)))

    def set_input(self, a, v):
        self.a, self.v = a, v

    def forward(self):
        self.fake = self.gen(self.a)

    def backward_id(self):
        loss = 0.5 * (
            self.adversarial(self.id(self.a, self.v), 1) + self.adversarial(self.id(self.a, self.fake.detach()), 0)
        )
        loss.backward()
        return loss.item()

    def backward_gen(self):
        l1 = functional.l1_loss(self.fake, self.v)
        loss = self.adversarial(self.id(self.a, self.fake), 1) + self.lambda_l1 * l1
        loss.backward()
        return l1.item()

    def optimize_parameters(self):
        self.forward()
        self.optim_id.zero_grad()
        d = self.backward_id()
        self.optim_id.step()
        self.optim_gen.zero_grad()
        g = self.backward_gen()
        if fixed:
            self.optim_gen.step()
        return d, g


model = Wav2Mov()
for epoch in range(20):
    model.gen.train()
    order = torch.randperm(len(audio))
    logs = []
    for k in range(0, len(order) - 31, 32):
        b = order[k : k + 32]
        model.set_input(audio[b], frames[b])
        logs.append(model.optimize_parameters())
    if epoch % 4 == 3:
        id_loss, gen_l1 = np.mean(logs, 0)
        print(f"epoch {epoch + 1}: discriminator {id_loss:.4f}, generator L1 {gen_l1:.4f}")

model.gen.eval()
with torch.no_grad():
    l1 = functional.l1_loss(model.gen(audio_test), frames_test).item()
print("RESULT test_l1", f"{l1:.4f}")
