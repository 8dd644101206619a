"""Which rules and collections exist."""

import importlib
from importlib.metadata import EntryPoint

import pytest
import smdebug_rulesconfig as original

from sagemaker_debug_ext import catalog
from sagemaker_debug_ext.catalog import ParameterSpec, RuleSpec, registry
from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.vocabulary import BUILTIN_COLLECTIONS

MINE = RuleSpec(name="MyRule", kind="debugger", doc="A test.", frameworks=("pytorch",))


@pytest.fixture(autouse=True)
def fresh_registry(monkeypatch):
    """Leave nothing registered behind."""
    monkeypatch.setattr(registry, "_registered", {})
    yield
    registry._plugins.cache_clear()
    registry._load_plugin.cache_clear()


@pytest.fixture
def install(monkeypatch):
    """Pretend that other packages offer rules."""

    def install(**values):
        entries = [EntryPoint(name, value, registry.ENTRY_POINT_GROUP) for name, value in values.items()]
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: entries)
        registry._plugins.cache_clear()

    return install


def a_rule():
    return MINE


NO_RULE = "text"


def test_catalog_fits_its_schema():
    """The data are what the code expects."""
    catalog.check_catalog()


def test_check_catalog_of_a_wrong_document_tells_every_place():
    """All mistakes at once."""
    document = {**registry._document(), "rules": [{"name": "A", "kind": "x", "doc": "d", "parameters": [{"nam": 1}]}]}
    with pytest.raises(SMDebugValueError, match=r"(?s)\$\.rules\[0\]\.kind.*\$\.rules\[0\]\.parameters\[0\]"):
        catalog.check_catalog(document)


def test_catalog_has_all_rules():
    """21 on tensors and our own, 12 on profiler metrics."""
    assert len([spec for spec in catalog.list_rule_specs("debugger") if spec.function]) == 21
    assert len(catalog.list_rule_specs("debugger")) == 21 + 40
    assert len(catalog.list_rule_specs("profiler")) == 12
    names = [spec.name for spec in catalog.list_rule_specs()]
    assert names == sorted(names) == list(catalog.rule_names())


@pytest.mark.parametrize(
    "spec", [spec for spec in catalog.list_rule_specs() if spec.rule_class], ids=lambda spec: spec.name
)
def test_rule_class_can_be_found(spec):
    """A dotted path leads to a class of the rule's name."""
    module, _, name = spec.rule_class.partition(":")
    assert name == spec.name
    assert isinstance(getattr(importlib.import_module(module), name), type)


def test_five_rules_have_code():
    """The others run in the service only."""
    assert {spec.name for spec in catalog.list_rule_specs() if spec.rule_class} >= {
        "VanishingGradient",
        "ExplodingTensor",
        "LossNotDecreasing",
        "Overfit",
        "DeadRelu",
    }


@pytest.mark.parametrize(
    ("name", "match"),
    [
        (
            "vanishing_gradient",
            r"no rule 'vanishing_gradient'; did you mean 'VanishingGradient'\? rule must be one of .*AllZero, ",
        ),
        ("42", r"no rule '42'; rule must be one of .*AllZero, "),
    ],
    ids=["a near miss", "nothing near"],
)
def test_get_rule_spec_of_an_unknown_name_suggests_the_nearest(name, match):
    """The nearest name, if there is one, comes before the list of all names."""
    with pytest.raises(SMDebugValueError, match=match):
        catalog.get_rule_spec(name)


def test_registered_rule_is_found():
    """A script's own rule is a rule like any other."""
    catalog.register_rule_spec(MINE)
    catalog.register_rule_spec(MINE)
    assert catalog.get_rule_spec("MyRule") is MINE
    assert MINE in catalog.list_rule_specs("debugger")
    assert "MyRule" in catalog.rules_for_framework("pytorch")


@pytest.mark.parametrize("name", ["MyRule", "Overfit"], ids=["of another user's rule", "of a built-in rule"])
def test_register_of_a_taken_name_is_refused(name):
    """A rule of the same name is not overwritten."""
    catalog.register_rule_spec(MINE)
    with pytest.raises(SMDebugValueError, match=f"another rule called '{name}'"):
        catalog.register_rule_spec(RuleSpec(name=name, kind="debugger", doc="Another."))


def test_register_of_a_mere_name_is_refused():
    """Only a `RuleSpec` is registered."""
    with pytest.raises(SMDebugTypeError, match="RuleSpec"):
        catalog.register_rule_spec("MyRule")


def test_rule_of_another_package_is_listed_without_being_loaded(install):
    """Its name is known from the entry point; its package is imported when the rule is asked for."""
    install(MyRule="no_such_package:rule")
    assert "MyRule" in catalog.rule_names()
    with pytest.raises(SMDebugRuntimeError, match="'MyRule' could not be loaded from 'no_such_package:rule'"):
        catalog.get_rule_spec("MyRule")


@pytest.mark.parametrize("value", ["MINE", "a_rule"])
def test_rule_of_another_package_is_loaded_from_value_or_function(install, monkeypatch, value):
    """An entry point names a spec, or a function that makes one."""
    monkeypatch.setattr(EntryPoint, "load", lambda self: globals()[self.value])
    install(MyRule=value)
    assert catalog.get_rule_spec("MyRule") == MINE


def test_rule_of_another_package_that_is_none_is_refused(install, monkeypatch):
    """The entry's name and the rule's agree."""
    monkeypatch.setattr(EntryPoint, "load", lambda self: MINE)
    install(OtherName="x:y")
    with pytest.raises(SMDebugTypeError, match="RuleSpec called 'OtherName'"):
        catalog.get_rule_spec("OtherName")


def test_rule_of_another_package_with_a_taken_name_is_refused(install):
    """Which of two is meant must not depend on the order of installation."""
    install(Overfit="x:y")
    with pytest.raises(SMDebugValueError, match="same name as a built-in rule"):
        catalog.rule_names()


def test_profiler_report_takes_the_parameters_of_the_rules_it_runs():
    """Written as rule, underscore, parameter."""
    spec = catalog.get_rule_spec("ProfilerReport").parameter("CPUBottleneck_cpu_threshold")
    assert spec == ParameterSpec(
        name="CPUBottleneck_cpu_threshold", type="int", doc=spec.doc, min=0, max=100, unit="percent"
    )


@pytest.mark.parametrize(
    ("framework", "count", "sample"),
    [
        ("pytorch", 18, "DeadRelu"),
        ("TensorFlow", 18, "Confusion"),
        ("mxnet", 18, "Overfit"),
        ("XGBoost", 13, "TreeDepth"),
    ],
)
def test_rules_for_framework_are_sorted_names(framework, count, sample):
    """In any case of the framework's name."""
    names = catalog.rules_for_framework(framework)
    assert names == sorted(names)
    assert sample in names
    assert len(names) == count


@pytest.mark.parametrize(
    "function", [catalog.rules_for_framework, catalog.builtin_collection_patterns, catalog.default_collections]
)
def test_unknown_framework_is_refused(function):
    """The error suggests the nearest."""
    with pytest.raises(SMDebugValueError, match="did you mean 'pytorch'"):
        function("torch")


def test_get_rule_groups_gives_configurations():
    """The simple ones are those of the original; ALL suits the framework."""
    assert catalog.get_rule_groups(catalog.PYTORCH.SIMPLE) == [
        original.vanishing_gradient(),
        original.loss_not_decreasing(),
        original.weight_update_ratio(),
    ]
    assert catalog.get_rule_groups(catalog.XGBOOST.SIMPLE) == [original.tree_depth(), original.class_imbalance()]
    names = [
        config["DebugRuleConfiguration"]["RuleConfigurationName"]
        for config in catalog.get_rule_groups(catalog.MXNET.ALL)
    ]
    assert names == catalog.rules_for_framework("mxnet")
    with pytest.raises(SMDebugTypeError, match=r"PYTORCH\.SIMPLE"):
        catalog.get_rule_groups("pytorch")


def test_builtin_collection_patterns_are_those_of_the_framework():
    """A collection that the hook fills by itself has none."""
    patterns = catalog.builtin_collection_patterns("pytorch")
    assert patterns["gradients"] == ["^gradient"]
    assert patterns["default"] == []
    assert "trees" not in patterns
    assert catalog.builtin_collection_patterns("xgboost")["trees"] == ["^trees/.*"]
    for framework in registry.FRAMEWORKS:
        assert set(catalog.builtin_collection_patterns(framework)) <= set(BUILTIN_COLLECTIONS)


def test_default_collections_are_those_of_the_framework():
    """What is saved when nothing is asked for."""
    assert catalog.default_collections("pytorch") == ("losses",)
    assert catalog.default_collections("tensorflow") == ("losses", "metrics", "sm_metrics")
    assert catalog.default_collections("xgboost") == ("metrics",)


@pytest.mark.parametrize("name", [*registry._document()["rule_collections"], "biases"])
def test_get_collection_equals_the_originals(name):
    """Also where the original is malformed; None for an unknown name."""
    assert catalog.get_collection(name) == original.get_collection(name)
