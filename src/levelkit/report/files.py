"""Writing a result to a file so that the file is either the old one or the whole new one."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from levelkit.errors import UsageError


def write_whole(path: str | Path, content: bytes | str) -> Path:
    """Write `content` to a temporary file beside `path` and move it there; text is UTF-8 with line feeds.

    Raises UsageError where the folder does not exist or cannot be written.
    """
    given = Path(path)
    target = Path(os.path.realpath(given))  # a link keeps pointing to the file
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    if given.is_dir():
        raise UsageError(f"{given} is a folder; give a file name")
    if not target.parent.is_dir():
        raise UsageError(f"cannot write {given}: the folder {target.parent} does not exist; make it first")
    temporary = target.with_name(f".{target.name[:200]}.{os.getpid()}.tmp")
    try:
        if target.exists() and not target.is_file():  # a pipe or a device cannot be replaced
            target.write_bytes(data)
            return given
        try:
            temporary.write_bytes(data)
            os.replace(temporary, target)
        finally:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()
    except OSError as error:
        raise UsageError(f"cannot write {given}: {error.strerror or error}") from None
    return given
