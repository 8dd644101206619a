"""Runs with their own training loop: a GAN, a contextual bandit, L-BFGS and others."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import nn

import sagemaker_debug_ext.pytorch as smd
from harness.jobs import make, recording_hook
from harness.parts import dense
from suites.everyday_faults_blind.parts import criterion
from suites.everyday_faults_blind.plan import set_training

BATCH, EVAL_EVERY = 48, 20

Trial = Callable[[str], None]


def _evaluate(hook, model, loss, x, y) -> None:
    """Evaluate on 128 rows, in two batches."""
    hook.set_mode(smd.modes.EVAL)
    model.eval()
    with torch.no_grad():
        for part in (slice(0, 64), slice(64, 128)):
            loss(model(x[part]), y[part])
    model.train()
    hook.set_mode(smd.modes.TRAIN)


# --- a GAN -----------------------------------------------------------------------------------------------------------


def playing(seed: int, *, steps: int = 160, size: int = 48, smooth: float = 0.1, rates=(1e-3, 3e-3)) -> Trial:
    """Return a function that trains a GAN on points of a tilted ellipse.

    Both networks are registered, and their common loss. A step is one update of each.
    """

    def make_trial(folder: str) -> None:
        torch.manual_seed(seed)
        maker, discriminator, loss = (
            dense(4, size, size, 2),
            dense(2, size, size, 1, act=nn.LeakyReLU),
            nn.BCEWithLogitsLoss(),
        )
        hook = recording_hook(folder, discriminator, loss)
        hook.register_module(maker)
        hook.set_mode(smd.modes.TRAIN)
        makes = torch.optim.Adam(maker.parameters(), rates[0], betas=(0.5, 0.9))
        discriminator_steps = torch.optim.Adam(discriminator.parameters(), rates[1], betas=(0.5, 0.9))
        real_label, false_label = torch.full((BATCH, 1), 1 - smooth), torch.zeros(BATCH, 1)
        for _ in range(steps):
            real = torch.randn(BATCH, 2) @ torch.tensor([[0.8, 0.3], [0.0, 0.3]]) + torch.tensor([1.0, -0.5])
            made = maker(torch.randn(BATCH, 4))
            discriminator_steps.zero_grad()
            loss(discriminator(torch.cat([real, made.detach()])), torch.cat([real_label, false_label])).backward()
            discriminator_steps.step()
            makes.zero_grad()
            loss(discriminator(made), torch.ones(BATCH, 1)).backward()
            makes.step()
            hook.save_scalar("distance", (made.mean(0) - real.mean(0)).norm().item())
        hook.close()

    return make_trial


# --- a contextual bandit ---------------------------------------------------------------------------------------------


def _worth_of_choices(scores, given):
    """Return the policy gradient loss with an entropy bonus."""
    log_chances = scores.log_softmax(1)
    chosen = log_chances.gather(1, given[:, :1].long())[:, 0]
    return -(chosen * given[:, 1]).mean() + 0.01 * (log_chances.exp() * log_chances).sum(1).mean()


def rewarded(seed: int, *, steps: int = 160, arms: int = 5, act=nn.ReLU, lr: float = 1e-2, usual: bool = True) -> Trial:
    """Return a function that trains a policy to show one of several articles to visitors, who click or not.

    Args:
        seed: Seed of data and weights.
        steps: Number of batches of visitors.
        arms: Number of articles.
        act: Activation of the policy.
        lr: Learning rate.
        usual: Whether the running mean of rewards is subtracted.
    """

    def make_trial(folder: str) -> None:
        torch.manual_seed(seed)
        tastes, policy, loss = torch.randn(8, arms), dense(8, 32, arms, act=act), criterion(_worth_of_choices)()
        hook = recording_hook(folder, policy, loss)
        hook.set_mode(smd.modes.TRAIN)
        optimizer, mean = torch.optim.Adam(policy.parameters(), lr), 0.0
        for _ in range(steps):
            visitors = torch.randn(BATCH, 8)
            scores = policy(visitors)
            summaries = torch.distributions.Categorical(logits=scores.detach()).sample()
            chance = (visitors @ tastes).gather(1, summaries[:, None])[:, 0].sigmoid()
            clicked = torch.bernoulli(chance)
            optimizer.zero_grad()
            loss(scores, torch.stack([summaries.float(), clicked - (mean if usual else 0)], 1)).backward()
            optimizer.step()
            mean = 0.9 * mean + 0.1 * clicked.mean().item()
            hook.save_scalar("clicks", clicked.mean().item())
        hook.close()

    return make_trial


# --- tasks with other training loops ---------------------------------------------------------------------------------


def averaged(task: str, seed: int, *, kept: float = 0.9) -> Trial:
    """Return a function that trains a task and discriminator_steps it with a moving average of the weights."""

    def make_trial(folder: str) -> None:
        job = make(task, seed)
        set_training(job)
        hook = recording_hook(folder, job.model, job.loss)
        hook.set_mode(smd.modes.TRAIN)
        optimizer, slow = torch.optim.Adam(job.model.parameters(), job.lr), copy.deepcopy(job.model.state_dict())
        for step in range(job.steps):
            rows = torch.randint(0, len(job.x), (job.batch,))
            optimizer.zero_grad()
            job.loss(job.model(job.x[rows]), job.y[rows]).backward()
            optimizer.step()
            with torch.no_grad():
                for name, value in job.model.state_dict().items():
                    slow[name] = slow[name] * kept + value * (1 - kept) if value.is_floating_point() else value.clone()
            if step % EVAL_EVERY == EVAL_EVERY - 1:
                fast = copy.deepcopy(job.model.state_dict())
                job.model.load_state_dict(slow)
                _evaluate(hook, job.model, job.loss, job.x_eval, job.y_eval)
                job.model.load_state_dict(fast)
        hook.close()

    return make_trial


def by_curvature(task: str, seed: int, *, steps: int = 15) -> Trial:
    """Return a function that trains a task by L-BFGS on all rows at once."""

    def make_trial(folder: str) -> None:
        job = make(task, seed)
        hook = recording_hook(folder, job.model, job.loss)
        hook.set_mode(smd.modes.TRAIN)
        optimizer = torch.optim.LBFGS(job.model.parameters(), 0.5, max_iter=5, line_search_fn="strong_wolfe")

        def again():
            optimizer.zero_grad()
            value = job.loss(job.model(job.x), job.y)
            value.backward()
            return value

        for step in range(steps):
            optimizer.step(again)
            if step % 5 == 4:
                _evaluate(hook, job.model, job.loss, job.x_eval, job.y_eval)
        hook.close()

    return make_trial


def accumulated(task: str, seed: int, *, parts: int = 4, steps: int = 80) -> Trial:
    """Return a function that trains a task with gradient accumulation, and marks the steps itself."""

    def make_trial(folder: str) -> None:
        job = make(task, seed)
        set_training(job)
        hook = recording_hook(folder, job.model, job.loss, explicit_steps=True)
        hook.set_mode(smd.modes.TRAIN)
        optimizer = torch.optim.Adam(job.model.parameters(), job.lr)
        for _ in range(steps):
            for _ in range(parts):
                rows = torch.randint(0, len(job.x), (12,))
                (job.loss(job.model(job.x[rows]), job.y[rows]) / parts).backward()
            optimizer.step()
            optimizer.zero_grad()
            hook.step()
        hook.close()

    return make_trial


def thawed(task: str, seed: int, *, at: int = 40, steps: int = 100) -> Trial:
    """Return a function that trains a new head, and unfreezes the other layers after some steps."""

    def make_trial(folder: str) -> None:
        job = make(task, seed)
        hook = recording_hook(folder, job.model, job.loss)
        hook.set_mode(smd.modes.TRAIN)
        body, head = job.model
        optimizer = torch.optim.Adam([{"params": head.parameters(), "lr": 1e-2}])
        for step in range(steps):
            if step == at:
                optimizer.add_param_group({"params": body.requires_grad_(True).parameters(), "lr": 1e-3})
            rows = torch.randint(0, len(job.x), (job.batch,))
            optimizer.zero_grad()
            job.loss(job.model(job.x[rows]), job.y[rows]).backward()
            optimizer.step()
            if step % EVAL_EVERY == EVAL_EVERY - 1:
                _evaluate(hook, job.model, job.loss, job.x_eval, job.y_eval)
        hook.close()

    return make_trial
