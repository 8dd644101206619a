"""Following a job while it runs and replaying its trial afterwards find the same."""

from __future__ import annotations

import math
import tempfile
from typing import NamedTuple

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

RULES = {
    "vanishing": ("VanishingGradient", {"threshold": 0.5}),
    "exploding": ("ExplodingTensor", {}),
    "dead": ("DeadRelu", {"tensor_regex": "relu"}),
    "loss": ("LossNotDecreasing", {"num_steps": 2}),
    "loss in any mode": ("LossNotDecreasing", {"num_steps": 3, "mode": "GLOBAL", "tensor_regex": "acc"}),
    "overfit": ("Overfit", {"patience": 2}),
    "overtraining": ("Overtraining", {"patience_train": 1, "patience_validation": 1}),
    "update": ("WeightUpdateRatio", {}),
    "update far": ("WeightUpdateRatio", {"num_steps": 4, "large_threshold": 1}),
    "initialization": (
        "PoorWeightInitialization",
        {"steps": 4, "patience": 2, "activation_inputs_regex": "gradient|relu"},
    ),
    "zero": ("AllZero", {"tensor_regex": ".*", "threshold": 50}),
    "variance": ("TensorVariance", {"tensor_regex": ".*", "max_threshold": 0.5}),
    "unchanged": ("UnchangedTensor", {"tensor_regex": ".*", "num_steps": 2}),
    "images": ("CheckInputImages", {"regex": "relu", "threshold_samples": 5}),
    "tokens": ("NLPSequenceRatio", {"tensor_regex": "relu"}),
    "classes": ("ClassImbalance", {"samples": 6, "labels_regex": "relu", "predictions_regex": "relu"}),
    "features": ("FeatureImportanceOverweight", {"tensor_regex": "loss", "nfeatures": 1, "threshold": 0.6}),
    "depth": ("TreeDepth", {"depth": 1}),
    "origin": ("NonFiniteOrigin", {}),
    "plateau": ("LossPlateau", {"window": 1, "patience": 3}),
    "spike": ("LossSpike", {"window": 2, "factor": 1.5}),
    "too high": ("LearningRateTooHigh", {"window": 1}),
    "too low": ("LearningRateTooLow", {"window": 1, "threshold": 0.5}),
    "frozen": ("FrozenParameters", {"patience": 1}),
    "outlier": ("GradientOutlier", {"window": 2, "factor": 1.5}),
    "not reset": ("GradientsNotReset", {"patience": 1}),
    "gap": ("GeneralizationGap", {"patience": 1, "ratio_threshold": 0}),
    "batches": ("DuplicateBatches", {"tensor_regex": "relu", "window": 2, "max_share_percent": 50}),
    "scale": ("InputScale", {"tensor_regex": "weight", "max_scale": 1, "patience": 1}),
    "collapse": ("ActivationCollapse", {"tensor_regex": "relu", "patience": 1, "threshold": 9}),
    "scale, unless learnt": (
        "InputScale",
        {"tensor_regex": "weight", "max_scale": 1, "patience": 1, "unless_learnt": 50},
    ),
    "spike, unless learnt": ("LossSpike", {"window": 2, "factor": 1.5, "unless_learnt": 50}),
}

NUMBERS = st.sampled_from([0.0, 0.25, 1.0, 1.02, 3.0, math.nan, math.inf])
TARGETS = np.linspace(-1, 1, 256)
ANSWERS = [
    {
        "MSELoss_input_0": share * TARGETS,
        "MSELoss_input_1": TARGETS,
        "MSELoss_output_0": np.mean((1 - share) * TARGETS**2),
    }
    for share in (0.0, 0.9)
]
"""What a model answers that has learnt nothing, and one that has learnt nearly everything."""
TENSORS = st.builds(
    dict.__or__,
    st.sampled_from([{}, *ANSWERS]),
    st.fixed_dictionaries(
        {},
        optional={
            "loss": NUMBERS,
            "val_loss": NUMBERS,
            "acc": NUMBERS,
            "net_weight": st.lists(NUMBERS, min_size=2, max_size=2).map(np.array),
            "trees/Node": st.integers(1, 9).map(np.arange),
            "gradient/w": st.lists(NUMBERS, max_size=3).map(np.array),
            "relu_output": st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=4).map(lambda x: np.array([x]).T),
        },
    ),
)


class SavedStep(NamedTuple):
    """What a job saves at one step, and whether the follower looks before the next one."""

    mode: ModeKeys
    gap: int
    tensors: dict
    is_looked_at: bool


STEPS = st.lists(
    st.builds(
        SavedStep,
        st.sampled_from([ModeKeys.TRAIN, ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.GLOBAL]),
        st.integers(1, 3),
        TENSORS,
        st.booleans(),
    ),
    max_size=14,
)

EVENTFUL = [
    SavedStep(
        ModeKeys.EVAL if number % 4 == 3 else ModeKeys.TRAIN,
        1 + number % 2,
        {
            "loss": [3.0, 1.0, 1.0, 1.02, 3.0, math.nan][number % 6],
            "val_loss": 0.25 * number,
            "acc": 1.0,
            "net_weight": np.array([0.0, 1.0 if number < 9 else math.inf]),
            "trees/Node": np.arange(1 + number % 9),
            "gradient/w": np.array([0.0, 0.25, 3.0][: 1 + number % 3]),
            "relu_output": np.array([[0.0], [number % 2 * 1.0], [0.0]]),
            **ANSWERS[number // 7],
        },
        number % 5 == 2,
    )
    for number in range(14)
]
"""Steps with all tensors, on which many of the rules fire, seen in three parts."""


class Job:
    """Saves its steps whenever the follower of its trial sleeps."""

    def __init__(self, path, steps):
        self.writer = SmallTrial(path)
        self.left = list(steps)
        self.global_step = -1
        self.mode_steps = dict.fromkeys(ModeKeys, -1)

    def go_on(self, _):
        """Save up to the next step that is looked at; with nothing left, end."""
        while self.left:
            step = self.left.pop(0)
            self.save(step)
            if step.is_looked_at:
                return
        self.writer.end()

    def save(self, step):
        self.global_step += step.gap
        self.mode_steps[step.mode] += step.gap
        mode_step = self.global_step if step.mode is ModeKeys.GLOBAL else self.mode_steps[step.mode]
        self.writer.write(step.mode, mode_step, step.tensors, global_step=self.global_step)


def rules_over(trial):
    return {key: create_rule(name, trial, parameters) for key, (name, parameters) in RULES.items()}


def in_order(evaluation):
    """Return issues by rule and step."""
    found = sorted(evaluation, key=lambda issue: (list(RULES).index(issue.rule), issue.step))
    return [issue.to_json() for issue in found]


@settings(max_examples=30)
@example(EVENTFUL)
@given(STEPS)
def test_live_and_replay_give_the_same_issues_and_statuses(steps):
    """For all rules together, whenever the follower happens to look.

    Only what depends on the end of the job may come later: when the follower knows of the end.
    """
    with tempfile.TemporaryDirectory() as folder:
        job = Job(folder, steps)
        trial = create_trial(folder)
        live = evaluate(rules_over(trial), trial, clock=lambda: 0.0, sleep=job.go_on)
        live_issues = in_order(live)
        ended = create_trial(folder)
        replay = evaluate(rules_over(ended), ended, clock=lambda: 0.0)
        assert in_order(replay) == live_issues
        assert replay.statuses == live.statuses
        assert {status.status for status in live.statuses} <= {"NoIssuesFound", "IssuesFound"}


@settings(max_examples=10)
@example(EVENTFUL)
@given(STEPS)
def test_rules_together_find_what_each_finds_alone(steps):
    """Sharing what is read changes nothing."""
    with tempfile.TemporaryDirectory() as folder:
        job = Job(folder, steps)
        while job.left:
            job.go_on(0)
        job.writer.end()
        trial = create_trial(folder)
        together = evaluate(rules_over(trial), trial).run()
        for key in RULES:
            alone = evaluate({key: rules_over(trial)[key]}, trial).run()
            assert [issue.to_json() for issue in together if issue.rule == key] == [
                lone_issue.to_json() for lone_issue in alone
            ]
