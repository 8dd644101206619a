"""Sound scripts whose passes, gradients and losses look unusual are accused of nothing by what `run` sees of them."""

from __future__ import annotations

import json

import pytest

from sagemaker_debug_ext.rules import evaluate
from sagemaker_debug_ext.rules.causes import likely_causes
from sagemaker_debug_ext.rules.recommended import recommended_rules
from sagemaker_debug_ext.trials import create_trial

START = """
import gc
import torch
from torch import nn
from torch.nn import functional
torch.manual_seed(0)
x = torch.randn(640, 6)
y = (x[:, 0] * x[:, 1] > 0).long()
def net(units, *last):
    return nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, units), *last)
model = net(2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
batches = [batch for _ in range(3) for batch in torch.randperm(640).split(32)]
"""

NEW_LOSSES = """
for batch in batches:
    optimizer.zero_grad()
    nn.CrossEntropyLoss()(model(x[batch]), y[batch]).backward()
    optimizer.step()
assert sum(type(thing) is nn.CrossEntropyLoss for thing in gc.get_objects()) < 20
"""

NEW_LAYERS = """
class Fixed(nn.Linear):
    def __init__(self):
        super().__init__(8, 3)
        nn.init.eye_(self.weight)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 8), nn.Linear(6, 3)
    def forward(self, x):
        return {answer}

model, last = Net(), nn.Linear(8, 3)
optimizer = torch.optim.Adam([*model.parameters(), *last.parameters()], lr=1e-2)
for number, batch in enumerate(batches):
    optimizer.zero_grad()
    functional.cross_entropy(model(x[batch]), y[batch]).backward()
    optimizer.step()
"""

TASKS = """
import copy
for batch in batches:
    learner = copy.deepcopy(model)
    functional.cross_entropy(learner(x[batch]), y[batch]).backward()
    with torch.no_grad():
        for mine, its in zip(model.parameters(), learner.parameters()):
            mine -= 0.1 * its.grad
"""

OWN_LABELS = """
for batch, other in zip(batches, reversed(batches)):
    with torch.no_grad():
        labels = model(x[other]).argmax(1)
    optimizer.zero_grad()
    loss = functional.cross_entropy(model(x[batch]), y[batch])
    (loss + 0.1 * functional.cross_entropy(model(x[other]), labels)).backward()
    optimizer.step()
"""

VALUES_OF_NEXT_STATES = """
model = net(1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for batch, other in zip(batches, reversed(batches)):
    values, following = model(x[batch])[:, 0], model(x[other])[:, 0].detach()
    optimizer.zero_grad()
    functional.mse_loss(values, x[batch].sum(1) + 0.1 * following).backward()
    optimizer.step()
"""

RISKS = """
model = net(1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
times = torch.exp(-x[:, 0])
for batch in batches:
    risk, at_risk = model(x[batch]).reshape(-1), times[batch] >= times[batch][:, None]
    optimizer.zero_grad()
    (-(risk - torch.log((torch.exp(risk) * at_risk).sum(1))).mean()).backward()
    optimizer.step()
"""

RESETS_OF_DATA = """
for batch in batches:
    functional.cross_entropy(model(x[batch]), y[batch]).backward()
    optimizer.step()
    for parameter in model.parameters():
        parameter.grad.data.zero_()
"""

TWO_OPTIMIZERS = """
class Head(nn.Sequential):
    pass
head = Head(nn.Linear(2, 1))
second = torch.optim.Adam(head.parameters(), lr=1e-3)
for batch in batches:
    optimizer.zero_grad()
    {reset}
    functional.binary_cross_entropy_with_logits(head(model(x[batch]))[:, 0], y[batch].float()).backward()
    optimizer.step()
    second.step()
"""


SERIES = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(2, 8, batch_first={batch_first}), nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.lstm(x.reshape(-1, 3, 2))[0][:, -1])

model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for batch in batches:
    optimizer.zero_grad()
    functional.cross_entropy(model(x[batch]), y[batch]).backward()
    optimizer.step()
"""

WORDS = """
words = torch.randint(0, 9, (640, 13))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.layer = nn.Embedding(9, 8), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.head = nn.Linear(8, 9)

    def forward(self, words):
        return self.head(self.layer(self.embed(words), src_mask={mask}))

model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for batch in batches:
    optimizer.zero_grad()
    scores = model(words[batch, :-1])
    functional.cross_entropy(scores.flatten(0, 1), words[batch, 1:].flatten()).backward()
    optimizer.step()
"""

ONE_CYCLE = """
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=len(batches))
for number, batch in enumerate(batches):
    optimizer.zero_grad()
    functional.cross_entropy(model(x[batch]), y[batch]).backward()
    optimizer.step()
    if number % {interval} == 0:
        schedule.step()
"""


@pytest.mark.parametrize(
    ("script", "causes"),
    [
        pytest.param(NEW_LOSSES, [], id="a loss made anew for each step"),
        pytest.param(
            NEW_LAYERS.format(answer="nn.Linear(8, 3)(self.first(x))"), ["parameters not trained"], id="a new layer"
        ),
        pytest.param(
            NEW_LAYERS.format(answer="last(self.first(x)) if number > 4 else self.last(x)"), [], id="a hidden layer"
        ),
        pytest.param(NEW_LAYERS.format(answer="self.last(x) + Fixed()(self.first(x))"), [], id="a fixed filter"),
        pytest.param(
            NEW_LAYERS.format(answer="self.last(nn.Linear(6, 6)(x)) + self.first(x)[:, :3]"), [], id="random inputs"
        ),
        pytest.param(TASKS, [], id="a copy for each task"),
        pytest.param(OWN_LABELS, [], id="labels that the model makes for itself"),
        pytest.param(VALUES_OF_NEXT_STATES, [], id="values of next states"),
        pytest.param(RISKS, [], id="risks of pairs"),
        pytest.param(RESETS_OF_DATA, [], id="gradients reset through their data"),
        pytest.param(TWO_OPTIMIZERS.format(reset="second.zero_grad()"), [], id="two optimizers of a class"),
        pytest.param(TWO_OPTIMIZERS.format(reset=""), ["gradients not reset"], id="one of them without resets"),
        pytest.param(SERIES.format(batch_first=True), [], id="a series"),
        pytest.param(SERIES.format(batch_first=False), ["axes"], id="a series along the batch"),
        pytest.param(WORDS.format(mask="nn.Transformer.generate_square_subsequent_mask(12)"), [], id="words"),
        pytest.param(WORDS.format(mask="None"), ["leaking feature"], id="words that are seen"),
        pytest.param(ONE_CYCLE.format(interval=1), [], id="a schedule"),
        pytest.param(ONE_CYCLE.format(interval=20), ["learning rate too low"], id="a schedule by epoch"),
    ],
)
def test_run_when_a_script_is_unusual_then_only_faults_are_named(script, causes, tmp_path, monkeypatch, forks):
    """Rules about modes, resets, losses, overlap, axes, words and schedules read what `run` notes at every step."""
    (tmp_path / "train.py").write_text(START + script)
    settings = {"LocalPath": str(tmp_path / "out"), "HookParameters": {"save_interval": "1", "save_all": "true"}}
    (tmp_path / "hook.json").write_text(json.dumps(settings))
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    done = forks.run_captured(tmp_path / "train.py")
    assert done.returncode == 0, done.stderr
    trial = create_trial(str(tmp_path / "out"))
    names = (
        "AxisMixup", "EvaluationOverlap", "FrozenParameters", "GradientsNotReset", "LearningRateSchedule",
        "LossInputMismatch", "TokenShift", "TrainEvalMixup",
    )  # fmt: skip
    rules = recommended_rules(trial)
    issues = evaluate({name: rules[name] for name in names}, trial).run()
    assert [cause.name for cause in likely_causes(issues)] == causes, issues
    assert len(trial.tensor_names(collection="losses")) > 0
