"""A reader of TensorBoard's files that needs no TensorBoard."""

from __future__ import annotations

import struct
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from sagemaker_debug_ext.store.format.records import masked_crc


class Board(NamedTuple):
    """What TensorBoard would show: for each tag, step → value of a scalar, and step → number of values counted."""

    scalars: dict[str, dict[int, float]]
    histograms: dict[str, dict[int, float]]


def read_board(folder):
    """Read all event files of a folder and of those below it."""
    scalars, histograms = defaultdict(dict), defaultdict(dict)
    for path in sorted(Path(folder).rglob("*.tfevents*")):
        for event in map(_parse, _payloads(path.read_bytes())):
            step = event.get(2, [0])[0]
            for summary in event.get(5, ()):
                for value in map(_parse, _parse(summary).get(1, ())):
                    tag = value[1][0].decode()
                    if 2 in value:
                        (scalars[tag][step],) = struct.unpack("<f", value[2][0])
                    if 5 in value:
                        (histograms[tag][step],) = struct.unpack("<d", _parse(value[5][0])[3][0])
    return Board(dict(scalars), dict(histograms))


def _payloads(content):
    while content:
        length, checksum = struct.unpack_from("<QI", content)
        assert masked_crc(content[:8]) == checksum
        payload = content[12 : 12 + length]
        assert struct.unpack_from("<I", content, 12 + length)[0] == masked_crc(payload)
        yield payload
        content = content[16 + length :]


def _parse(message):
    """Return the values of each field of a protobuf message: numbers, or bytes."""
    fields, at = defaultdict(list), 0
    while at < len(message):
        key, at = _varint(message, at)
        if key & 7 == 0:
            value, at = _varint(message, at)
        else:
            length = {1: 8, 5: 4}.get(key & 7)
            if length is None:
                length, at = _varint(message, at)
            value, at = message[at : at + length], at + length
        fields[key >> 3].append(value)
    return fields


def _varint(message, at):
    number = shift = 0
    while True:
        number |= (message[at] & 127) << shift
        shift += 7
        at += 1
        if message[at - 1] < 128:
            return number, at
