"""Hypothesis strategies for Debugger settings, and settings made from them with any package of the same names.

A strategy draws plain data; `build` makes objects of it, ours or the SDK's, because both have the same constructors.
"""

from __future__ import annotations

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


# Strategies are made once: to make them again for every example takes longer than all else.

_built_in_collections = st.lists(
    st.tuples(
        st.sampled_from(["losses", "weights", "biases", "gradients", "metrics"]),
        _some({**_saving, "save_histogram": _boolean}),
    ),
    max_size=4,
    unique_by=lambda pair: pair[0],
)
_own_collections = st.lists(
    st.builds(
        lambda name, pattern: (f"custom_{name}", {"include_regex": f".*{pattern}", "save_interval": "7"}),
        _words,
        _words,
    ),
    max_size=2,
    unique_by=lambda pair: pair[0],
)
_hooks: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([None, True]),
    st.fixed_dictionaries({}),
    *[
        st.fixed_dictionaries(
            {
                "s3_output_path": st.none() | _s3_paths,
                "container_local_output_path": st.none() | _words.map("/opt/{}".format),
                "hook_parameters": _some({**_saving, "include_workers": st.sampled_from(["one", "all"])}),
                "collection_configs": st.builds(lambda first, second: [*first, *second], _built_in_collections, own),
            }
        )
        for own in (_own_collections, st.just([]))
    ],
)
_actions = st.none() | st.lists(
    st.one_of(
        st.tuples(st.just("StopTraining"), st.none() | _words),
        st.tuples(st.just("Email"), st.builds("{}@{}.com".format, _words, _words)),
        st.tuples(st.just("SMS"), st.integers(1_000_000, 99_999_999).map("+{}".format)),
    ),
    min_size=1,
    max_size=2,
)


def _numbered(rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make names unique, and give some rules a collection of their own."""
    return [
        {
            **rule,
            "name": f"{rule['name']}-{number}",
            "collections_to_save": [(f"of_rule_{number}", {"include_regex": ".*", "save_interval": "3"})]
            if rule["collections_to_save"]
            else [],
        }
        for number, rule in enumerate(rules)
    ]


_rules = st.lists(
    st.one_of(
        *[
            st.fixed_dictionaries(
                {
                    "function": st.just(function),
                    "name": _names,
                    "s3_output_path": st.none() | _s3_paths,
                    "rule_parameters": _some(parameters),
                    "collections_to_save": st.booleans(),
                    "actions": _actions,
                }
            )
            for function, parameters in sorted(RULES.items())
        ]
    ),
    max_size=4,
).map(_numbered)

_profiler_rules = st.lists(
    st.one_of(
        *[
            st.fixed_dictionaries({"kind": st.just(kind), "parameters": _some(parameters)})
            for kind, parameters in sorted(PROFILER_RULES.items())
        ]
    ),
    max_size=2,
).map(lambda rules: [{**rule, "name": f"p{number}"} for number, rule in enumerate(rules)])

_profiler_configs = st.fixed_dictionaries(
    {
        "s3_output_path": st.none() | _s3_paths,
        "system_monitor_interval_millis": st.sampled_from([None, 100, 200, 500, 1000, 5000, 60000]),
    }
)
_specs: st.SearchStrategy[Spec] = st.builds(
    lambda debugger, profiler, tensorboard: {**debugger, **profiler, "tensorboard_output_config": tensorboard},
    st.one_of(
        *[st.fixed_dictionaries({"debugger_hook_config": _hooks, "rules": _rules})] * 5,
        st.fixed_dictionaries({"debugger_hook_config": st.just(False), "rules": st.just([])}),
    ),
    st.one_of(
        *[
            st.fixed_dictionaries(
                {
                    "profiler_config": st.none() | _profiler_configs,
                    "profiler_rules": _profiler_rules,
                    "disable_profiler": st.none(),
                }
            )
        ]
        * 4,
        st.fixed_dictionaries(
            {"profiler_config": st.none(), "profiler_rules": st.just([]), "disable_profiler": st.just(True)}
        ),
    ),
    st.none() | st.tuples(_s3_paths, st.none() | _words.map("/{}".format)),
)


def specs() -> st.SearchStrategy[Spec]:
    """Return a strategy for valid settings of a job."""
    return _specs


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
    """Tell whether the hook says something about a collection that a rule brings by default.

    SDK v2 sends such a collection twice, or with the rule's interval in place of the hook's.

    Args:
        spec: The settings.
        defaults: Function of ``rule_configs`` → names of the collections that it brings.
    """
    hook = spec["debugger_hook_config"]
    if not isinstance(hook, Mapping) or not hook:
        return False
    wanted = {
        name for rule in spec["rules"] if not rule["collections_to_save"] for name in defaults.get(rule["function"], [])
    }
    settles = any(key.endswith("save_interval") for key in hook["hook_parameters"])
    return bool(wanted & {name for name, _ in hook["collection_configs"]}) or (settles and bool(wanted))
