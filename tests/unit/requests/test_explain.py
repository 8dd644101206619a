"""What rules will see, said before a job is submitted."""

from __future__ import annotations

import json

import pytest

from sagemaker_debug_ext import SelfManaged, StopTraining, rule_configs
from sagemaker_debug_ext.catalog import list_rule_specs
from sagemaker_debug_ext.catalog.collection_needs import get_rule_feed
from sagemaker_debug_ext.config import CollectionConfig, DebuggerHookConfig, ProfilerRule, Rule
from sagemaker_debug_ext.requests.explain import explain
from support.pipelines import Variable


def one(config, framework="pytorch", hook=None, **arguments):
    """Explain a single rule."""
    explanation = explain(hook, [Rule.sagemaker(config, **arguments)], framework)
    return explanation.rules[0]


def collection(name="mine", **parameters):
    return CollectionConfig(name, parameters)


@pytest.mark.parametrize(
    ("options", "notes"),
    [
        (SelfManaged(), ["rules run in the training container", "needs sagemaker:StopTrainingJob for the job's role"]),
        (SelfManaged(place="processing", rule_image_uri="my/rules:1"), ["a processing job", "for its role"]),
        (SelfManaged(stop="cooperative", poll_seconds=10), ["360 times an hour", "with stop='cooperative', no right"]),
        (None, []),
    ],
)
def test_notes_when_the_job_is_self_managed_then_say_where_rules_run_and_what_stopping_needs(options, notes):
    """A job of the service has no such notes."""
    rules = [Rule.sagemaker(rule_configs.vanishing_gradient(), actions=StopTraining())]
    text = "\n".join(explain(rules=rules, framework="pytorch", self_managed=options).notes)
    assert len(text.splitlines()) == len(notes)
    assert all(note in text for note in notes)


def test_every_rule_on_tensors_has_a_feed_with_known_parameters():
    """The table and the catalog belong together."""
    for spec in list_rule_specs("debugger"):
        feed = get_rule_feed(spec.name)
        if feed is None:
            continue  # a rule of another package
        names = (*feed.collection_parameters, *feed.pattern_parameters, *feed.switched, *feed.needs_one_of)
        for name in names:
            spec.parameter(name)
    built_in = {spec.name for spec in list_rule_specs("debugger") if spec.function}
    assert {name for name in built_in if get_rule_feed(name) is None} == set()


@pytest.mark.parametrize(
    "function",
    [
        "vanishing_gradient",
        "weight_update_ratio",
        "loss_not_decreasing",
        "overfit",
        "exploding_tensor",
        "dead_relu",
        "stalled_training_rule",
        "overtraining",
        "poor_weight_initialization",
    ],
)
def test_rules_that_work_as_they_are_have_no_problem(function):
    """Their collections are saved with them, or by default."""
    assert one(getattr(rule_configs, function)()).problems == ()


@pytest.mark.parametrize(
    ("function", "framework", "remedy"),
    [
        ("saturated_activation", "pytorch", "include_regex '.*tanh_input|.*sigmoid_input'"),
        ("class_imbalance", "pytorch", "include_regex '.*labels'"),
        ("confusion", "xgboost", "add CollectionConfig('labels')"),
        ("confusion", "pytorch", "hooks of pytorch have no collection 'labels'"),
        ("tree_depth", "xgboost", "add CollectionConfig('trees')"),
        ("tree_depth", "pytorch", "it watches jobs of xgboost, not of pytorch"),
        ("vanishing_gradient", "xgboost", "not of xgboost"),
        ("all_zero", "pytorch", "set collection_names or tensor_regex"),
        ("unchanged_tensor", "pytorch", "set collection_names or tensor_regex"),
        ("tensor_variance", "pytorch", "set max_threshold or min_threshold"),
        ("similar_across_runs", "pytorch", "give other_trials_s3_input_paths"),
        ("check_input_images", "pytorch", "its default regex names tensors of mxnet"),
        ("nlp_sequence_ratio", "tensorflow", "its default tensor_regex names tensors of mxnet"),
    ],
)
def test_default_configurations_that_cannot_work_say_why_and_what_helps(function, framework, remedy):
    """Each with its remedy."""
    rule = one(getattr(rule_configs, function)(), framework)
    assert not rule.can_evaluate
    assert any(remedy in problem for problem in rule.problems)


@pytest.mark.parametrize(
    ("function", "framework", "arguments"),
    [
        (
            "saturated_activation",
            "pytorch",
            {"collections_to_save": [collection(include_regex=".*tanh_input|.*sigmoid_input")]},
        ),
        (
            "class_imbalance",
            "pytorch",
            {
                "collections_to_save": [
                    collection(include_regex=".*labels"),
                    collection("b", include_regex=".*predictions"),
                ]
            },
        ),
        ("class_imbalance", "xgboost", {"collections_to_save": [collection("labels"), collection("predictions")]}),
        ("confusion", "xgboost", {"collections_to_save": [collection("labels"), collection("predictions")]}),
        ("tree_depth", "xgboost", {"collections_to_save": [collection("trees")]}),
        (
            "all_zero",
            "pytorch",
            {"rule_parameters": {"collection_names": "weights"}, "collections_to_save": [collection("weights")]},
        ),
        (
            "tensor_variance",
            "pytorch",
            {
                "rule_parameters": {"tensor_regex": ".*weight", "max_threshold": 1},
                "collections_to_save": [collection("weights")],
            },
        ),
        ("similar_across_runs", "pytorch", {"other_trials_s3_input_paths": ["s3://b/t"]}),
        ("check_input_images", "mxnet", {}),
        (
            "check_input_images",
            "pytorch",
            {
                "rule_parameters": {"regex": ".*conv1_input_0"},
                "collections_to_save": [collection(include_regex=".*conv1_input_0")],
            },
        ),
        ("feature_importance_overweight", "xgboost", {}),
        ("create_xgboost_report", "xgboost", {}),
    ],
)
def test_remedies_help(function, framework, arguments):
    """What the problems advise makes them go away."""
    assert one(getattr(rule_configs, function)(), framework, **arguments).problems == ()


def test_feeds_say_how_often_and_how_surely():
    """Of each collection that the rule looks at."""
    hook = DebuggerHookConfig(
        hook_parameters={"save_interval": 20},
        collection_configs=[collection("losses", **{"eval.save_interval": 1}), collection(include_regex="x")],
    )
    rule = one(rule_configs.loss_not_decreasing(), hook=hook, rule_parameters={"tensor_regex": "accuracy"})
    assert [(feed.collection, feed.saved, feed.is_certain) for feed in rule.feeds] == [
        ("losses", "every 20 steps, eval.save_interval 1", True),
        ("mine", "every 20 steps", False),
    ]


def test_xgboost_saves_more_often_by_default():
    """Every 10 steps, not every 500."""
    assert [feed.saved for feed in one(rule_configs.overfit(), "xgboost", True).feeds] == []
    explanation = explain(framework="xgboost")
    assert [(feed.collection, feed.saved) for feed in explanation.saved] == [("metrics", "every 10 steps")]


def test_reductions_in_place_of_tensors_starve_a_rule_unless_they_serve_it():
    """Losses are never reduced."""

    def rule(reductions, **more):
        return one(
            rule_configs.vanishing_gradient(),
            hook=DebuggerHookConfig(collection_configs=[collection("gradients", reductions=reductions, **more)]),
        )

    assert any("only reductions are saved" in problem for problem in rule("min,max").problems)
    assert rule("min,abs_mean").problems == ()
    assert rule("min", save_raw_tensor=True).problems == ()
    losses = DebuggerHookConfig(hook_parameters={"reductions": "min"})
    assert one(rule_configs.loss_not_decreasing(), hook=losses).problems == ()


def test_everything_that_is_saved_feeds_rules_that_choose_nothing():
    """And collection `all` feeds every rule."""
    hook = DebuggerHookConfig(collection_configs=[collection("all")])
    assert {feed.collection for feed in one(rule_configs.exploding_tensor(), hook=hook).feeds} == {"all", "losses"}
    assert one(rule_configs.weight_update_ratio(), hook=hook, collections_to_save=[collection("all")]).problems == ()
    saving_all = DebuggerHookConfig(hook_parameters={"save_all": True})
    assert one(rule_configs.saturated_activation(), hook=saving_all).problems == ()


def test_rules_without_a_hook_never_judge():
    """There is nothing to look at."""
    assert "the job has no hook" in one(rule_configs.overfit(), hook=False).problems[0]


def test_custom_rules_and_pipeline_variables_are_left_to_those_who_know():
    """What they look at is not known here."""
    custom = Rule.custom("Mine", None, "ml.t3.medium", 1, collections_to_save=[collection("weights")])
    rule = explain(rules=[custom]).rules[0]
    assert rule.can_evaluate
    assert [feed.collection for feed in rule.feeds] == ["weights"]
    variable = one(rule_configs.all_zero(), rule_parameters={"tensor_regex": Variable()})
    assert variable.can_evaluate
    assert not variable.feeds[0].is_certain


def test_notes_tell_of_traps_in_the_configuration():
    """Intervals of `all`, collections that select nothing."""
    hook = DebuggerHookConfig(collection_configs=[collection("all", save_interval=5), collection("empty")])
    notes = explain(hook).notes
    assert any("use hook_parameters" in note for note in notes)
    assert any("'empty' selects no tensor: give it an include_regex or tensor names, unless" in note for note in notes)


@pytest.mark.parametrize(
    ("framework", "version", "works"),
    [("pytorch", "2.0.1", False), ("pytorch", "1.13", True), ("tensorflow", "2.11", False), (None, None, True)],
)
def test_profiler_rules_on_framework_metrics_need_old_containers(framework, version, works):
    """The service collects none for others."""
    rules = [ProfilerRule.sagemaker(rule_configs.StepOutlier()), ProfilerRule.sagemaker(rule_configs.BatchSize())]
    outlier, batch = explain(rules=rules, framework=framework, framework_version=version).rules
    assert outlier.can_evaluate is works
    assert batch.can_evaluate


def test_explanations_are_text_and_json():
    """The same content in both."""
    rules = [Rule.sagemaker(rule_configs.vanishing_gradient()), Rule.sagemaker(rule_configs.all_zero())]
    explanation = explain(rules=rules, framework="PyTorch")
    assert str(explanation).splitlines() == [
        "saved: gradients (every 500 steps), losses (every 500 steps)",
        "VanishingGradient: can evaluate",
        "  sees gradients: every 500 steps",
        "AllZero: will never evaluate",
        "  problem: it does not know which tensors to inspect; set collection_names or tensor_regex",
    ]
    assert json.loads(explanation.to_json())["rules"][1]["problems"] == list(explanation.rules[1].problems)
    assert not explanation.can_all_evaluate
