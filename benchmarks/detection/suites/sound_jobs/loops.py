"""Runs with their own training loop: a contextual bandit, and temporal differences."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

import sagemaker_debug_ext.pytorch as smd
from harness.jobs import recording_hook
from harness.parts import dense
from suites.sound_jobs.parts import OwnLoss

EVAL_EVERY, BATCH = 20, 48


def chosen(scores: torch.Tensor, choices: torch.Tensor) -> torch.Tensor:
    """Policy gradient loss with an entropy bonus."""
    chances = scores.log_softmax(1)
    of_choice = chances.gather(1, choices[:, :1].long())[:, 0]
    return -(of_choice * choices[:, 1]).mean() + 0.01 * (chances.exp() * chances).sum(1).mean()


def rewarded(seed: int, steps: int = 140, lr: float = 1e-2) -> Callable[[str], None]:
    """Return a function that trains a policy to choose one of four arms in a contextual bandit."""

    def make_trial(folder: str) -> None:
        torch.manual_seed(seed)
        worth, policy, loss = torch.randn(6, 4), dense(6, 24, 4, act=nn.Tanh), OwnLoss(chosen)
        hook = recording_hook(folder, policy, loss)
        optimizer, usual, history = torch.optim.Adam(policy.parameters(), lr), 0.0, []
        for step in range(steps):
            seen = torch.randn(BATCH, 6)
            right = (seen @ worth).argmax(1)
            training = step % EVAL_EVERY != EVAL_EVERY - 1
            hook.set_mode(smd.modes.TRAIN if training else smd.modes.EVAL)
            policy.train(training)
            with torch.set_grad_enabled(training):
                scores = policy(seen)
                arms = torch.distributions.Categorical(logits=scores.detach()).sample()
                rewards = (arms == right).float()
                value = loss(scores, torch.stack([arms.float(), rewards - usual], 1))
            hook.save_scalar("reward", rewards.mean().item())
            history.append(rewards.mean().item())
            if training:
                usual = 0.9 * usual + 0.1 * rewards.mean().item()
                optimizer.zero_grad()
                value.backward()
                optimizer.step()
        hook.close()
        make_trial.history = history

    return make_trial


def bootstrapped(seed: int, steps: int = 120, lr: float = 5e-3) -> Callable[[str], None]:
    """Return a function that learns state values of a walk along a line by temporal differences.

    A target network, which follows slowly, gives the value of the next state.
    """

    def make_trial(folder: str) -> None:
        torch.manual_seed(seed)
        values, slow, loss = dense(9, 24, 1), dense(9, 24, 1), nn.SmoothL1Loss()
        slow.load_state_dict(values.state_dict())
        hook = recording_hook(folder, values, loss)
        hook.set_mode(smd.modes.TRAIN)
        optimizer = torch.optim.Adam(values.parameters(), lr)
        for _ in range(steps):
            place = torch.randint(0, 9, (BATCH,))
            after = place + torch.where(torch.rand(BATCH) < 0.7, 1, -1)
            ended = (after < 0) | (after > 8)
            with torch.no_grad():
                later = slow(functional.one_hot(after.clamp(0, 8), 9).float())[:, 0]
            goal = torch.where(ended, (after > 8).float(), 0.95 * later)
            optimizer.zero_grad()
            loss(values(functional.one_hot(place, 9).float())[:, 0], goal).backward()
            optimizer.step()
            with torch.no_grad():
                for kept, new in zip(slow.parameters(), values.parameters(), strict=True):
                    kept.lerp_(new, 0.1)
        hook.close()
        make_trial.values = values(torch.eye(9)).detach().flatten()

    return make_trial
