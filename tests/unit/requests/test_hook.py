"""The hook's member, and how collections are merged into it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext import rule_configs
from sagemaker_debug_ext.config import CollectionConfig, DebuggerHookConfig, Rule
from sagemaker_debug_ext.errors import RequestValidationError, SMDebugTypeError
from sagemaker_debug_ext.requests.hook import build_debug_hook_config, merge_collections, resolve_hook
from support.pipelines import Variable


def rule(*collections, name="R"):
    return Rule.sagemaker(rule_configs.vanishing_gradient(), name=name, collections_to_save=collections)


def merged(hook_collections, *rules):
    hook = DebuggerHookConfig(collection_configs=hook_collections)
    return [(config.name, dict(config.parameters)) for config in merge_collections(hook, rules)]


@pytest.mark.parametrize("setting", [None, True, {}])
def test_resolve_hook_of_nothing_said_is_the_default_hook(setting):
    """Who asks for Debugger and says no more gets the framework's default collections."""
    assert resolve_hook(setting) == DebuggerHookConfig()


def test_resolve_hook_of_false_is_none():
    """False means no hook."""
    assert resolve_hook(False) is None
    hook = DebuggerHookConfig("s3://b")
    assert resolve_hook(hook) is hook


@pytest.mark.parametrize("setting", [0, 1, "", "yes", {"S3OutputPath": "s3://b"}, []])
def test_resolve_hook_of_something_else_is_refused(setting):
    """Only the three states are meant."""
    with pytest.raises(SMDebugTypeError, match="True, False or None"):
        resolve_hook(setting)


def test_merge_takes_parameters_one_by_one_from_the_strongest_source():
    """Hook, then the user's collections on rules, then a rule's defaults."""
    assert merged(
        [CollectionConfig("gradients", {"start_step": 5})],
        rule(CollectionConfig("gradients", {"start_step": 1, "end_step": 9})),
        Rule.sagemaker(rule_configs.vanishing_gradient()),
    ) == [("gradients", {"start_step": "5", "end_step": "9", "save_interval": "500"})]


def test_merge_keeps_the_order_in_which_names_are_first_met():
    """First those of the hook, then those of the rules."""
    names = merged([CollectionConfig("b"), CollectionConfig("a")], rule(CollectionConfig("c"), CollectionConfig("a")))
    assert [name for name, _ in names] == ["b", "a", "c"]


def test_merge_of_two_equal_wishes_is_no_conflict():
    """Two rules may want the same."""
    wish = CollectionConfig("losses", {"save_interval": 50})
    assert merged([], rule(wish, name="A"), rule(wish, name="B")) == [("losses", {"save_interval": "50"})]


def test_merge_of_two_different_wishes_is_refused_unless_the_hook_decides():
    """The error names both rules, and all conflicts at once."""
    one = rule(CollectionConfig("losses", {"save_interval": 50, "start_step": 1}), name="A")
    other = rule(CollectionConfig("losses", {"save_interval": 60, "start_step": 2}), name="B")
    with pytest.raises(RequestValidationError) as caught:
        merged([], one, other)
    hint = "decide in the collection_configs of the hook"
    assert caught.value.problems == (
        f"['losses'].CollectionParameters.save_interval: rule 'A' asks for '50' and rule 'B' for '60'; {hint}",
        f"['losses'].CollectionParameters.start_step: rule 'A' asks for '1' and rule 'B' for '2'; {hint}",
    )
    decided = CollectionConfig("losses", {"save_interval": 5, "start_step": 0})
    assert merged([decided], one, other) == [("losses", {"save_interval": "5", "start_step": "0"})]


def test_merge_of_a_hook_that_contradicts_itself_is_refused():
    """One collection, given twice with different values."""
    with pytest.raises(RequestValidationError, match="the hook asks for '1' and the hook for '2'"):
        merged([CollectionConfig("a", {"save_interval": 1}), CollectionConfig("a", {"save_interval": 2})])


@pytest.mark.parametrize("order", [1, -1])
def test_merge_of_two_defaults_saves_often_enough_for_both_rules(order):
    """In either order of the rules."""
    rules = [
        Rule.sagemaker(rule_configs.create_xgboost_report()),
        Rule.sagemaker(rule_configs.feature_importance_overweight()),
    ][::order]
    assert dict(merged([], *rules))["feature_importance"] == {"save_interval": "5"}


@pytest.mark.parametrize("key", ["save_interval", "train.save_interval"])
def test_merge_of_a_default_leaves_to_the_hook_what_its_parameters_settle(key):
    """A collection's parameter would win in the container over what the user has set for the whole hook."""
    hook = DebuggerHookConfig(hook_parameters={key: 20}, collection_configs=[CollectionConfig("gradients")])
    rule = Rule.sagemaker(rule_configs.vanishing_gradient())
    assert merge_collections(hook, [rule]) == (CollectionConfig("gradients"),)
    hook = DebuggerHookConfig(hook_parameters={key: 20})
    (relu,) = merge_collections(hook, [Rule.sagemaker(rule_configs.dead_relu())])
    assert dict(relu.parameters) == {"include_regex": ".*relu_output"}


def test_merge_of_a_users_wish_wins_over_the_hooks_parameters():
    """What the user says of a collection is more special than what is said of all."""
    hook = DebuggerHookConfig(hook_parameters={"save_interval": 20})
    rule = Rule.sagemaker(
        rule_configs.vanishing_gradient(), collections_to_save=[CollectionConfig("gradients", {"save_interval": 5})]
    )
    assert merge_collections(hook, [rule]) == (CollectionConfig("gradients", {"save_interval": 5}),)


def test_merge_keeps_collections_whose_names_are_not_known_yet():
    """A pipeline variable equals only itself, and need not be hashable."""
    one, other = Variable(), Variable()
    configs = [CollectionConfig(one, {"save_interval": one}), CollectionConfig(other), CollectionConfig(one)]
    assert [name for name, _ in merged(configs)] == [one, other]


collections = st.builds(
    CollectionConfig,
    st.sampled_from(["losses", "weights", "gradients"]),
    st.dictionaries(st.sampled_from(["save_interval", "start_step", "eval.save_interval"]), st.integers(1, 3)),
)


@given(st.lists(collections, max_size=4), st.lists(st.lists(collections, min_size=1, max_size=3), max_size=3))
def test_merge_is_idempotent_and_names_each_collection_once(hook_collections, rule_collections):
    """Merging what was merged changes nothing; the hook's values are always kept."""
    hook = DebuggerHookConfig(collection_configs=hook_collections)
    rules = [rule(*wishes, name=f"R{index}") for index, wishes in enumerate(rule_collections)]
    try:
        once = merge_collections(hook, rules)
    except RequestValidationError:
        return
    assert merge_collections(DebuggerHookConfig(collection_configs=once), rules) == once
    assert len({config.name for config in once}) == len(once)
    by_name = {config.name: config.parameters for config in once}
    for config in hook_collections:
        assert config.parameters.items() <= by_name[config.name].items()


def test_build_of_a_default_hook_needs_only_a_path():
    """Unset members are left out."""
    assert build_debug_hook_config(DebuggerHookConfig(), output_path="s3://b/out") == {"S3OutputPath": "s3://b/out"}
    with pytest.raises(RequestValidationError, match="S3OutputPath: a location on S3 must be given"):
        build_debug_hook_config(DebuggerHookConfig())


def test_build_of_a_full_hook_has_all_members():
    """The hook's own path is stronger than the job's."""
    hook = DebuggerHookConfig("s3://own", "/local", {"save_all": True}, [CollectionConfig("weights")])
    assert build_debug_hook_config(hook, output_path="s3://b/out") == {
        "S3OutputPath": "s3://own",
        "LocalPath": "/local",
        "HookParameters": {"save_all": "True"},
        "CollectionConfigurations": [{"CollectionName": "weights"}],
    }
