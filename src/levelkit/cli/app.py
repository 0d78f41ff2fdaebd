"""`levelkit app`: the web page on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from levelkit.cli import output
from levelkit.errors import UsageError


def command(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: any that is free.")] = 8765,
    most_mb: Annotated[float, typer.Option(min=0.001, help="The largest file the page takes, in megabytes.")] = 20.0,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
) -> None:
    """Open a page in the browser: explore a game, fit a table of choices, watch Rock-Paper-Scissors.

    Listens on this machine only; files stay on it. Needs the extra: pip install 'levelkit[app]'

    [dim]levelkit app[/dim]
    """
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as error:
        raise UsageError(f"levelkit app needs {error.name}; install it with pip install 'levelkit[app]'") from None
    from levelkit.app.server import serve

    def started(address: str) -> None:
        output.tell(f"levelkit is at {address} (Ctrl-C stops it)")
        if open_:
            import webbrowser

            webbrowser.open(address)

    serve(port, most_mb, started)
