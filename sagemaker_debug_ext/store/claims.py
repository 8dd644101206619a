"""One writing process per trial: the claim on a folder (store format, section 1.3).

Independent processes that both use the name ``worker_0`` must not write to the same folder. The first process acquires
the claim. A claim names its owner, so that the claim of a killed process can be taken over.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
from pathlib import Path
from typing import Any

from sagemaker_debug_ext.store.backends import Backend, LocalBackend
from sagemaker_debug_ext.store.format.keys import CLAIM_KEY

_OWN_CLAIMS: dict[str, int] = {}
"""Root → ID of the process that holds the claim: this process, or the one that it was forked from."""


def owns_claim(backend: Backend) -> bool:
    """Return whether this process, and not only its parent, holds the claim on a trial."""
    return _OWN_CLAIMS.get(backend.url) == os.getpid()


def acquire_claim(backend: LocalBackend) -> bool:
    """Claim a trial for this process; return False if a process that may still run holds the claim.

    A claim without an owner's name, which other writers leave, is respected.

    Raises:
        OSError: The claim cannot be written.
    """
    if backend.create(CLAIM_KEY):
        try:
            backend.write(CLAIM_KEY, (_own_name(),))
        except OSError:
            backend.delete(CLAIM_KEY)  # a claim without an owner would lock the folder forever
            raise
    elif not _take_over(backend.root / CLAIM_KEY, backend.url):
        return False
    _OWN_CLAIMS[backend.url] = os.getpid()
    return True


def release_claim(backend: Backend) -> None:
    """Remove the claim of this process."""
    _OWN_CLAIMS.pop(backend.url, None)
    backend.delete(CLAIM_KEY)


def _take_over(path: Path, root: str) -> bool:
    """Write this process's name into an abandoned claim; if several processes try, one wins.

    The claim is checked and rewritten in place under a lock, so that processes waiting for the lock find a live owner.
    """
    try:
        claim = path.open("r+b")
    except FileNotFoundError:  # released since the attempt to create it
        return False
    with claim:
        fcntl.flock(claim, fcntl.LOCK_EX)
        if not _is_abandoned(claim.read(), root) or not _is_same_file(claim.fileno(), path):
            return False
        claim.seek(0)
        claim.truncate()
        claim.write(_own_name())
    return True


def _is_same_file(descriptor: int, path: Path) -> bool:
    """Return whether an open file is still the one at its path, that is, it was not removed or replaced."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _is_abandoned(content: bytes, root: str) -> bool:
    try:
        owner = json.loads(content or b"null")
    except ValueError:
        return False
    if not isinstance(owner, dict) or owner.get("host") != platform.node() or not isinstance(owner.get("pid"), int):
        return False
    if owner["pid"] == os.getpid():
        return root not in _OWN_CLAIMS
    return not _is_running(owner["pid"]) or _identity(owner["pid"]) != owner


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # the process runs as another user
        return True
    return True


def _own_name() -> bytes:
    return json.dumps(_identity(os.getpid())).encode()


def _identity(pid: int) -> dict[str, Any]:
    return {"host": platform.node(), "pid": pid, "started": _start_ticks(pid)}


def _start_ticks(pid: int) -> str | None:
    """Return the start time of a process in kernel ticks, which distinguishes it from a later one with its ID."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # no such file system, or no such process
        return None
    return status.rpartition(")")[2].split()[19]
