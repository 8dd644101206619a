"""What a sampler is told: where to write, how often, and for which machine."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from typing import Any, Final

import attrs

from sagemaker_debug_ext.errors import SMDebugValueError

MIN_INTERVAL_MILLIS: Final = 100
MAX_INTERVAL_MILLIS: Final = 60_000
_NODE: Final = re.compile(r"algo-\d+")


def _to_text(path: str | os.PathLike[str]) -> str:
    return os.fspath(path)


@attrs.frozen(kw_only=True)
class SamplerSettings:
    """Settings of a sampler.

    Args:
        output_path: The folder ``profiler-output``.
        interval_millis: Milliseconds between samples, from 100 to 60,000.
        node: The machine, as the files name it: ``algo-`` and a number.
        upload_to: Another folder, such as one on S3, to which all files below `output_path` are copied; None for none.
        config_path: A file ``profilerconfig.json`` by which the interval may be changed while sampling; None for none.

    Raises:
        SMDebugValueError: A value is not allowed.
    """

    output_path: str = attrs.field(converter=_to_text)
    interval_millis: int = 500
    node: str = "algo-1"
    upload_to: str | None = None
    config_path: str | None = None

    def __attrs_post_init__(self) -> None:
        interval: object = self.interval_millis
        if (
            not isinstance(interval, int)
            or isinstance(interval, bool)
            or not MIN_INTERVAL_MILLIS <= interval <= MAX_INTERVAL_MILLIS
        ):
            raise SMDebugValueError(
                f"SamplerSettings.interval_millis must be a whole number from {MIN_INTERVAL_MILLIS} to "
                f"{MAX_INTERVAL_MILLIS} (got {interval!r})"
            )
        if not _NODE.fullmatch(str(self.node)):
            raise SMDebugValueError(f"SamplerSettings.node must be algo-<number> (got {self.node!r})")
        if not self.output_path or "://" in self.output_path:
            raise SMDebugValueError(
                f"SamplerSettings.output_path must be a folder of this machine (got {self.output_path!r})"
            )

    def to_json(self) -> str:
        """Return the settings as text for another process."""
        return json.dumps(attrs.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> SamplerSettings:
        """Return the settings of a text of `to_json`."""
        values: dict[str, Any] = json.loads(text)
        return cls(**values)

    def lock_path(self, holder: str) -> str:
        """Return the lock file by which processes of this machine elect one sampler for an output folder.

        Args:
            holder: Role of the holder: ``launch`` a sampler, or ``sample``.
        """
        name = hashlib.sha256(f"{os.path.realpath(self.output_path)}\n{self.node}".encode()).hexdigest()[:16]
        user = os.getuid() if hasattr(os, "getuid") else 0
        return os.path.join(tempfile.gettempdir(), f"sagemaker-debug-ext-{user}-{name}.{holder}.lock")
