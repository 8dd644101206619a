"""Runs by an author who has read nothing of the rules: what ordinary people train, none of it with a fault."""

from __future__ import annotations

from fourth_author import sound
from fourth_author.plan import FOURTH_AUTHOR

__all__ = ["FOURTH_AUTHOR", "sound"]
