"""How TensorBoard shows a tensor that is saved."""

from __future__ import annotations

from typing import Final

from sagemaker_debug_ext.hooks.collection_set import CollectionSet
from sagemaker_debug_ext.hooks.steps import Shown
from sagemaker_debug_ext.vocabulary import SCALAR_COLLECTIONS, CollectionKeys

_CATCH_ALLS: Final = frozenset({CollectionKeys.DEFAULT, CollectionKeys.ALL})


def find_shown(name: str, members: tuple[str, ...], collections: CollectionSet) -> Shown | None:
    """Return how TensorBoard shows a tensor; None if it does not.

    Args:
        name: Name of the tensor.
        members: Names of the collections for which it is saved.
        collections: All collections.
    """
    if not SCALAR_COLLECTIONS.isdisjoint(members):
        return Shown(name, is_scalar=True)
    showing = [collection for collection in members if collections.get(collection).save_histogram]
    if not showing:
        return None
    named_best = min(showing, key=lambda collection: (collection in _CATCH_ALLS, collection))
    return Shown(f"{named_best}/{name}", is_scalar=False)
