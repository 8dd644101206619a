"""The runs, all of them sound: tasks as they are, and trained in other ways."""

from __future__ import annotations

from fourth_author.plan import OWN_TASKS, sound

for each in OWN_TASKS:
    sound(each)
