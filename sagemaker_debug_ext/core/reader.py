"""Reading an event file without its index, as tests and rule containers for Debugger do."""

from __future__ import annotations

import errno
import os
import re
import struct
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Final

from sagemaker_debug_ext.errors import CorruptRecordError, SMDebugNotImplementedError
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.format.messages import Array, DecodedTensor, decode_payload
from sagemaker_debug_ext.store.format.records import FRAMING_BYTES, unframe
from sagemaker_debug_ext.vocabulary import ModeKeys

__all__ = ["FileReader"]

_LENGTH: Final = struct.Struct("<Q")


class FileReader:
    """Reads the tensors of an event file one after the other.

    Args:
        fname: Path or S3 URL of the file.
        wtype: ``tfevent``, the only kind of file.

    Raises:
        FileNotFoundError: There is no such file.
        OSError: The file cannot be read.
        SMDebugNotImplementedError: `wtype` is another kind.
    """

    def __init__(self, fname: str | os.PathLike[str], wtype: str = "tfevent") -> None:
        if wtype != "tfevent":
            raise SMDebugNotImplementedError(f"wtype must be 'tfevent' (got {wtype!r})")
        self._name = os.fspath(fname)
        folder, _, key = self._name.rpartition("/")
        content = open_backend(folder or (os.curdir if key == self._name else "/")).read(key)
        if content is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self._name)
        self._content = memoryview(content)

    def read_tensors(
        self,
        check: str | bool = "minimal",  # noqa: ARG002 - part of the API
    ) -> Iterator[tuple[str, int, Array, ModeKeys, int]]:
        """Yield name, global step, value, mode and step within the mode of each tensor.

        Args:
            check: Has no effect: every checksum is checked.

        Raises:
            CorruptRecordError: A record is damaged or truncated; the tensors before it have been yielded.
        """
        for found in self._decode():
            yield found.name, found.step, found.value, found.mode, found.mode_step

    def read_events(
        self,
        check: str | bool = "minimal",  # noqa: ARG002 - part of the API
        regex_list: Sequence[str] | None = None,
    ) -> list[dict[str, Any]]:
        """Return the tensors of the file as dictionaries.

        Args:
            check: Has no effect: every checksum is checked.
            regex_list: Regular expressions, one of which must match somewhere in a name; None for all tensors.

        Returns:
            For each tensor, in the order of the file: ``timestamp`` in seconds since the epoch, global ``step``,
            ``name`` and ``value``, an array.

        Raises:
            CorruptRecordError: A record is damaged or truncated.
        """
        return [
            {"timestamp": found.wall_time, "step": found.step, "name": found.name, "value": found.value}
            for found in self._decode()
            if regex_list is None or any(re.search(regex, found.name) for regex in regex_list)
        ]

    def _decode(self) -> Iterator[DecodedTensor]:
        at = 0
        while at < len(self._content):
            where = f"{self._name}, byte {at}"
            left = self._content[at:]
            if len(left) < FRAMING_BYTES:
                raise CorruptRecordError(where, f"record of {len(left)} bytes is shorter than its framing")
            length = _LENGTH.unpack_from(left)[0] + FRAMING_BYTES
            yield decode_payload(unframe(left[:length], where), where)
            at += length

    def __enter__(self) -> FileReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._content = memoryview(b"")
