"""Sound runs: each task as it should be, and other ways to build and train models."""

from __future__ import annotations

from fifth_author.plan import FIFTH_TASKS, sound

for each in FIFTH_TASKS:
    sound(each)
