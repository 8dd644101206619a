"""Hyperparameters that tuning jobs try: drawn at random from ranges, or all of a grid."""

from __future__ import annotations

import contextlib
import itertools
import math
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sagemaker_debug_ext.errors import SMDebugValueError

_KINDS: Final = ("ContinuousParameterRanges", "IntegerParameterRanges", "CategoricalParameterRanges")


def candidates(config: Mapping[str, Any], ranges: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield the hyperparameters to try, without end unless the strategy is ``Grid``.

    All strategies but ``Grid`` draw at random; with a ``RandomSeed`` they draw the same each time.

    Args:
        config: A ``HyperParameterTuningJobConfig``.
        ranges: Its ``ParameterRanges``.

    Raises:
        SMDebugValueError: A range cannot be searched.
    """
    if config["Strategy"] == "Grid":
        categories = {item["Name"]: item["Values"] for item in ranges.get("CategoricalParameterRanges", ())}
        others = [item["Name"] for kind in _KINDS[:2] for item in ranges.get(kind, ())]
        if others or not categories:
            raise SMDebugValueError(
                f"the strategy Grid needs categorical ranges only (got {', '.join(others) or 'none'})"
            )
        return (dict(zip(categories, values, strict=True)) for values in itertools.product(*categories.values()))
    for kind in _KINDS[:2]:
        for item in ranges.get(kind, ()):
            _check_range(item)
    return _draw(random.Random(config.get("RandomSeed")), ranges)  # noqa: S311 - not for secrets


def _draw(generator: random.Random, ranges: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    continuous, whole, categorical = (ranges.get(kind, ()) for kind in _KINDS)
    while True:
        yield {
            **{item["Name"]: repr(_draw_number(generator, item)) for item in continuous},
            **{item["Name"]: str(_draw_whole(generator, item)) for item in whole},
            **{item["Name"]: generator.choice(item["Values"]) for item in categorical},
        }


def _check_range(item: Mapping[str, str]) -> None:
    least, most = _limits(item)
    scaling = item.get("ScalingType", "Auto")
    if not least <= most:
        raise SMDebugValueError(
            f"the range of {item['Name']!r} must have MinValue <= MaxValue (got {least:g}, {most:g})"
        )
    if scaling == "Logarithmic" and least <= 0:
        raise SMDebugValueError(f"the range of {item['Name']!r} must be above 0 to be logarithmic (got {least:g})")
    if scaling == "ReverseLogarithmic" and not 0 <= least <= most < 1:
        raise SMDebugValueError(
            f"the range of {item['Name']!r} must be within 0 to 1 to be reverse logarithmic (got {least:g}, {most:g})"
        )


def _limits(item: Mapping[str, str]) -> tuple[float, float]:
    try:
        return float(item["MinValue"]), float(item["MaxValue"])
    except ValueError as error:
        raise SMDebugValueError(f"the range of {item['Name']!r} must have numbers as limits ({error})") from error


def _draw_number(generator: random.Random, item: Mapping[str, str]) -> float:
    least, most = _limits(item)
    scaling = item.get("ScalingType", "Auto")
    if scaling == "Logarithmic":
        value = math.exp(generator.uniform(math.log(least), math.log(most)))
    elif scaling == "ReverseLogarithmic":
        value = 1 - math.exp(generator.uniform(math.log(1 - most), math.log(1 - least)))
    else:
        value = generator.uniform(least, most)
    return min(max(value, least), most)


def _draw_whole(generator: random.Random, item: Mapping[str, str]) -> int:
    if item.get("ScalingType") == "Logarithmic":
        return round(_draw_number(generator, item))
    least, most = _limits(item)
    return generator.randint(math.ceil(least), math.floor(most))


def last_metric(definitions: Iterable[Mapping[str, str]], name: str, lines: Iterable[str]) -> float | None:
    """Return the last value of a metric that a job has printed; None if there is none.

    Args:
        definitions: The ``MetricDefinitions`` of the job.
        name: The metric.
        lines: The printed lines.
    """
    patterns = [re.compile(item["Regex"]) for item in definitions if item["Name"] == name]
    value = None
    for line in lines:
        for pattern in patterns:
            for found in pattern.finditer(line):
                with contextlib.suppress(ValueError):  # the text is no number
                    value = float(found.group(1) if pattern.groups else found.group())
    return value
