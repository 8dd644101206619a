"""Listing objects on S3: page by page, folders in parallel, and only what is new."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

from sagemaker_debug_ext.store.backends.base import Backend, Changes, ObjectInfo, Watch

_S = TypeVar("_S")
_T = TypeVar("_T")

_MD5_TAG: Final = re.compile(r'"?[0-9a-f]{32}"?')
"""ETag of an object that was uploaded in one part. With a KMS key it has the same form but is not a checksum."""


class _Parallel(Protocol):
    def __call__(self, ask: Callable[[_S], _T], questions: Sequence[_S]) -> Sequence[_T | OSError]: ...


class Listing:
    """Lists the objects below a root.

    Args:
        root: The start of all keys, which is removed from the results.
        request_page: Requests one page of the keys with a prefix (ListObjectsV2).
        parallel: Calls a function for several arguments at once; errors are returned, not raised.
    """

    def __init__(self, root: str, request_page: Callable[..., Any], parallel: _Parallel) -> None:
        self._root = root
        self._request_page = request_page
        self._parallel = parallel

    def pages(self, prefix: str, after: str = "") -> Iterator[Sequence[ObjectInfo]]:
        """Yield the objects whose keys start with `prefix`, one sequence per request.

        If one response does not hold all objects, the rest is listed folder by folder, in parallel.

        Args:
            prefix: As for `Backend.list`.
            after: Only list keys after this one.
        """
        found, token = self._page(prefix, after)
        yield found
        if token and prefix.endswith("/"):
            yield from self._list_folders(prefix, found[-1].key)
            return
        while token:
            found, token = self._page(prefix, token=token)
            yield found

    def _list_folders(self, prefix: str, after: str) -> Iterator[Sequence[ObjectInfo]]:
        """Yield the objects after a key, listing the folders directly below `prefix` in parallel, in any order."""
        name, slash, _ = after.removeprefix(prefix).partition("/")
        folders = {prefix + name + slash} if slash else set()  # even if the server does not list it
        more = {"StartAfter": self._root + after}
        while more:
            page = self._request_page(prefix, Delimiter="/", **more)
            yield [self._info(item) for item in page.get("Contents", ())]
            folders.update(folder["Prefix"][len(self._root) :] for folder in page.get("CommonPrefixes", ()))
            token = page.get("NextContinuationToken")
            more = {"ContinuationToken": token} if token else {}
        for pages in self._parallel(lambda folder: self._pages_of(folder, after), sorted(folders)):
            if isinstance(pages, OSError):
                raise pages
            yield from pages

    def _pages_of(self, folder: str, after: str) -> Sequence[Sequence[ObjectInfo]]:
        found, token = self._page(folder, after if after.startswith(folder) else "")
        pages = [found]
        while token:
            found, token = self._page(folder, token=token)
            pages.append(found)
        return pages

    def _page(self, prefix: str, after: str = "", token: str = "") -> tuple[Sequence[ObjectInfo], str | None]:
        """Return the objects of one response, and the token for the next page; None if there is none."""
        more = {"ContinuationToken": token} if token else {"StartAfter": self._root + after} if after else {}
        page = self._request_page(prefix, **more)
        return [self._info(item) for item in page.get("Contents", ())], page.get("NextContinuationToken")

    def _info(self, item: Mapping[str, Any]) -> ObjectInfo:
        modified = item.get("LastModified")
        tag = item.get("ETag", "")
        return ObjectInfo(
            item["Key"][len(self._root) :],
            item["Size"],
            f"{tag}-{item['Size']}",
            modified.timestamp() if modified is not None else 0.0,
            tag.strip('"') if _MD5_TAG.fullmatch(tag) else "",
        )


class S3Watch(Watch):
    """Lists the objects after the settled steps only, and all objects when asked to.

    Args:
        backend: The back end.
        prefix: The prefix of the keys to watch.
        list_pages: Lists the keys with a prefix after a key, one sequence per request.
    """

    def __init__(
        self, backend: Backend, prefix: str, list_pages: Callable[[str, str], Iterator[Sequence[ObjectInfo]]]
    ) -> None:
        super().__init__(backend, prefix)
        self._list_pages = list_pages

    def look(self, settled: str = "") -> Changes:
        return self._look_after(settled if settled.startswith(self._prefix) else "")

    def look_at_all(self) -> Changes:
        return self._look_after("")

    def _look_after(self, settled: str) -> Changes:
        pages = list(self._list_pages(self._prefix, settled))
        changed = self._take_in(itertools.chain.from_iterable(pages), settled)
        # One response shows one instant. A second response may hold objects that are newer than the first.
        return Changes(sorted(changed), is_snapshot=len(pages) == 1 or not changed)
