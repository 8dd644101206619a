"""A draft head foresees the next hidden state of a frozen language model.

The linear schedule ends after the number of steps in the configuration, 36, but the training has 400 steps, and the
learning rate is 0 in all later ones (fixed: a cosine over the real number of steps that ends above 0).
"""

import math
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(6)
rng = np.random.RandomState(6)
VOCAB, DIM, SEQ = 60, 32, 20

train_config = {
    "lr": 2e-3,
    "bs": 16,
    "num_epochs": 10,
    "num_warmup_steps": 10,
    "total_steps": 36,
    "p_w": 0.1,
    "v_w": 1.0,
}


class TargetModel(nn.Module):
    """The frozen language model: hidden states and the head that turns them into tokens."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.w_in, self.w_rec = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)
        self.lm_head = nn.Linear(DIM, VOCAB, bias=False)
        nn.init.orthogonal_(self.w_rec.weight)
        nn.init.normal_(self.lm_head.weight, std=0.6)

    @torch.no_grad()
    def generate(self, n):
        state, token = torch.zeros(n, DIM), torch.randint(VOCAB, (n,))
        tokens, states = [], []
        for _ in range(SEQ + 1):
            state = torch.tanh(self.w_in(self.embed(token)) * 1.2 + 0.6 * self.w_rec(state))
            tokens.append(token)
            states.append(state)
            token = torch.multinomial(self.lm_head(state).softmax(1), 1).squeeze(1)
        return torch.stack(tokens, 1), torch.stack(states, 1)


target = TargetModel()
for p in target.parameters():
    p.requires_grad = False
tokens_train, states_train = target.generate(640)
tokens_test, states_test = target.generate(200)


class DraftHead(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.embed.weight.data.copy_(target.embed.weight)
        self.embed.weight.requires_grad = False
        self.fc = nn.Linear(2 * DIM, hidden)
        self.up, self.down = nn.Linear(hidden, 2 * hidden), nn.Linear(2 * hidden, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.out = nn.Linear(hidden, DIM)

    def forward(self, states, tokens):
        h = self.fc(torch.cat([self.embed(tokens), states], dim=-1))
        h = h + self.down(functional.silu(self.up(self.norm(h))))
        return self.out(h)


def losses_of(tokens, states):
    predict = model(states[:, :-1], tokens[:, 1:])
    wanted = states[:, 1:]
    v_loss = functional.smooth_l1_loss(predict, wanted)
    p_target = target.lm_head(wanted).softmax(-1)
    p_loss = -(p_target * target.lm_head(predict).log_softmax(-1)).sum(-1).mean()
    agree = (target.lm_head(predict).argmax(-1) == target.lm_head(wanted).argmax(-1)).float().mean()
    return train_config["v_w"] * v_loss + train_config["p_w"] * p_loss, agree


model = DraftHead()
optimizer = torch.optim.AdamW(
    [p for p in model.parameters() if p.requires_grad], lr=train_config["lr"], betas=(0.9, 0.95)
)
warmup = train_config["num_warmup_steps"]
if FIXED:
    num_steps = train_config["num_epochs"] * math.ceil(len(tokens_train) / train_config["bs"])

    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        return 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (num_steps - warmup)))
else:
    num_steps = train_config["total_steps"]

    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        return max(0.0, (num_steps - step) / (num_steps - warmup))


scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)

for epoch in range(train_config["num_epochs"]):
    model.train()
    losses, agrees = [], []
    for idx in torch.randperm(len(tokens_train)).split(train_config["bs"]):
        optimizer.zero_grad()
        loss, agree = losses_of(tokens_train[idx], states_train[idx])
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.5)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        agrees.append(agree.item())
    model.eval()
    with torch.no_grad():
        test_loss, test_agree = losses_of(tokens_test, states_test)
    print(
        f"Epoch [{epoch + 1}] loss {np.mean(losses):.4f} top1 {np.mean(agrees):.3f} "
        f"test loss {test_loss.item():.4f} top1 {test_agree.item():.3f}"
    )

print("RESULT test_top1_agreement", f"{test_agree.item():.4f}")
