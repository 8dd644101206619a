"""One writing process per trial: the claim on a folder (store format, section 1.3).

Two processes that do not know of each other, and so both call themselves ``worker_0``, must not write to one folder.
The first takes the claim. A claim says whose it is, so that one left behind by a process that was killed is taken over.
"""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

from sagemaker_debug_ext.store import manifest
from sagemaker_debug_ext.store.backends import Backend
from sagemaker_debug_ext.store.keys import CLAIM_KEY

_OWN_CLAIMS: set[str] = set()
"""Roots that this process has claimed and not given back."""


def take_claim(backend: Backend) -> bool:
    """Claim a trial for this process; False if a process that may still run has it.

    A claim without an owner's name, as other writers leave it, is respected.
    """
    if not manifest.claim(backend) and not _is_abandoned(backend):
        return False
    try:
        backend.write(CLAIM_KEY, (json.dumps(_identity(os.getpid())).encode(),))
    except OSError:
        manifest.release_claim(backend)  # a claim that does not say whose it is would lock the folder for good
        raise
    _OWN_CLAIMS.add(backend.url)
    return True


def give_claim_back(backend: Backend) -> None:
    """Remove the claim that `take_claim` took."""
    _OWN_CLAIMS.discard(backend.url)
    manifest.release_claim(backend)


def _is_abandoned(backend: Backend) -> bool:
    try:
        owner = json.loads(bytes(backend.read(CLAIM_KEY) or b"null"))
    except ValueError:
        return False
    if not isinstance(owner, dict) or owner.get("host") != platform.node() or not isinstance(owner.get("pid"), int):
        return False
    if owner["pid"] == os.getpid():
        return backend.url not in _OWN_CLAIMS
    return not _is_running(owner["pid"]) or _identity(owner["pid"]) != owner


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it runs, and belongs to someone else
        return True
    return True


def _identity(pid: int) -> dict[str, Any]:
    return {"host": platform.node(), "pid": pid, "started": _start_ticks(pid)}


def _start_ticks(pid: int) -> str | None:
    """Return when a process started, in the kernel's own count; tells it from a later one with its number."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # no such file system, or no such process
        return None
    return status.rpartition(")")[2].split()[19]
