"""One writing process per trial: the claim on a folder (store format, section 1.3).

Two processes that do not know of each other, and so both call themselves ``worker_0``, must not write to one folder.
The first takes the claim. A claim says whose it is, so that one left behind by a process that was killed is taken over.
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
"""Root → number of the process that has claimed it and not given it back: this one, or the one it was forked from."""


def owns_claim(backend: Backend) -> bool:
    """Return whether a hook of this very process writes to a trial, and has it for itself."""
    return _OWN_CLAIMS.get(backend.url) == os.getpid()


def acquire_claim(backend: LocalBackend) -> bool:
    """Claim a trial for this process; False if a process that may still run has it.

    A claim without an owner's name, as other writers leave it, is respected.

    Raises:
        OSError: The claim cannot be written.
    """
    if backend.create(CLAIM_KEY):
        try:
            backend.write(CLAIM_KEY, (_own_name(),))
        except OSError:
            backend.delete(CLAIM_KEY)  # a claim that does not say whose it is would lock the folder for good
            raise
    elif not _take_over(backend.root / CLAIM_KEY, backend.url):
        return False
    _OWN_CLAIMS[backend.url] = os.getpid()
    return True


def release_claim(backend: Backend) -> None:
    """Remove the claim that `acquire_claim` took."""
    _OWN_CLAIMS.pop(backend.url, None)
    backend.delete(CLAIM_KEY)


def _take_over(path: Path, root: str) -> bool:
    """Put this process's name into an abandoned claim; of several that try, one wins.

    The claim is evaluated and rewritten under a lock, in place: whoever waits for the lock then finds a living owner.
    """
    try:
        claim = path.open("r+b")
    except FileNotFoundError:  # given back this moment
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
    """Return whether an open file still lies at its path, and has not been given back or replaced meanwhile."""
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
    except OSError:  # it runs, and belongs to someone else
        return True
    return True


def _own_name() -> bytes:
    return json.dumps(_identity(os.getpid())).encode()


def _identity(pid: int) -> dict[str, Any]:
    return {"host": platform.node(), "pid": pid, "started": _start_ticks(pid)}


def _start_ticks(pid: int) -> str | None:
    """Return when a process started, in the kernel's own count; tells it from a later one with its number."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # no such file system, or no such process
        return None
    return status.rpartition(")")[2].split()[19]
