"""The file with which the service asks the container of a rule to stop."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

__all__ = ["is_rule_signalled_gracetime_passed"]

ENV_RULE_STOP_SIGNAL_FILENAME: Final = "SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE"
DEFAULT_GRACETIME_FOR_RULE_STOP_SEC: Final = 60
RULESTOP_GRACETIME_SECONDS: Final = int(
    os.environ.get("rule_stop_grace_time_secs", DEFAULT_GRACETIME_FOR_RULE_STOP_SEC)  # noqa: SIM112 - its name
)


def is_rule_signalled_gracetime_passed(trial_prefix: str) -> bool:
    """Return whether the service has asked for a stop, and the time that it grants to finish has passed.

    Args:
        trial_prefix: Folder of the trial. The file in it, whose name an environment variable gives, holds the time of
            the request in seconds since the epoch. A file that holds anything else means that the time has passed.
    """
    name = os.environ.get(ENV_RULE_STOP_SIGNAL_FILENAME)
    if name is None:
        return False
    try:
        asked_at = int(Path(trial_prefix, name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return False
    except ValueError:
        return True
    return time.time() > asked_at + RULESTOP_GRACETIME_SECONDS
