"""Tensors in what modules take and return."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor


def tensors_in(values: Any) -> Iterator[Tensor]:
    """Yield the tensors in nested tuples, lists, mappings and dataclasses; subclasses of Tensor are passed over."""
    if type(values) is Tensor:
        yield values
    elif isinstance(values, (tuple, list)):
        for value in values:
            yield from tensors_in(value)
    elif isinstance(values, Mapping):
        yield from tensors_in(list(values.values()))
    elif dataclasses.is_dataclass(values) and not isinstance(values, type):
        yield from tensors_in([getattr(values, field.name) for field in dataclasses.fields(values)])
