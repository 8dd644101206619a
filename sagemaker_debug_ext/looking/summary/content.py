"""`Summary`: what a report shows of a trial, and its form as bytes: a checksum, then JSON and arrays, compressed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.looking.curves import Curve
from sagemaker_debug_ext.looking.material import Material, Verdict
from sagemaker_debug_ext.looking.measures import MEASURES, LayerGrid, LayerMeasures
from sagemaker_debug_ext.looking.ranks import RankDeviations
from sagemaker_debug_ext.looking.story import SavedCollection
from sagemaker_debug_ext.rules.evaluation.status import RuleStatus
from sagemaker_debug_ext.rules.explain import Explanation
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.store.consolidated.fingerprint import Fingerprint
from sagemaker_debug_ext.store.consolidated.table import DAMAGE as TABLE_DAMAGE
from sagemaker_debug_ext.store.format.records import masked_crc
from sagemaker_debug_ext.vocabulary import ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

DAMAGE: Final = (*TABLE_DAMAGE, AttributeError, zlib.error)
"""Errors that `Summary.decode` raises for bytes that are not a summary."""

_MAGIC: Final = b"sagemaker_debug_ext summary 1\n"


@attrs.frozen(eq=False, kw_only=True)
class Summary:
    """What a report shows of a trial.

    Args:
        label: Version of the package that wrote the summary.
        files: Fingerprint of the trial.
        rules: Description of the rules whose verdict it holds; see `keeping.describe_rules`.
        material: What was read of the trial, with the verdict.
        parts: Event file, start and content of the parts of event files that views read themselves.
    """

    label: str
    files: Fingerprint
    rules: list[list[str]]
    material: Material
    parts: Sequence[tuple[str, int, bytes]]

    def encode(self) -> bytes:
        """Return the bytes of the summary."""
        arrays = Arrays()
        verdict, measures, ranks = self.material.verdict, self.material.measures, self.material.ranks
        head = {
            "label": self.label,
            "files": attrs.astuple(self.files),
            "rules": self.rules,
            "verdict": verdict
            and {
                "issues": [issue.to_json_dict() for issue in verdict.issues],
                "statuses": [status.to_json_dict() for status in verdict.statuses],
                "explanations": {name: found.to_json_dict() for name, found in verdict.explanations.items()},
            },
            "grids": [
                [name, grid.tensors, *map(arrays.put, (grid.steps, grid.values, grid.saved)), grid.source]
                for name, grid in measures.grids.items()
            ],
            "num_steps": [measures.num_read, measures.num_steps],
            "curves": [
                [curve.name, curve.mode.name, *map(arrays.put, (curve.steps, curve.values)), curve.is_loss, curve.note]
                for curve in self.material.curves
            ],
            "curve_names": self.material.curve_names,
            "ranks": ranks
            and [
                ranks.measure,
                ranks.workers,
                *map(arrays.put, (ranks.steps, ranks.octaves, ranks.saved)),
                ranks.tensors,
                ranks.last_steps,
            ],
            "collections": [attrs.asdict(collection) for collection in self.material.collections],
            "parts": [[key, start, arrays.put(np.frombuffer(part, np.uint8))] for key, start, part in self.parts],
        }
        text = json.dumps(head).encode()
        body = zlib.compress(len(text).to_bytes(8, "little") + text + arrays.content, 1)
        return _MAGIC + masked_crc(body).to_bytes(4, "little") + body

    @classmethod
    def decode(cls, data: bytes, trial: Trial) -> Summary:
        """Return the summary of a trial from its bytes; the inverse of `encode`.

        Raises:
            ValueError: The bytes are not a summary; the other errors in `DAMAGE` mean the same.
        """
        start = len(_MAGIC) + 4
        if not data.startswith(_MAGIC) or int.from_bytes(data[start - 4 : start], "little") != masked_crc(data[start:]):
            raise ValueError("not a summary, or a damaged one")
        body = zlib.decompress(data[start:])
        end = 8 + int.from_bytes(body[:8], "little")
        head: dict[str, Any] = json.loads(body[8:end])
        arrays = Arrays(body[end:])
        return cls(
            label=head["label"],
            files=Fingerprint(*head["files"]),
            rules=head["rules"],
            material=_material(head, arrays, trial),
            parts=[(key, start, arrays.get(place).tobytes()) for key, start, place in head["parts"]],
        )


class Arrays:
    """Arrays one after the other; each is found by its start, type and shape."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = bytearray(content)

    def put(self, array: Any) -> list[Any]:
        """Add an array, and return its place."""
        added = np.asarray(array)
        start = len(self.content)
        self.content += added.tobytes()
        return [start, added.dtype.str, added.shape]

    def get(self, place: Sequence[Any]) -> npt.NDArray[Any]:
        """Return the array at a place."""
        start, name, shape = place
        kind = np.dtype(name)
        if kind.kind not in "biuf":  # others hold addresses
            raise ValueError(f"an array of numbers was expected (got {name!r})")
        found: npt.NDArray[Any] = np.ndarray(shape, kind, self.content, start)
        return found

    def steps(self, place: Sequence[Any]) -> tuple[int, ...]:
        """Return the array at a place as a tuple of whole numbers."""
        return tuple(map(int, self.get(place).tolist()))


def _material(head: dict[str, Any], arrays: Arrays, trial: Trial) -> Material:
    verdict, ranks = head["verdict"], head["ranks"]
    grids = {
        name: LayerGrid(
            MEASURES[name], tuple(tensors), arrays.steps(steps), arrays.get(values), arrays.get(saved), text
        )
        for name, tensors, steps, values, saved, text in head["grids"]
    }
    return Material(
        trial=trial,
        verdict=verdict
        and Verdict(
            issues=tuple(map(Issue.from_json_dict, verdict["issues"])),
            statuses=tuple(RuleStatus(**status) for status in verdict["statuses"]),
            explanations={
                name: Explanation.from_json_dict(of_rule) for name, of_rule in verdict["explanations"].items()
            },
        ),
        measures=LayerMeasures(grids, *head["num_steps"]),
        curves=tuple(
            Curve(name, ModeKeys[mode], arrays.steps(steps), arrays.get(values), is_loss, note)
            for name, mode, steps, values, is_loss, note in head["curves"]
        ),
        curve_names=tuple(head["curve_names"]),
        ranks=ranks and _ranks(arrays, *ranks),
        collections=tuple(SavedCollection(**collection) for collection in head["collections"]),
    )


def _ranks(
    arrays: Arrays,
    measure: str,
    workers: list[str],
    steps: list[Any],
    octaves: list[Any],
    saved: list[Any],
    tensors: list[str],
    last_steps: list[int],
) -> RankDeviations:
    return RankDeviations(
        measure=measure,
        workers=tuple(workers),
        steps=arrays.steps(steps),
        octaves=arrays.get(octaves),
        saved=arrays.get(saved),
        tensors=tuple(tensors),
        last_steps=tuple(last_steps),
    )
