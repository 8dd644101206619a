"""The collections of a hook: which there are, which are saved, and who belongs to them."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.config.hook_options import HookOptions
from sagemaker_debug_ext.config.reductions import ReductionConfig
from sagemaker_debug_ext.config.saving import SaveConfig
from sagemaker_debug_ext.errors import (
    InvalidCollectionConfiguration,
    SMDebugTypeError,
    SMDebugValueError,
    brief,
    did_you_mean,
)
from sagemaker_debug_ext.hooks.capture.save_plan import (
    SavePlan,
    resolve_settings,
    selects_nothing,
    warn_never_saves,
)
from sagemaker_debug_ext.hooks.capture.shortfalls import find_shortfalls
from sagemaker_debug_ext.vocabulary import CollectionKeys

LOG = logging.getLogger(__name__)


class CollectionSet:
    """The collections of a hook.

    Args:
        collection_class: What to make collections of.
        patterns: The collections that exist from the start, with their patterns.
        saved: Names of the collections to save.
        save_all: Save every collection there is.
    """

    def __init__(
        self,
        collection_class: type[Collection],
        patterns: Mapping[str, Iterable[str]],
        saved: Iterable[str],
        save_all: bool = False,
    ) -> None:
        self._collection_class = collection_class
        self._by_name = {name: collection_class(name, include_regex=regex) for name, regex in patterns.items()}
        self._saved = set(saved)
        self._save_all = save_all
        self._noted: set[tuple[str, tuple[str, ...]]] = set()
        self._reported: set[str] = set()
        self._checked: dict[str, SaveConfig] = {}
        """The collections' own settings of which it is known, and told, whether they ever save a step."""
        self.has_news = True
        """Whether there are collections or members that `export` has not shown yet."""

    @classmethod
    def of(
        cls,
        options: HookOptions,
        collection_class: type[Collection],
        patterns: Mapping[str, Iterable[str]],
        default_names: Iterable[str],
    ) -> CollectionSet:
        """Return the collections of a hook that was given these options.

        Args:
            options: The arguments of the hook.
            collection_class: What to make collections of.
            patterns: The collections of the framework, with their patterns.
            default_names: Those that are saved without being asked for.
        """
        saved = (*default_names, *options.include_collections)
        collections = cls(collection_class, patterns, saved, options.save_all)
        if options.include_regex:
            collections.save(CollectionKeys.DEFAULT, options.include_regex)
        if options.save_all:
            collections.save(CollectionKeys.ALL, [".*"])
        return collections

    @property
    def asked(self) -> list[str]:
        """Names of the collections that are saved by default or that the script asks for, sorted."""
        return sorted(self._saved)

    @property
    def saved(self) -> set[str]:
        """Names of the collections to save: every collection if ``all`` is among those asked for."""
        return {*self._by_name, *self._saved} if self.saves_every else set(self._saved)

    @property
    def saves_every(self) -> bool:
        """Whether every collection is saved, so that the script has not asked for each of them."""
        return self._save_all or CollectionKeys.ALL in self._saved

    def __iter__(self) -> Any:
        return iter(self._by_name.values())

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def get_collections(self) -> dict[str, Collection]:
        """Return name → collection."""
        return {collection.name: collection for collection in self}

    def get(self, name: str, create: bool = True) -> Collection:
        """Return a collection, creating it if wanted.

        Raises:
            SMDebugValueError: There is none of that name, and `create` is false.
        """
        if name not in self._by_name:
            if not create:
                hint = did_you_mean(name, self._by_name)
                raise SMDebugValueError(f"collection must be one of {', '.join(self._by_name)} (got {name!r}){hint}")
            self._by_name[name] = self._collection_class(name)
            self.has_news = True
        return self._by_name[name]

    def add(self, collection: Collection) -> None:
        """Add a collection, replacing one of the same name.

        Raises:
            SMDebugTypeError: It is no `Collection`.
        """
        if not isinstance(collection, Collection):
            raise SMDebugTypeError(f"collection must be a Collection (got {brief(collection)})")
        self._by_name[collection.name] = collection
        self.has_news = True

    def save(self, name: str, patterns: Sequence[str]) -> None:
        """Add patterns to a collection and have it saved."""
        self.get(name).include(list(patterns))
        self._saved.add(name)

    def include_outputs(self, name: str, of: str) -> None:
        """Add the outputs of a module or block to a collection.

        Args:
            name: The collection, which gets a pattern of its own for them unless it takes them anyway.
            of: What their names begin with: that of the module or block.
        """
        collection = self.get(name)
        if not collection.matches(f"{of}_output_0"):
            collection.include(rf"^{re.escape(of)}_output_\d+$")
            self.has_news = True

    def plan(self, save_config: SaveConfig, reduction_config: ReductionConfig | None, strict: bool) -> SavePlan:
        """Complete all settings, and return the plan of what to save at which steps.

        A collection that is to be saved and can have no member is left out; that is logged once, and so are settings of
        a collection that never save a step.

        Args:
            save_config: The hook's settings, for all modes.
            reduction_config: The hook's setting.
            strict: Raise instead of logging.

        Raises:
            InvalidCollectionConfiguration: Such a collection was found, and `strict` is true.
        """
        saved = self.saved
        for name in sorted(saved):
            if selects_nothing(self.get(name)) and name not in self._reported:
                others = [other for other in self._by_name if not selects_nothing(self.get(other))]
                error = InvalidCollectionConfiguration(name, did_you_mean(name, others))
                if strict:
                    raise error
                self._reported.add(name)
                LOG.error("a collection is left out: %s", error)
        for collection in self._by_name.values():
            resolve_settings(collection, save_config, reduction_config)
            own = collection.save_config
            if own is not None and own not in (save_config, self._checked.get(collection.name)):
                self._checked[collection.name] = own
                warn_never_saves(own, f"collection {collection.name!r}")
        LOG.debug("collections to save: %s", ", ".join(sorted(saved)))
        return SavePlan(list(self._by_name.values()), frozenset(saved))

    def note(self, tensor_name: str, collections: tuple[str, ...]) -> None:
        """Remember that a tensor was saved as a member of `collections`."""
        if (tensor_name, collections) in self._noted:
            return
        self._noted.add((tensor_name, collections))
        for name in collections:
            if not self._by_name[name].has_tensor_name(tensor_name):
                self._by_name[name].add_tensor_name(tensor_name)
                self.has_news = True

    def note_told(self, name: str) -> None:
        """Remember that the script was told that a collection stays empty."""
        self._reported.add(name)

    def shortfalls(
        self, asked: Iterable[str], builtin_patterns: Mapping[str, Iterable[str]], hints: Mapping[str, str]
    ) -> list[str]:
        """Return a sentence for each thing that these collections should have saved and did not, once.

        Args:
            asked: Names of the collections that were asked for and due; those told of earlier are left out.
            builtin_patterns: The collections of the framework, with their patterns.
            hints: Collection → how to have tensors saved in it.
        """
        saved_names: dict[str, set[str]] = {}
        for tensor_name, collections in self._noted:
            for name in collections:
                saved_names.setdefault(name, set()).add(tensor_name)
        members = [self.get(name) for name in sorted(asked) if name not in self._reported]
        return list(find_shortfalls(members, saved_names, builtin_patterns, hints))

    def export(self) -> list[dict[str, Any]]:
        """Return all collections as the collections file spells them."""
        self.has_news = False
        return [collection.to_json_dict() for collection in self._by_name.values()]
