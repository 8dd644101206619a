from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.config.reductions import Reduction, ReductionConfig
from sagemaker_debug_ext.config.saving import SaveConfig, SaveConfigMode
from sagemaker_debug_ext.hooks.capture.save_plan import RAW, SaveDecision, SavePlan, resolve_settings, selects_nothing
from sagemaker_debug_ext.vocabulary import ModeKeys

EVERY_STEP = SaveConfig(save_interval=1)
TRAIN, EVAL = ModeKeys.TRAIN, ModeKeys.EVAL


def collection(name, regex=(), names=(), save=EVERY_STEP, **reductions):
    made = Collection(name, list(regex), list(names), ReductionConfig(**reductions) if reductions else None, save)
    resolve_settings(made, EVERY_STEP, None)
    return made


def plan(*collections, saved=None):
    names = {item.name for item in collections} if saved is None else saved
    return SavePlan(list(collections), frozenset(names))


class TestDecide:
    def test_decide_when_two_collections_are_due_then_adds_them_up(self):
        """What any due collection asks for is saved, each reduction once."""
        both = plan(
            collection("a", ["w"], reductions=["mean", "min"]),
            collection("b", ["w"], reductions=["mean"], norms=["l2"], save_shape=True),
        )
        assert both.at(TRAIN, 0).decide("w0") == SaveDecision(
            ("a", "b"), False, True, (Reduction("mean"), Reduction("min"), Reduction("l2"))
        )

    def test_decide_when_one_of_two_collections_is_due_then_takes_its_settings(self):
        """A collection that is not due at a step has no say in it."""
        often = collection("often", ["w"], reductions=["mean"])
        rarely = collection("rarely", ["w"], save=SaveConfig(save_interval=10))
        both = plan(often, rarely)
        assert both.at(TRAIN, 5).decide("w") == SaveDecision(("often",), False, False, (Reduction("mean"),))
        assert both.at(TRAIN, 10).decide("w").value

    def test_decide_when_collection_is_not_saved_then_it_has_no_say(self):
        """Belonging to a collection that nobody asked for saves nothing."""
        assert not plan(collection("a", ["w"]), saved=set()).at(TRAIN, 0)
        assert plan(collection("a", ["w"]), saved=set()).at(TRAIN, 0).decide("w") is None

    def test_decide_when_collection_asks_for_nothing_then_is_none(self):
        """A reduction setting without reduction, value and shape saves nothing."""
        assert plan(collection("a", ["w"], save_raw_tensor=False)).at(TRAIN, 0).decide("w") is None

    def test_decide_when_name_is_listed_then_is_a_member(self):
        """Members are those listed and those matched."""
        listed = plan(collection("a", names=["x"])).at(TRAIN, 0)
        assert listed.decide("x") == SaveDecision(("a",), True, False, ())
        assert listed.decide("y") is None

    def test_decide_custom_when_collection_is_not_saved_then_saves_all_the_same(self):
        """A script that puts a tensor into a collection wants it saved."""
        custom = plan(collection("mine"), collection("other", ["x"]), saved={"other"}).at(TRAIN, 0)
        assert custom.decide_custom("x", ["mine"]).collections == ("mine", "other")
        assert custom.decide_custom("y", ["mine"]).collections == ("mine",)

    def test_decide_custom_when_collection_is_not_due_then_is_none(self):
        """A script's own tensor waits for a step at which its collection is due."""
        rarely = plan(collection("mine", save=SaveConfig(save_interval=10)))
        assert rarely.at(TRAIN, 5).decide_custom("x", ["mine"]) is None

    def test_selects_when_asked_then_agrees_with_decide(self):
        """Asking whether a tensor could be saved gives the decision's answer."""
        step = plan(collection("a", ["^w"])).at(TRAIN, 0)
        assert [step.selects(name) for name in ("w", "v")] == [True, False]

    @pytest.mark.parametrize(
        ("pattern", "is_selected"),
        [
            ("relu_output", True),
            ("relu_input_0$", True),
            ("relu_output_23", True),
            ("relu_output_999", True),
            ("relu_weight", False),
            ("tanh_output", False),
        ],
    )
    def test_may_select_of_when_pattern_is_given_then_tells_whether_an_input_or_output_may_match(
        self, pattern, is_selected
    ):
        """How many inputs and outputs a module has is not known: indices that a pattern spells are tried, too."""
        assert plan(collection("a", [pattern])).at(TRAIN, 0).may_select_of("relu") is is_selected


class TestAt:
    @pytest.mark.parametrize("mode", [EVAL, ModeKeys.PREDICT])
    def test_at_when_not_training_then_gradients_are_never_due(self, mode):
        """Gradients and optimizer variables are saved in training only."""
        training_only = plan(collection("gradients", ["^gradient"]), collection("optimizer_variables", ["Adam"]))
        assert training_only.at(TRAIN, 0).saved == ("gradients", "optimizer_variables")
        assert not training_only.at(mode, 0)

    def test_at_when_same_collections_are_due_then_shares_the_plan(self):
        """A tensor is decided once, however many steps follow."""
        shared = plan(collection("a", ["w"], save=SaveConfig(save_interval=2)))
        assert shared.at(TRAIN, 0) is shared.at(TRAIN, 2) is shared.at(EVAL, 4)
        assert shared.at(TRAIN, 0).decide("w") is shared.at(TRAIN, 2).decide("w")


class TestCompleteSettings:
    def test_complete_settings_when_mode_is_missing_then_takes_the_hooks(self):
        """A collection's own modes stay, the others are the hook's."""
        own = SaveConfigMode(save_interval=3)
        item = Collection("a", save_config={EVAL: own})
        resolve_settings(item, EVERY_STEP, None)
        assert item.save_config.get_save_config(EVAL) == own
        assert item.save_config.get_save_config(TRAIN).save_interval == 1

    def test_complete_settings_when_reductions_are_missing_then_takes_the_hooks(self):
        """Reductions come from the collection, else from the hook, else the value is saved."""
        hook_config, own_config = ReductionConfig(reductions=["min"]), ReductionConfig(reductions=["max"])
        items = [Collection("a", reduction_config=own_config), Collection("b"), Collection("c")]
        for item, config in zip(items, (hook_config, hook_config, None), strict=True):
            resolve_settings(item, EVERY_STEP, config)
        assert [item.reduction_config for item in items] == [own_config, hook_config, RAW]

    @pytest.mark.parametrize("name", ["losses", "metrics", "sm_metrics"])
    def test_complete_settings_when_collection_is_of_scalars_then_is_raw(self, name):
        """Scalars are never reduced and have no histogram, whatever is configured."""
        item = Collection(name, reduction_config=ReductionConfig(reductions=["min"]))
        resolve_settings(item, EVERY_STEP, ReductionConfig(reductions=["max"]))
        assert (item.reduction_config, item.save_histogram) == (RAW, False)

    def test_selects_nothing_when_custom_collection_is_empty_then_is_true(self):
        """Only a collection of the user's own can be a mistake."""
        assert selects_nothing(Collection("mine"))
        assert not any(
            map(selects_nothing, [Collection("weights"), Collection("a", ["x"]), Collection("a", (), ["x"])])
        )


# --- against a naive loop ---------------------------------------------------------------------------------------------

TENSORS = ("net_w", "net_b", "gradient/net_w", "loss_output_0")
save_modes = st.builds(
    SaveConfigMode,
    save_interval=st.integers(1, 6),
    start_step=st.integers(0, 8),
    end_step=st.none() | st.integers(0, 12),
    save_steps=st.lists(st.integers(0, 12), max_size=3),
)
save_configs = st.dictionaries(st.sampled_from(list(ModeKeys)), save_modes).map(SaveConfig)
reduction_configs = st.none() | st.builds(
    ReductionConfig,
    reductions=st.lists(st.sampled_from(["min", "mean"]), unique=True),
    abs_norms=st.lists(st.sampled_from(["l1", "l2"]), unique=True),
    save_raw_tensor=st.booleans(),
    save_shape=st.booleans(),
)
collections = st.dictionaries(
    st.sampled_from(["weights", "gradients", "losses", "mine", "default"]),
    st.tuples(
        st.lists(st.sampled_from(["^(?!gradient).*_w", "^gradient", "loss", ".*"]), max_size=2),
        st.lists(st.sampled_from(TENSORS), max_size=2),
        save_configs,
        reduction_configs,
        st.booleans(),
    ),
)


def wanted(name, settings, tensor, mode, step, hook_save, hook_reductions):
    """What one collection asks for, in so many words."""
    regex, names, save, reductions, is_saved = settings
    is_member = tensor in names or any(re.search(pattern, tensor) for pattern in regex)
    when = save.mode_save_configs[mode] or hook_save.get_save_config(mode)
    in_range = when.start_step <= step and (when.end_step is None or step < when.end_step)
    is_due = step in when.save_steps or (in_range and step % when.save_interval == 0)
    if mode in (ModeKeys.EVAL, ModeKeys.PREDICT) and name == "gradients":
        is_due = False
    if not (is_saved and is_member and is_due):
        return set()
    config = ReductionConfig(save_raw_tensor=True) if name == "losses" else reductions or hook_reductions
    if config is None:
        return {"value"}
    return {*config, *(["value"] if config.save_raw_tensor else []), *(["shape"] if config.save_shape else [])}


@given(collections, save_modes, reduction_configs, st.sampled_from(list(ModeKeys)), st.integers(0, 13))
def test_decisions_when_settings_are_any_then_agree_with_a_naive_loop(settings, hook_mode, hook_reductions, mode, step):
    """Every decision is the union of what each due member collection asks for."""
    hook_save = SaveConfig(dict.fromkeys(ModeKeys, hook_mode))
    items = []
    for name, (regex, names, save, reductions, _) in settings.items():
        items.append(Collection(name, regex, names, reductions, save))
        resolve_settings(items[-1], hook_save, hook_reductions)
    made = SavePlan(items, frozenset(name for name, item in settings.items() if item[-1])).at(mode, step)
    for tensor in TENSORS:
        expected = set().union(
            *(wanted(name, item, tensor, mode, step, hook_save, hook_reductions) for name, item in settings.items())
        )
        decision = made.decide(tensor)
        found = set(decision.reductions) if decision else set()
        if decision and decision.value:
            found.add("value")
        if decision and decision.shape:
            found.add("shape")
        assert found == expected
