"""One writing process per trial: the claim on a folder (store format, section 1.3).

Independent processes that both use the name ``worker_0`` must not write to the same folder. The first process acquires
the claim. A claim names its owner, so that the claim of a killed process can be taken over.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
from pathlib import Path
from typing import Any, Final

from sagemaker_debug_ext.store.backends import Backend, LocalBackend
from sagemaker_debug_ext.store.backends.fileio import create_anew, renamed_at_end
from sagemaker_debug_ext.store.backends.folders import OpenFolder
from sagemaker_debug_ext.store.format.keys import CLAIM_KEY

_REPLACEMENT: Final = f"{CLAIM_KEY}.tmp"
_MAX_NAME_BYTES: Final = 1 << 12
_NO_HARD_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)

_OWN_CLAIMS: dict[str, tuple[int, Backend]] = {}
"""Root → who holds the claim: the process, which is this one or the one that it was forked from, and its back end."""


def owns_claim(backend: Backend) -> bool:
    """Return whether this process, and not only its parent, holds the claim on a trial."""
    process_id, _ = _OWN_CLAIMS.get(backend.url, (None, None))
    return process_id == os.getpid()


def acquire_claim(backend: LocalBackend) -> bool:
    """Claim a trial for this process; return False if a process that may still run holds the claim.

    A claim appears together with its owner's name. An empty claim, which an interrupted or another writer leaves,
    belongs to nobody. A claim with other content is respected. Acquiring a claim again with the same back end has no
    effect, so that an interrupted call can be repeated.

    Raises:
        OSError: The claim cannot be written.
    """
    if _OWN_CLAIMS.get(backend.url) == (os.getpid(), backend):
        return True
    if not _create(backend) and not _take_over(backend.url):
        return False
    _OWN_CLAIMS[backend.url] = (os.getpid(), backend)
    return True


def _create(backend: LocalBackend) -> bool:
    """Create the claim with this process's name; without it where the file system has no hard links."""
    try:
        return backend.create(CLAIM_KEY, _own_name())
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
    backend.create(CLAIM_KEY)
    return False


def release_claim(backend: Backend) -> None:
    """Remove the claim of this process."""
    _OWN_CLAIMS.pop(backend.url, None)
    backend.delete(CLAIM_KEY)


def _take_over(root: str) -> bool:
    """Replace an abandoned claim by one with this process's name; if several processes try, one wins.

    The claim is checked and replaced while it is locked, so that processes that wait for the lock find another file.
    """
    with OpenFolder(root, "") as folder:
        try:
            claim = os.open(CLAIM_KEY, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except FileNotFoundError:  # released since the attempt to create it
            return False
        try:
            fcntl.flock(claim, fcntl.LOCK_EX)
            if not _is_abandoned(os.pread(claim, _MAX_NAME_BYTES, 0), root) or not _is_same_file(claim, folder):
                return False
            descriptor = create_anew(_REPLACEMENT, folder)
            with renamed_at_end(_REPLACEMENT, CLAIM_KEY, folder), open(descriptor, "wb") as replacement:
                replacement.write(_own_name())
        finally:
            os.close(claim)
    return True


def _is_same_file(descriptor: int, folder: int) -> bool:
    """Return whether an open claim is still the one in the folder, that is, it was not removed or replaced."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(CLAIM_KEY, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _is_abandoned(content: bytes, root: str) -> bool:
    if not content:
        return True
    try:
        owner = json.loads(content)
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
