"""Make room in a folder for another trial."""

from __future__ import annotations

import os
from typing import Final

from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugValueError
from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.store.backends import Backend, LocalBackend
from sagemaker_debug_ext.store.claims import acquire_claim, owns_claim, release_claim
from sagemaker_debug_ext.store.erasing import erase_trial
from sagemaker_debug_ext.store.format.keys import CLAIM_KEY

_NUM_PROCESSES_VARIABLES: Final = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE")


def make_room(backend: Backend, is_wanted: bool) -> Backend:
    """Return a back end, having deleted its trial if that is wanted, or if the script has deleted the folder."""
    if is_wanted or _was_removed(backend):
        overwrite_trial(backend)
    return backend


def _was_removed(backend: Backend) -> bool:
    """Return whether the script has deleted the folder to which an open hook of this process writes.

    Its claim is gone then, whereas other files may come anew from the thread that writes.
    """
    is_gone = isinstance(backend, LocalBackend) and not os.path.lexists(os.path.join(backend.root, CLAIM_KEY))
    return is_gone and owns_claim(backend) and not _variables_of_many()


def _variables_of_many() -> list[str]:
    """Return the environment variables that tell of several processes."""
    return [name for name in _NUM_PROCESSES_VARIABLES if os.environ.get(name, "1") != "1"]


def overwrite_trial(backend: Backend) -> None:
    """Delete the trial that a folder holds, if it holds one.

    Hooks of this process that are open for the folder are closed first: they are of an earlier run of the same notebook
    cell.

    Raises:
        SMDebugRuntimeError: Another process writes the trial.
        SMDebugValueError: The place is not a folder of this machine, or several processes train, of which one could
            delete what another has written already.
        OSError: A file cannot be deleted.
    """
    if not isinstance(backend, LocalBackend):
        raise SMDebugValueError(f"overwrite=True is for folders of this machine (got {backend.url!r})")
    for variable in _variables_of_many():
        raise SMDebugValueError(
            f"overwrite=True is for scripts of one process (got {variable}={os.environ[variable]}): remove "
            f"{backend.url!r} before the processes start"
        )
    for hook in registry.open_hooks(backend.url):
        hook.close()
    if not os.path.isdir(backend.root):
        return
    if not acquire_claim(backend):
        raise SMDebugRuntimeError(
            f"overwrite=True must not delete a trial that another process writes (got {backend.url!r})"
        )
    try:
        erase_trial(backend)
    finally:
        release_claim(backend)
