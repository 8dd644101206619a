"""Configuration of a collection: `CollectionConfig`."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any, Final

import attrs

from sagemaker_debug_ext.config._fields import Parameters, Text, is_name, present, render_parameters
from sagemaker_debug_ext.config.hook_options import COLLECTION_PARAMETERS, check_parameters
from sagemaker_debug_ext.errors import InvalidCollectionConfiguration, SMDebugValueError
from sagemaker_debug_ext.vocabulary import BUILTIN_COLLECTIONS

_LIKENESS: Final = 0.8
"""Share of common letters above which a name counts as misspelt; ``loss`` and ``losses`` have 0.8."""


def _to_parameters(values: Mapping[str, Any] | None) -> Parameters:
    return render_parameters(values, "CollectionConfig.parameters")


@attrs.frozen
class CollectionConfig:
    """A named group of tensors, and how to save it.

    Example:
        >>> CollectionConfig("losses", {"train.save_interval": 50, "eval.save_interval": 1}).parameters
        {'train.save_interval': '50', 'eval.save_interval': '1'}

    Args:
        name: A built-in collection such as ``losses``, or a name of your own together with ``include_regex``.
        parameters: ``include_regex``, ``reductions``, ``save_histogram``, ``save_raw_tensor``, ``save_shape``, and
            ``save_interval``, ``save_steps``, ``start_step`` (inclusive), ``end_step`` (exclusive); these four also
            with a mode as prefix (``eval.save_interval``). Numbers, booleans and lists are rendered as strings.
            Containers with smdebug reject ``save_raw_tensor`` and ``save_shape``, which it cannot parse from strings.
        strict: Raise if a parameter is unknown. By default it is passed on with a warning.

    Raises:
        SMDebugTypeError: `name` or a value has a type that cannot be rendered.
        SMDebugValueError: The value of a parameter is not allowed; the name is almost that of a built-in collection,
            and `include_regex` is missing; or, if `strict`, a parameter is unknown.
    """

    name: Text = attrs.field(validator=is_name)
    parameters: Parameters = attrs.field(default=Parameters(), converter=_to_parameters)
    strict: bool = attrs.field(default=False, kw_only=True, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        check_parameters(self.parameters, COLLECTION_PARAMETERS, f"collection {self.name!r}", self.strict)
        if isinstance(self.name, str) and "include_regex" not in self.parameters:
            _reject_misspelt(self.name)

    def to_request_dict(self) -> dict[str, Any]:
        """Return the entry of ``CollectionConfigurations``."""
        return present({"CollectionName": self.name, "CollectionParameters": dict(self.parameters)})

    _to_request_dict = to_request_dict  # the SDK's name, which published code calls


def _reject_misspelt(name: str) -> None:
    """Raise if a name is that of a built-in collection but for one letter, its case or the plural.

    Other names may be meant, because a script can add tensors to a collection of any name.
    """
    if name in BUILTIN_COLLECTIONS:
        return
    for known in BUILTIN_COLLECTIONS:
        is_as_long = abs(len(name) - len(known)) <= 1 or f"{name}es" == known
        is_alike = SequenceMatcher(None, name.casefold(), known).ratio() >= _LIKENESS
        if is_as_long and is_alike and not any(map(str.isdigit, name)) and name.count("_") == known.count("_"):
            raise SMDebugValueError(str(InvalidCollectionConfiguration(name, f"; did you mean {known!r}?")))
