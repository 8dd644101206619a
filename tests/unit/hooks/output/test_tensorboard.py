"""Files for TensorBoard: one for each saved step, with true checksums."""

import struct

import numpy as np
import pytest

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.hooks.capture.collection_set import CollectionSet
from sagemaker_debug_ext.hooks.capture.counters import StepPosition
from sagemaker_debug_ext.hooks.capture.step_buffer import SummarySpec
from sagemaker_debug_ext.hooks.output.tensorboard import Summary, TensorBoardOutput, clean_tag, summary_spec_for
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.store.format import records
from sagemaker_debug_ext.vocabulary import ModeKeys


def payloads(content):
    """Take a file apart, checking every checksum."""
    found = []
    while content:
        length, length_crc = struct.unpack_from("<QI", content)
        assert records.masked_crc(content[:8]) == length_crc
        payload = content[12 : 12 + length]
        assert struct.unpack_from("<I", content, 12 + length)[0] == records.masked_crc(bytes(payload))
        found.append(bytes(payload))
        content = content[16 + length :]
    return found


def test_write_step_when_there_is_something_then_writes_a_checked_file():
    """The file begins with its version, and holds an event for each summary."""
    backend = MemoryBackend()
    output = TensorBoardOutput(backend)
    summaries = [
        Summary("scalar/lr", np.array([0.5]), 1.0, True),
        Summary("weights/w:0", np.ones((2, 3)), 1.0, False),
        Summary("weights/text", np.array(["a"]), 1.0, False),
    ]
    output.write_step(StepPosition(7, ModeKeys.TRAIN, 3), summaries)
    (info,) = backend.list()
    assert info.key.startswith("TRAIN/000000000007_")
    assert info.key.endswith(".tfevents")
    version, scalar, histogram = payloads(backend.read(info.key))
    assert b"brain.Event:2" in version
    assert b"scalar/lr" in scalar
    assert scalar.endswith(struct.pack("<f", 0.5))
    assert b"weights/w_0" in histogram


def test_write_step_when_there_is_nothing_then_writes_no_file():
    """What cannot be shown leaves no trace."""
    backend = MemoryBackend()
    TensorBoardOutput(backend).write_step(
        StepPosition(0, ModeKeys.TRAIN, 0), [Summary("a", np.ones(0), 0.0, True), Summary("b", np.ones(0), 0.0, False)]
    )
    assert backend.list() == []


def test_write_step_when_scalar_has_several_values_then_shows_their_mean():
    """A loss that has a number for each sample is a curve all the same."""
    backend = MemoryBackend()
    summaries = [Summary("loss", np.array([1.0, 2.0, 6.0]), 0.0, True)]
    TensorBoardOutput(backend).write_step(StepPosition(0, ModeKeys.TRAIN, 0), summaries)
    (info,) = backend.list()
    assert payloads(backend.read(info.key))[1].endswith(struct.pack("<f", 3.0))


@pytest.mark.parametrize(("name", "tag"), [("a b:0", "a_b_0"), ("/x/y.z-1", "x/y.z-1"), ("ö", "ö")])
def test_clean_tag_when_name_has_other_characters_then_replaces_them(name, tag):
    """TensorBoard's tags know letters, digits and a few signs."""
    assert clean_tag(name) == tag


@pytest.fixture
def collections():
    found = CollectionSet(Collection, dict.fromkeys(("all", "default", "weights", "losses"), ()), saved=[])
    found.add(Collection("hidden", [".*"], save_histogram=False))
    return found


@pytest.mark.parametrize(
    ("members", "tag"),
    [
        (("weights",), "weights/w"),
        (("all", "default", "weights"), "weights/w"),
        (("all", "default"), "all/w"),
        (("hidden", "weights"), "weights/w"),
    ],
    ids=["one collection", "catch-alls come last", "catch-alls only", "one shows no histograms"],
)
def test_find_shown_when_it_is_no_number_then_is_a_histogram_of_a_collection(collections, members, tag):
    """The tag begins with the collection that says most of the tensor."""
    assert summary_spec_for("w", members, collections) == SummarySpec(tag, is_scalar=False)


def test_find_shown_when_a_collection_holds_scalars_then_is_a_number(collections):
    """Its tag is its name."""
    assert summary_spec_for("loss", ("default", "losses"), collections) == SummarySpec("loss", is_scalar=True)


def test_find_shown_when_no_collection_shows_histograms_then_is_nothing(collections):
    """Collections may be told to show none."""
    assert summary_spec_for("w", ("hidden",), collections) is None
