"""The few kinds of error a user can meet: each says what is wrong, where, and what to do."""

from __future__ import annotations


class LevelkitError(Exception):
    """Base of all errors that levelkit raises on purpose."""

    exit_code = 1


class DataError(LevelkitError):
    """The data cannot be used: a file, a game or a table of choices is not what it has to be.

    `where` names the file, row and column as far as they are known; `fix` says what to do.
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what, self.where, self.fix = what, where, fix
        head = f"{where}: {what}" if where else what
        super().__init__(f"{head}. {fix}" if fix else head)


class UsageError(LevelkitError):
    """The call cannot be carried out: an unknown name, a parameter out of its range, options that clash."""

    exit_code = 2
