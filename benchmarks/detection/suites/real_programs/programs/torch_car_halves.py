"""A small U-Net marks cars in wide pictures that are cut into a left and a right square.

The list of squares only names the left square of each picture: the network is trained and validated on left squares
alone, and then used on whole pictures (fixed: both squares of each picture).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(8)
rng = np.random.RandomState(8)
H, W = 32, 56


def car_picture():
    """A car in a hall: dark wall and floor on the left, a bright window front on the right."""
    yy, xx = np.mgrid[:H, :W]
    x0, x1, base = rng.randint(4, 10), rng.randint(46, 53), rng.randint(23, 28)
    roof0, roof1 = x0 + rng.randint(8, 13), x1 - rng.randint(6, 10)
    top, hood = base - rng.randint(13, 16), base - rng.randint(6, 9)
    mask = (yy <= base) & (yy >= hood) & (xx >= x0) & (xx <= x1)
    slope = np.clip((hood - yy) * 0.5, 0, None)
    mask |= (yy < hood) & (yy >= top) & (xx >= roof0 + slope - 3) & (xx <= roof1 - slope + 2)
    for cx in (x0 + 9, x1 - 9):
        mask |= (xx - cx) ** 2 + (yy - base) ** 2 <= 10
    window = rng.uniform(26, 32)
    light = 1 / (1 + np.exp(-(xx - window) / 2.0))
    hall = 0.2 + 0.6 * light
    image = np.repeat(hall[None], 3, 0) * np.array([1.0, 0.98, 0.95])[:, None, None]
    image -= 0.06 * (yy > base)[None]
    body = rng.uniform(0.42, 0.56) + rng.randn(3) * 0.05
    paint = body[:, None, None] * (1 - 0.1 * (yy - top) / (base - top))[None]
    image = np.where(mask[None], paint, image) + rng.randn(3, H, W) * 0.05
    return image, mask


def make(n):
    images, masks = zip(*[car_picture() for _ in range(n)], strict=True)
    return np.stack(images).astype(np.float32), np.stack(masks).astype(np.float32)


def get_ids(n):
    return range(n)


def split_ids(ids, n=2):
    if FIXED:
        return [(i, pos) for i in ids for pos in range(n)]
    return [(i, pos) for i in ids for pos in range(n - 1)]


def get_square(array, pos):
    return array[..., :H] if pos == 0 else array[..., -H:]


def to_squares(ids, images, masks):
    x = np.stack([get_square(images[i], pos) for i, pos in ids])
    y = np.stack([get_square(masks[i], pos) for i, pos in ids])
    return (torch.tensor(x) - 0.5) / 0.25, torch.tensor(y)[:, None]


def double_conv(a, b):
    return nn.Sequential(
        nn.Conv2d(a, b, 3, padding=1),
        nn.BatchNorm2d(b),
        nn.ReLU(),
        nn.Conv2d(b, b, 3, padding=1),
        nn.BatchNorm2d(b),
        nn.ReLU(),
    )


class UNet(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.inc, self.down1, self.down2 = double_conv(3, ch), double_conv(ch, 2 * ch), double_conv(2 * ch, 4 * ch)
        self.pool, self.up = nn.MaxPool2d(2), nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.up1, self.up2 = double_conv(6 * ch, 2 * ch), double_conv(3 * ch, ch)
        self.outc = nn.Conv2d(ch, 1, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(self.pool(x1))
        x3 = self.down2(self.pool(x2))
        x = self.up1(torch.cat([x2, self.up(x3)], dim=1))
        return self.outc(self.up2(torch.cat([x1, self.up(x)], dim=1)))


def dice(prob, target):
    return (2 * (prob * target).sum() / (prob.sum() + target.sum() + 1e-6)).item()


images, masks = make(170)
test_images, test_masks = make(60)
ids = split_ids(get_ids(len(images)))
n_val = len(ids) // 8
x_train, y_train = to_squares(ids[:-n_val], images, masks)
x_val, y_val = to_squares(ids[-n_val:], images, masks)
net = UNet()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
criterion = nn.BCEWithLogitsLoss()
steps, batch_size = 170, 16
order = torch.randperm(len(x_train))
losses, at = [], 0

for step in range(steps):
    if at + batch_size > len(order):
        order, at = torch.randperm(len(x_train)), 0
    idx = order[at : at + batch_size]
    at += batch_size
    net.train()
    optimizer.zero_grad()
    loss = criterion(net(x_train[idx]), y_train[idx])
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if (step + 1) % 17 == 0:
        net.eval()
        with torch.no_grad():
            out = net(x_val)
        print(
            f"step {step + 1} loss {np.mean(losses[-17:]):.4f} val loss {criterion(out, y_val).item():.4f} "
            f"val dice {dice((out > 0).float(), y_val):.4f}"
        )


@torch.no_grad()
def predict_full(image):
    net.eval()
    squares = torch.tensor(np.stack([get_square(image, 0), get_square(image, 1)]))
    left, right = torch.sigmoid(net((squares - 0.5) / 0.25))[:, 0]
    full = torch.zeros(H, W)
    full[:, : W // 2] = left[:, : W // 2]
    full[:, W // 2 :] = right[:, H - W // 2 :]
    return full


score = np.mean(
    [dice((predict_full(i) > 0.5).float(), torch.tensor(m)) for i, m in zip(test_images, test_masks, strict=True)]
)
print("RESULT test_dice_full_pictures", f"{score:.4f}")
