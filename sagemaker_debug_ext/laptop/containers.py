"""Containers of jobs: a namespace of the kernel in which the job's folder is ``/opt/ml``.

The local runner replaces ``/opt/ml`` in the request and in variables by the job's folder. Scripts that name ``/opt/ml``
themselves, such as those that SDK v3 adds to its jobs, need the folder under that name. Linux permits this without
privileges, unless the distribution forbids user namespaces.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Final

from sagemaker_debug_ext.local.layout import JobFolder

# Where /opt/ml does not exist and may not be created, /opt is rebuilt in memory with all its entries.
_ENTER: Final = """
set -e
if ! mkdir -p /opt/ml 2>/dev/null; then
    old=$(mktemp -d)
    mount --rbind /opt "$old"
    mount -t tmpfs tmpfs /opt
    for entry in "$old"/*; do
        if [ -d "$entry" ]; then
            mkdir "/opt/${entry##*/}"
            mount --rbind "$entry" "/opt/${entry##*/}"
        fi
    done
    mkdir /opt/ml
fi
mount --bind "$1" /opt/ml
shift
exec "$@"
"""
_COMMAND: Final = ("unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c", _ENTER, "sh")
_PROBE_SECONDS: Final = 10


def enter_namespace(folder: JobFolder, command: Sequence[str]) -> list[str]:
    """Return the command that runs a command in a namespace in which the job's folder is ``/opt/ml``."""
    return [*_COMMAND, str(folder.ml), *command]


@functools.cache
def has_namespaces() -> bool:
    """Return whether this machine permits `enter_namespace`."""
    if shutil.which(_COMMAND[0]) is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        try:
            probe = subprocess.run(  # noqa: S603 - our own command
                [*_COMMAND, folder, "true"], capture_output=True, check=False, timeout=_PROBE_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return probe.returncode == 0
