"""The tasks on tables, and their losses."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from harness.jobs import Job
from harness.parts import Apply, dense
from suites.sound_jobs import tables
from suites.sound_jobs.parts import OwnLoss, Task, standard_inputs


def focal(scores, y):
    """Focal loss."""
    plain = functional.binary_cross_entropy_with_logits(scores, y, reduction="none")
    return ((1 - (-plain).exp()) ** 2 * plain * (0.75 * y + 0.25 * (1 - y))).mean() * 4


def pinball(levels, y, at=(0.1, 0.5, 0.9)):
    """Pinball loss of several quantiles."""
    error = y - levels
    return torch.maximum(error * torch.tensor(at), error * (torch.tensor(at) - 1)).mean()


def both(outputs, y):
    """Cross entropy of the class plus half the squared error of the number."""
    return functional.cross_entropy(outputs[:, :3], y[:, 0].long()) + 0.5 * functional.mse_loss(outputs[:, 3], y[:, 1])


def partial_likelihood(risk, y):
    """Negative log of Cox's partial likelihood within the batch."""
    order = y[:, 0].argsort(descending=True)
    risk, happened = risk[order, 0], y[order, 1]
    return -((risk - risk.logcumsumexp(0)) * happened).sum() / happened.sum().clamp(min=1)


def hazards(scores, y, ends=(0.2, 0.5, 1.0, 2.0)):
    """Binary cross entropy of the event in each interval that was reached."""
    ends = torch.tensor(ends)
    starts = torch.cat([torch.zeros(1), ends[:-1]])
    begun = (y[:, :1] > starts).float()
    happened = begun * (y[:, :1] <= ends) * y[:, 1:]
    plain = functional.binary_cross_entropy_with_logits(scores, happened, reduction="none")
    return (plain * begun).sum() / begun.sum()


def gamma_likelihood(log_mean, y):
    """Half the deviance of a gamma distribution."""
    return (y / log_mean.exp() + log_mean - y.log() - 1).mean()


def mixture_likelihood(outputs, y):
    """Negative log likelihood of a mixture of three normal distributions."""
    weight, mean, log_width = outputs.chunk(3, 1)
    bells = -((y - mean) ** 2) * (-2 * log_width).exp() / 2 - log_width
    return -(weight.log_softmax(1) + bells).logsumexp(1).mean()


def students_t(outputs, y):
    """Negative log likelihood of Student's t with three degrees of freedom."""
    return -torch.distributions.StudentT(3.0, outputs[:, :1], outputs[:, 1:].exp()).log_prob(y).mean()


def turned_away(outputs, y):
    """One minus the cosine of the angle between prediction and target."""
    return 1 - functional.cosine_similarity(outputs, y).mean()


def begin_at_mean(job: Job) -> None:
    """Set the bias of the last layer to the mean of the targets."""
    with torch.no_grad():
        job.model[-1].bias.copy_(job.y.mean(0))


def spread_of_targets(job: Job) -> None:
    """Standardise all targets by the mean and deviation of the training targets."""
    mean, deviation = job.y.mean(0), job.y.std(0)
    job.y, job.y_eval = (job.y - mean) / deviation, (job.y_eval - mean) / deviation


def weighted():
    return nn.BCEWithLogitsLoss(pos_weight=torch.tensor(0.85 / 0.15))


def sines():
    return nn.Sequential(tables.Sine(2, 32, 6.0), tables.Sine(32, 32, 1.0), nn.Linear(32, 1))


def highways():
    return nn.Sequential(nn.Linear(10, 24), *(tables.Highway(24) for _ in range(4)), nn.Linear(24, 1))


TABLE_TASKS = {
    "houses": Task(tables.houses, lambda: tables.residual(8, 1), nn.MSELoss, finish=standard_inputs),
    "leavers": Task(tables.leavers, tables.Coded, weighted, 1e-2),
    "cheats": Task(tables.cheats, lambda: dense(10, 24, 24, 1), lambda: OwnLoss(focal), 5e-3),
    "highways": Task(tables.cheats, highways, nn.BCEWithLogitsLoss, 5e-3),
    "coils": Task(tables.spirals, lambda: dense(2, 32, 32, 2, act=nn.Tanh), nn.CrossEntropyLoss, 1e-2, 160),
    "signs": Task(tables.signs, lambda: dense(6, 32, 32, 2, act=nn.SELU), nn.CrossEntropyLoss, 5e-3, 120),
    "grades": Task(tables.grades, tables.Ordered, nn.BCEWithLogitsLoss, 1e-2),
    "kelvins": Task(tables.kelvins, lambda: dense(6, 32, 32, 1), nn.MSELoss, 1e-2, 90, begin_at_mean),
    "celsius": Task(tables.kelvins, lambda: dense(6, 32, 32, 1, act=nn.ELU), nn.MSELoss, 5e-3, 90, spread_of_targets),
    "damages": Task(tables.claims, tables.Exposed, nn.PoissonNLLLoss, 1e-2),
    "rents": Task(tables.rents, lambda: dense(6, 32, 32, 3), lambda: OwnLoss(pinball), 1e-2),
    "rents, at the median": Task(tables.rents, lambda: dense(6, 32, 1, act=nn.SiLU), nn.L1Loss, 1e-2, 90),
    "rents, with rare surprises": Task(
        tables.rents, lambda: dense(6, 32, 32, 2), lambda: OwnLoss(students_t), 5e-3, 90
    ),
    "styles": Task(tables.genres, lambda: dense(12, 48, 24, 6, drop=0.1), nn.MultiLabelSoftMarginLoss, 1e-2, 120),
    "patients": Task(tables.patients, tables.TwoHeads, lambda: OwnLoss(both), 5e-3, 90),
    "lifetimes": Task(
        tables.lifetimes, lambda: dense(6, 24, 1, act=nn.Tanh), lambda: OwnLoss(partial_likelihood), 1e-2
    ),
    "hazards": Task(tables.lifetimes, lambda: dense(6, 24, 24, 4), lambda: OwnLoss(hazards), 1e-2),
    "queues": Task(tables.queues, lambda: dense(5, 24, 24, 1, act=nn.GELU), lambda: OwnLoss(gamma_likelihood)),
    "arms": Task(tables.arms, lambda: dense(1, 32, 32, 9, act=nn.Tanh), lambda: OwnLoss(mixture_likelihood), 1e-2, 140),
    "meetings": Task(tables.meetings, tables.Factors, nn.BCEWithLogitsLoss, 3e-2, 140),
    "meetings, wide and deep": Task(tables.meetings, tables.WideAndDeep, nn.BCEWithLogitsLoss, 1e-2, 140),
    "regimes": Task(tables.regimes, tables.Experts, nn.MSELoss, 2e-2, 120),
    "bearings": Task(
        tables.bearings,
        lambda: nn.Sequential(dense(6, 24, 2), Apply(lambda x: functional.normalize(x, dim=1))),
        lambda: OwnLoss(turned_away),
    ),
    "paintings": Task(tables.paintings, sines, nn.MSELoss, 5e-3, 120),
}
