"""What the command line prints: errors and notes to standard error, progress only where somebody watches."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from levelkit.errors import UsageError

if TYPE_CHECKING:
    from levelkit.problems import Problems

_PATIENCE = 2.0  # seconds before a progress bar appears


class Told(Protocol):
    """Takes (done, in all) as work goes on."""

    def __call__(self, done: int, total: int) -> None: ...  # noqa: D102


def complain(message: str) -> None:
    """An error on standard error."""
    message = message.rstrip()
    tell(f"levelkit: {message}" if message.endswith((".", "?", "!")) else f"levelkit: {message}.")


def tell(message: str) -> None:
    """A line on standard error."""
    with contextlib.suppress(BrokenPipeError):
        print(message, file=sys.stderr, flush=True)


def show(text: str) -> None:
    """A result on standard output. A reader who has enough and leaves is no error."""
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        silence()


def silence() -> None:
    """Let nothing more reach standard output, so that Python does not complain when it closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_problems(problems: Problems) -> None:
    """What was set aside or noted while reading, on standard error."""
    if len(problems):
        tell(problems.text())


def need_folder(path: Path) -> None:
    """Raises UsageError where a file cannot be written because of its folder; better before the work than after."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give a file name")
    if not path.resolve().parent.is_dir():
        raise UsageError(f"cannot write {path}: the folder {path.parent} does not exist; make it first")


@contextlib.contextmanager
def progress(what: str) -> Iterator[Told]:
    """A bar on standard error, from two seconds on, if that is a terminal. Yields what to call with (done,
    in all).
    """
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    bar = _Bar(what)
    timer = threading.Timer(_PATIENCE, bar.appear)
    timer.daemon = True
    timer.start()
    try:
        yield bar.tell
    finally:
        timer.cancel()
        bar.vanish()


class _Bar:
    """A bar that is told how far things are before and after it shows."""

    def __init__(self, what: str) -> None:
        self._what, self._done, self._total = what, 0, 0
        self._lock = threading.Lock()
        self._gone = False
        self._live: Any = None

    def tell(self, done: int, total: int) -> None:
        with self._lock:
            self._done, self._total = done, total
            if self._live is not None:
                self._live.update(self._live.task_ids[0], completed=done, total=total or None)

    def appear(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._gone:
                return
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
            )
            self._live = Progress(*columns, console=Console(stderr=True), transient=True)
            self._live.add_task(self._what, completed=self._done, total=self._total or None)
            self._live.start()

    def vanish(self) -> None:
        with self._lock:
            self._gone = True
            if self._live is not None:
                self._live.stop()
