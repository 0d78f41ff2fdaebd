"""The command line: reads arguments, calls the package, and turns its errors into a line and an exit code.

Exit codes: 0 good, 1 a problem with the data, 2 a problem with the command, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

from levelkit.cli import app as app_page
from levelkit.cli import (
    bootstrap,
    compare,
    demo,
    depth,
    equality,
    fit,
    games,
    observer,
    posterior,
    power,
    regress,
    reproduce,
)
from levelkit.cli.output import complain, silence
from levelkit.errors import LevelkitError

__all__ = ["app", "main"]

INTERRUPTED = 130

app = typer.Typer(
    name="levelkit",
    help="How deeply do players reason? Reasoning levels and precision from choices, with honest intervals.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.command)
app.command("games")(games.command)
app.command("fit")(fit.command)
app.command("bootstrap")(bootstrap.command)
app.command("compare")(compare.command)
app.command("equality")(equality.command)
app.command("posterior")(posterior.command)
app.command("power")(power.command)
app.command("regress")(regress.command)
app.command("reproduce")(reproduce.command)
app.command("app")(app_page.command)
app.add_typer(depth.app)
app.add_typer(observer.app)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    if version:
        from levelkit import __version__

        typer.echo(f"levelkit {__version__}")
        raise typer.Exit


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; errors are told in a line or two on standard error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot print a letter must not end the program
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(args=None if argv is None else list(argv), prog_name="levelkit", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # the argument parser catches Ctrl-C itself, and says nothing
            complain("interrupted")
        return code if isinstance(code, int) else 0
    except LevelkitError as error:
        complain(str(error))
        return error.exit_code
    except BrokenPipeError:
        silence()
        return 0
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted")
        return INTERRUPTED
    except MemoryError:
        complain("out of memory. Fit fewer cells at a time")
        return 1
    except Exception as error:
        return _unforeseen(error)


def _unforeseen(error: Exception) -> int:
    """Errors of the argument parser are the user's; anything else is ours and is said to be."""
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):
        context = getattr(error, "ctx", None)
        where = context.command_path if context is not None else "levelkit"
        message = error.format_message().rstrip(".")
        if not message:  # a group without a command has shown its help
            return 2
        complain(f"{message}{' ' if message.endswith('?') else '. '}See {where} --help")
        return 2
    if os.environ.get("LEVELKIT_DEBUG"):
        raise error
    complain(
        f"levelkit failed on its own account ({type(error).__name__}: {error}). Please report it; "
        "LEVELKIT_DEBUG=1 shows where"
    )
    return 70


if __name__ == "__main__":
    sys.exit(main())
