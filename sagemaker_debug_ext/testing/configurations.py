"""Hypothesis strategies for Debugger settings, and settings made from them with any package of the same names.

A strategy draws plain data; `build` makes objects of it, ours or the SDK's, because both have the same constructors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from hypothesis import strategies as st

Spec: TypeAlias = dict[str, Any]
"""Settings of one job as plain data; values are texts, as AWS takes them."""

_whole = st.integers(1, 1000).map(str)
_share = st.floats(0.01, 99).map(lambda value: repr(round(value, 3)))
_boolean = st.sampled_from(["True", "False"])
_names = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,20}", fullmatch=True)
_words = st.from_regex(r"[a-z]{1,8}", fullmatch=True)
_s3_paths = st.builds("s3://{}/{}".format, _words, _words)

_saving = {
    "save_interval": _whole,
    "train.save_interval": _whole,
    "eval.save_interval": _whole,
    "start_step": _whole,
    "eval.save_steps": st.lists(st.integers(0, 99).map(str), min_size=1, max_size=3).map(",".join),
}

RULES: Mapping[str, Mapping[str, st.SearchStrategy[str]]] = {
    "vanishing_gradient": {"threshold": _share},
    "weight_update_ratio": {"large_threshold": _share, "num_steps": _whole},
    "exploding_tensor": {"only_nan": _boolean},
    "loss_not_decreasing": {"num_steps": _whole, "diff_percent": _share},
    "overfit": {"patience": _whole, "ratio_threshold": _share},
    "overtraining": {"patience_train": _whole},
    "dead_relu": {"threshold_layer": _share},
    "stalled_training_rule": {"threshold": _whole},
}
"""Function of ``rule_configs`` → parameters that can be drawn."""

PROFILER_RULES: Mapping[str, Mapping[str, st.SearchStrategy[int]]] = {
    "ProfilerReport": {},
    "BatchSize": {"window": st.integers(1, 900)},
    "LowGPUUtilization": {"threshold_p95": st.integers(0, 100)},
    "CPUBottleneck": {"threshold": st.integers(0, 100)},
}


def _some(values: Mapping[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=dict(values))


def _collections(names: st.SearchStrategy[str]) -> st.SearchStrategy[list[tuple[str, dict[str, str]]]]:
    pairs = st.tuples(names, _some({**_saving, "save_histogram": _boolean}))
    return st.lists(pairs, max_size=4, unique_by=lambda pair: pair[0])


def _own_collections() -> st.SearchStrategy[list[tuple[str, dict[str, str]]]]:
    custom = st.builds(
        lambda name, pattern: (f"custom_{name}", {"include_regex": f".*{pattern}", "save_interval": "7"}),
        _words,
        _words,
    )
    return st.lists(custom, max_size=2, unique_by=lambda pair: pair[0])


@st.composite
def _hooks(draw: st.DrawFn) -> Any:
    kind = draw(st.sampled_from(["default", "true", "empty", "configured", "configured", "configured"]))
    if kind != "configured":
        return {"default": None, "true": True, "empty": {}}[kind]
    built_in = _collections(st.sampled_from(["losses", "weights", "biases", "gradients", "metrics"]))
    return {
        "s3_output_path": draw(st.none() | _s3_paths),
        "container_local_output_path": draw(st.none() | _words.map("/opt/{}".format)),
        "hook_parameters": draw(_some({**_saving, "include_workers": st.sampled_from(["one", "all"])})),
        "collection_configs": [*draw(built_in), *draw(_own_collections())],
    }


def _actions() -> st.SearchStrategy[list[tuple[str, str | None]] | None]:
    action = st.one_of(
        st.tuples(st.just("StopTraining"), st.none() | _words),
        st.tuples(st.just("Email"), st.builds("{}@{}.com".format, _words, _words)),
        st.tuples(st.just("SMS"), st.integers(1_000_000, 99_999_999).map("+{}".format)),
    )
    return st.none() | st.lists(action, min_size=1, max_size=2)


@st.composite
def _rules(draw: st.DrawFn) -> list[dict[str, Any]]:
    functions = draw(st.lists(st.sampled_from(sorted(RULES)), max_size=4))
    rules = []
    for number, function in enumerate(functions):
        own = draw(st.booleans())
        rules.append(
            {
                "function": function,
                # Names have to be unique; the number makes them so.
                "name": f"{draw(_names)}-{number}",
                "s3_output_path": draw(st.none() | _s3_paths),
                "rule_parameters": draw(_some(RULES[function])),
                "collections_to_save": [(f"of_rule_{number}", {"include_regex": ".*", "save_interval": "3"})]
                if own
                else [],
                "actions": draw(_actions()),
            }
        )
    return rules


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    """Draw valid settings of a job."""
    opted_out = draw(st.integers(0, 9)) == 0
    profiler_off = draw(st.integers(0, 4)) == 0
    config = {
        "s3_output_path": draw(st.none() | _s3_paths),
        "system_monitor_interval_millis": draw(st.sampled_from([None, 100, 200, 500, 1000, 5000, 60000])),
    }
    return {
        "debugger_hook_config": False if opted_out else draw(_hooks()),
        "rules": [] if opted_out else draw(_rules()),
        "tensorboard_output_config": draw(st.none() | st.tuples(_s3_paths, st.none() | _words.map("/{}".format))),
        "profiler_config": None if profiler_off else draw(st.none() | st.just(config)),
        "profiler_rules": []
        if profiler_off
        else [
            {"kind": kind, "parameters": draw(_some(PROFILER_RULES[kind])), "name": f"p{number}"}
            for number, kind in enumerate(draw(st.lists(st.sampled_from(sorted(PROFILER_RULES)), max_size=2)))
        ],
        "disable_profiler": True if profiler_off else None,
    }


def typed(text: str) -> Any:
    """Turn a text into the number, boolean or list that it spells, as users write it."""
    if text in ("True", "False"):
        return text == "True"
    if text.isdigit():
        return int(text)
    return [int(item) for item in text.split(",")] if text.replace(",", "").isdigit() else text


def build(spec: Spec, api: Any, spell: Callable[[str], Any] = str) -> dict[str, Any]:
    """Make the arguments of an estimator from drawn settings.

    Args:
        spec: The settings.
        api: A module with the classes: `sagemaker_debug_ext`, or the SDK's ``debugger``.
        spell: What to give for a text.
    """
    hook = spec["debugger_hook_config"]
    if isinstance(hook, Mapping) and hook:
        hook = api.DebuggerHookConfig(
            hook["s3_output_path"],
            hook["container_local_output_path"],
            _spelt(hook["hook_parameters"], spell),
            _build_collections(hook["collection_configs"], api, spell),
        )
    tensorboard, profiler = spec["tensorboard_output_config"], spec["profiler_config"]
    return {
        "debugger_hook_config": hook,
        "rules": [
            *(_build_rule(rule, api, spell) for rule in spec["rules"]),
            *(
                api.ProfilerRule.sagemaker(
                    getattr(api.rule_configs, rule["kind"])(**rule["parameters"]), name=rule["name"]
                )
                for rule in spec["profiler_rules"]
            ),
        ],
        "tensorboard_output_config": api.TensorBoardOutputConfig(*tensorboard) if tensorboard else None,
        "profiler_config": api.ProfilerConfig(**profiler) if profiler else None,
        "disable_profiler": spec["disable_profiler"],
    }


def _spelt(parameters: Mapping[str, str], spell: Callable[[str], Any]) -> dict[str, Any]:
    return {name: spell(value) for name, value in parameters.items()}


def _build_collections(pairs: list[tuple[str, dict[str, str]]], api: Any, spell: Callable[[str], Any]) -> list[Any]:
    return [api.CollectionConfig(name, _spelt(parameters, spell)) for name, parameters in pairs]


def _build_rule(rule: Mapping[str, Any], api: Any, spell: Callable[[str], Any]) -> Any:
    configs = api.rule_configs
    actions = None
    if rule["actions"]:
        made = [getattr(configs, kind)(*([] if value is None else [value])) for kind, value in rule["actions"]]
        actions = configs.ActionList(*made)
    return api.Rule.sagemaker(
        getattr(configs, rule["function"])(),
        name=rule["name"],
        s3_output_path=rule["s3_output_path"],
        rule_parameters=_spelt(rule["rule_parameters"], spell),
        collections_to_save=_build_collections(rule["collections_to_save"], api, spell),
        actions=actions,
    )


def conflicts_with_hook(spec: Spec, defaults: Mapping[str, list[str]]) -> bool:
    """Tell whether the hook and a rule, or two rules, name one collection; SDK v2 then sends it twice.

    Args:
        spec: The settings.
        defaults: Function of ``rule_configs`` → names of the collections that it brings.
    """
    hook = spec["debugger_hook_config"]
    own = [name for name, _ in hook["collection_configs"]] if isinstance(hook, Mapping) and hook else []
    wanted = {
        name for rule in spec["rules"] if not rule["collections_to_save"] for name in defaults.get(rule["function"], [])
    }
    return bool(wanted & set(own))


def normalised(request: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the Debugger members of a request without what may differ between two that mean the same.

    These are the order of collections, an empty list of them, actions' spelling and ``DisableProfiler: false``.
    """
    members: dict[str, Any] = {name: request[name] for name in names if request.get(name) is not None}
    if "DebugHookConfig" in members:
        hook = dict(members["DebugHookConfig"])
        collections = [
            {key: value for key, value in item.items() if value} for item in hook.pop("CollectionConfigurations", [])
        ]
        if collections:
            hook["CollectionConfigurations"] = sorted(collections, key=lambda item: str(item["CollectionName"]))
        members["DebugHookConfig"] = {key: value for key, value in hook.items() if value}
    if "ProfilerConfig" in members:
        profiler = members["ProfilerConfig"]
        members["ProfilerConfig"] = {key: value for key, value in profiler.items() if value is not False}
    for name in ("DebugRuleConfigurations", "ProfilerRuleConfigurations"):
        if name in members:
            members[name] = [_normalised_rule(rule) for rule in members[name]]
    return members


def _normalised_rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    parameters = dict(rule.get("RuleParameters", {}))
    if "action_json" in parameters:
        parsed = json.loads(parameters["action_json"].replace('\\"', '"'))
        parameters["action_json"] = parsed if isinstance(parsed, list) else [parsed]
    return {**rule, "RuleParameters": parameters}
