"""Readers of choices: from files and frames to `Choices`, with every row accounted for.

**Long table**: one row per choice or per counted action. `game`, `player` (1, 2, ... or the player's name;
may be left out in symmetric games), `action` (index from 0, or the label), optional `count` (default 1);
every other column is a grouping column. **Wide table**: one row per cell, `game` and one column for each
player and action; see `levelkit.readers.wide` for the headers it knows.

Rules: a good row is never lost for a bad one. A row that cannot be used is *set aside* with its number and
reason. An empty or unreadable action is *no choice*: counted apart with its cell. A value that is a label is
that action, else a whole number is an index from 0 (see `levelkit.readers.resolve.read_actions`). Grouping
values are text unless the whole column is numbers; a missing one is the group "". Cells stand in order of
first appearance.
"""

from __future__ import annotations

from levelkit.readers.tables import read_choices

__all__ = ["read_choices"]
