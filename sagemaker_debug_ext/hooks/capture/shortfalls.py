"""What was asked of a hook and did not come: collections that stayed empty, and patterns that matched nothing."""

from __future__ import annotations

import re
from collections.abc import Collection as AbstractCollection
from collections.abc import Iterable, Iterator, Mapping

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.vocabulary import CollectionKeys

_PATTERNS_ONLY = (CollectionKeys.DEFAULT, CollectionKeys.ALL)


def find_shortfalls(
    collections: Iterable[Collection],
    saved_names: Mapping[str, AbstractCollection[str]],
    builtin_patterns: Mapping[str, Iterable[str]],
    hints: Mapping[str, str],
) -> Iterator[str]:
    """Yield a sentence for each collection without a member, and for each pattern of the script without a match.

    Args:
        collections: The collections that were asked for and due.
        saved_names: Collection → names of the tensors that were saved as its members.
        builtin_patterns: The patterns that the framework gives to its collections; the script did not ask for them.
        hints: Collection → how to have tensors saved in it.
    """
    for collection in collections:
        name, members = collection.name, saved_names.get(collection.name, ())
        standard = set(builtin_patterns.get(name, ()))
        patterns = [pattern for pattern in dict.fromkeys(collection.include_regex) if pattern not in standard]
        missed = [pattern for pattern in patterns if not any(re.search(pattern, member) for member in members)]
        if members:
            yield from (f"pattern {pattern!r} of collection {name!r} matched no tensor" for pattern in missed)
        elif missed:
            yield f"collection {name!r} stayed empty: no tensor matched {', '.join(map(repr, missed))}"
        elif name in hints:
            yield f"collection {name!r} stayed empty: {hints[name]}"
        elif name not in _PATTERNS_ONLY:
            hint = "" if name in builtin_patterns else ", because the hook of this framework has no tensors for it"
            yield f"collection {name!r} stayed empty{hint}"
