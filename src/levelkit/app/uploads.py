"""Files that a browser sent: kept apart by a secret name each, in a folder that goes when the server stops."""

from __future__ import annotations

import re
import secrets
import shutil
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from levelkit.errors import DataError, UsageError

MOST_KEPT = 50
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
GAMES = (".toml", ".nfg")
LOGS = (".jsonl", ".ndjson", ".csv")
_WORDS = {TABLES: "a table of choices", GAMES: "a file of games", LOGS: "an observer's log"}


class TooLargeError(UsageError):
    """A file beyond the limit of the page."""


@dataclass(frozen=True, eq=False)
class Upload:
    """One file with its name, and what has been worked out from it. `lock` is held while work is done on it."""

    path: Path
    made: dict[Any, Any] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    def plainly(self, text: str) -> str:
        """A message about this file without the folder it happens to lie in."""
        return text.replace(f"{self.path.parent}/", "").replace(str(self.path.parent), "")

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Errors inside name the file as the user knows it."""
        try:
            yield
        except DataError as error:
            raise DataError(self.plainly(error.what), where=self.plainly(error.where), fix=error.fix) from None


class Uploads:
    """All files of one server. The oldest go when there are more than `MOST_KEPT`."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder, self.most_bytes = folder, most_bytes
        self._kept: OrderedDict[str, Upload] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, name: str, size: int | None, endings: tuple[str, ...]) -> str:
        """The file name that is used. Raises DataError for a wrong ending, TooLargeError beyond the limit."""
        clean = re.sub(r"[^\w .()+-]+", "_", name.replace("\\", "/").rpartition("/")[2]).strip(" .")[-80:] or "file"
        if Path(clean).suffix.lower() not in endings:
            fix = f"Known endings: {', '.join(endings)}"
            raise DataError(f"this is not {_WORDS[endings]}", where=clean, fix=fix)
        if size is not None and size > self.most_bytes:
            raise self.too_large(clean)
        return clean

    def too_large(self, name: str) -> TooLargeError:
        """What to say of a file beyond the limit."""
        limit = self.most_bytes / 1e6
        return TooLargeError(
            f"{name} is larger than the {limit:g} MB this page takes. Use the command line for it "
            "(levelkit fit), or start with levelkit app --most-mb"
        )

    def keep(self, name: str, data: bytes) -> str:
        """Keep a file and return its token."""
        token = secrets.token_urlsafe(16)
        folder = self.folder / token
        folder.mkdir(parents=True)
        path = folder / name
        path.write_bytes(data)
        with self._lock:
            self._kept[token] = Upload(path)
            gone = [self._kept.popitem(last=False)[1] for _ in range(len(self._kept) - MOST_KEPT)]
        for old in gone:
            shutil.rmtree(old.path.parent, ignore_errors=True)
        return token

    def get(self, token: str) -> Upload:
        """The file of a token. Raises DataError where it is not known (any more)."""
        with self._lock:
            if token not in self._kept:
                raise DataError("this file is not here any more", fix="Choose it again")
            self._kept.move_to_end(token)
            return self._kept[token]
